#include "bindings/lazy/buffer.h"

#include <algorithm>
#include <mutex>

#include "capture/numpy/numpy_api.h"

namespace dvm::bindings::lazy {

namespace {

// Buffers outlive their threads, for arrays of a thread that has ended may still be pending: the
// next thread goes on with its buffer.
struct Pool {
  std::mutex mutex;
  std::vector<Buffer*> unused;
};
Pool& pool() {
  static auto* made = new Pool;  // threads may end after static objects do
  return *made;
}

struct Borrowed {
  Buffer* buffer;
  Borrowed() {
    const std::lock_guard lock(pool().mutex);
    if (pool().unused.empty()) {
      buffer = new Buffer;
    } else {
      buffer = pool().unused.back();
      pool().unused.pop_back();
    }
  }
  ~Borrowed() {
    const std::lock_guard lock(pool().mutex);
    pool().unused.push_back(buffer);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
};

}  // namespace

Buffer& Buffer::of_this_thread() {
  thread_local const Borrowed borrowed;
  return *borrowed.buffer;
}

int32_t Buffer::add(const Node& node) {
  for (const int32_t operand : node.form.operands) {
    if (operand >= 0) ++(*this)[operand].uses;
  }
  nodes_.push_back(node);
  return size() - 1;
}

int32_t Buffer::leaf(PyObject* value, core::DType dtype, int32_t hint) {
  if (hint >= 0 && hint < size() && (*this)[hint].leaf == value) return hint;
  auto* array = reinterpret_cast<PyArrayObject*>(value);
  Node node{.form = {.dtype = dtype}, .rank = PyArray_NDIM(array), .leaf = Py_NewRef(value)};
  std::copy_n(PyArray_DIMS(array), node.rank, node.shape);
  nodes_.push_back(node);
  return size() - 1;
}

void Buffer::drop_owner(int32_t node) {
  (*this)[node].owner = nullptr;
  drop_if_free(node);
}

// What was added last is taken away; in between a node stays as a hole until the next flush.
void Buffer::drop_if_free(int32_t node) {
  if (!(*this)[node].is_free()) return;
  PyObject* const leaf = std::exchange((*this)[node].leaf, nullptr);
  int32_t operands[kMaxOperands];
  std::copy_n((*this)[node].form.operands, kMaxOperands, operands);
  std::fill_n((*this)[node].form.operands, kMaxOperands, -1);
  for (const int32_t operand : operands) {
    if (operand < 0) continue;
    --(*this)[operand].uses;
    drop_if_free(operand);
  }
  while (!nodes_.empty() && nodes_.back().is_free() && nodes_.back().leaf == nullptr) {
    nodes_.pop_back();
  }
  Py_XDECREF(leaf);  // last, for it may run code of the program's
}

}  // namespace dvm::bindings::lazy
