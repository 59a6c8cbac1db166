// Lazy arrays: operations that wait for a value to be needed, in a buffer of each thread.
//
// A node is there as long as an array of the program's is it, or another node reads it: what the
// program has dropped is never computed, and what it read of it is let go of at once. All of this
// is guarded by the GIL. A flush, which may let other threads run, takes the nodes out first.
#pragma once

#include <vector>

#include "capture/py.h"
#include "core/graph/graph.h"

namespace dvm::bindings::lazy {

struct Array;

// `leaf`: an array with a value. `number`: one of Python's, whose value is no part of what is
// compiled. `update`: an array with part of it replaced, along one axis.
enum class Kind : uint8_t {
  leaf,
  number,
  elementwise,
  cast,
  reduce,
  product,
  reshape,
  permute,
  slice,
  empty,
  update,
  scan
};

inline constexpr int kMaxOperands = 3;

// All of a node that its compiled form depends on, but for sizes and where slices begin.
struct Form {
  Kind kind = Kind::leaf;
  core::Op op = core::Op::input;
  core::DType computes = core::DType::f32;  // what operands are converted to
  core::DType dtype = core::DType::f32;
  int32_t operands[kMaxOperands] = {-1, -1, -1};
  // reduce: the axes as bits, and bit 31 where they are kept; permute: four bits for each; slice,
  // update and scan: the number of the axis. Others have none.
  uint32_t axes = 0;
  int32_t step = 1;  // of a slice
};
inline constexpr uint32_t kKeepsAxes = uint32_t{1} << 31;

struct Node {
  Form form;
  int32_t rank = 0;
  int32_t uses = 0;        // nodes that read it, by operand
  Array* owner = nullptr;  // the array that it is the value of; none: the program has dropped it
  PyObject* leaf = nullptr;
  bool fails = false;        // to compute it raised an error
  bool is_taken = false;     // by a flight, which gives its value to the owner
  core::Scalar number = {};  // of a slice and an update where it begins
  int64_t shape[core::kMaxRank] = {};

  bool is_free() const { return owner == nullptr && uses == 0; }
};

class Buffer {
 public:
  static Buffer& of_this_thread();
  // Whether there are so many nodes that they are to be computed, needed or not.
  bool is_full() const { return size() >= limit_; }
  void raise_limit() { limit_ = size() + kLimit; }

  Node& operator[](int32_t node) { return nodes_[static_cast<size_t>(node)]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  // Counts the operands as used.
  int32_t add(const Node& node);
  // The leaf of that array; `hint` is where it may be already. The caller adds a use.
  int32_t leaf(PyObject* value, core::DType dtype, int32_t hint);
  // The array of a node is gone.
  void drop_owner(int32_t node);

 private:
  friend class Flight;

  static constexpr int32_t kLimit = 128;

  void drop_if_free(int32_t node);

  std::vector<Node> nodes_;
  int32_t limit_ = kLimit;
};

// The object of Python's. One with a value may be a leaf of a buffer: (buffer, node) is a hint
// then.
struct Array {
  PyObject_HEAD Buffer* buffer;
  PyObject* value;  // an array of NumPy's, aligned and in the order of bytes of the machine
  PyObject* weakrefs;
  int32_t node;

  bool is_pending() const { return value == nullptr; }
};
inline constexpr int32_t kInFlight = -2;  // as `node`: a flush that is running computes it

}  // namespace dvm::bindings::lazy
