#include "core/file/file_access.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace dvm::core {

namespace {

struct Descriptor {
  int number;
  ~Descriptor() { ::close(number); }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  // Not waiting: of a pipe nobody writes to, the answer is that it is no file.
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) throw FileAccessError(errno, path);
  const Descriptor file{opened};
  struct stat status {};
  if (::fstat(file.number, &status) != 0) throw FileAccessError(errno, path);
  if (S_ISDIR(status.st_mode)) throw FileAccessError(EISDIR, path);
  if (!S_ISREG(status.st_mode)) throw FileAccessError(EINVAL, path);
  if (status.st_size == 0) return;
  const auto size = static_cast<size_t>(status.st_size);
  void* const begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (begin == MAP_FAILED) throw FileAccessError(errno, path);
  bytes_ = {static_cast<const std::byte*>(begin), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

ReplacedFile::ReplacedFile(std::string path) : path_(std::move(path)) {
  static std::atomic<unsigned> count{0};
  made_ = path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".tmp";
  file_ = ::open(made_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) fail();
}

ReplacedFile::~ReplacedFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(made_.c_str());
}

void ReplacedFile::fail() const { throw FileAccessError(errno, path_); }

void ReplacedFile::write(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void ReplacedFile::finish(uint64_t size) {
  if (::ftruncate(file_, static_cast<off_t>(size)) != 0) fail();
  // On the disk before it has the name: a machine that stops in between has the old file.
  if (::fsync(file_) != 0 || ::rename(made_.c_str(), path_.c_str()) != 0) fail();
  ::close(std::exchange(file_, -1));
}

}  // namespace dvm::core
