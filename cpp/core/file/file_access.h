// Files: mapped to be read, and written so that whoever reads one finds all of it or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>

namespace dvm::core {

// What the operating system refuses: its number, and the file.
class FileAccessError : public std::system_error {
 public:
  FileAccessError(int number, std::string path)
      : std::system_error(number, std::generic_category(), path), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// All bytes of a file, which may only be read. Pages come from the disk as they are touched, and
// all processes that map the file share them.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // throws FileAccessError
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// A file that takes the place of `path` when it is finished. One that is not leaves `path` as it
// was, and nothing beside it. Throws FileAccessError.
class ReplacedFile {
 public:
  explicit ReplacedFile(std::string path);
  ~ReplacedFile();
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;

  // What no write covers is zero.
  void write(uint64_t offset, std::span<const std::byte> bytes);
  void finish(uint64_t size);  // of the whole file, which may end with what no write covers

 private:
  [[noreturn]] void fail() const;

  std::string path_, made_;
  int file_ = -1;
};

}  // namespace dvm::core
