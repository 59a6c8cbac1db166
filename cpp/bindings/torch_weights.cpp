#include "bindings/torch_weights.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/math/byte_range.h"

namespace py = pybind11;

namespace dvm::bindings {

namespace {

using runtime::BufferView;

constexpr int64_t kUncounted = -1;

// How many writes to the tensor's memory torch has counted; kUncounted: it counts none, for tensors
// of inference mode.
int64_t version_of(py::handle tensor) {
  static PyObject* const name = PyUnicode_InternFromString("_version");
  const auto version = py::reinterpret_steal<py::object>(PyObject_GetAttr(tensor.ptr(), name));
  if (!version) {
    PyErr_Clear();
    return kUncounted;
  }
  return PyLong_AsLongLong(version.ptr());
}

// Ranges that lie apart: of several that overlap, as of views of one tensor, the first.
class Ranges {
 public:
  explicit Ranges(runtime::FrozenMemory& memory) : memory_(memory) {}

  void add(const BufferView& view) {
    core::ByteRange range{.high = core::byte_size(view.dtype)};
    for (int d = 0; d < view.rank; ++d) {
      if (view.shape[d] == 0) return;
      range.repeat(view.shape[d], view.strides[d]);
    }
    const std::byte *const begin = view.data + range.low, *const end = view.data + range.high;
    const auto behind = ends_.upper_bound(begin);  // the first that ends behind our begin
    if (behind != ends_.end() && behind->second < end) return;
    ends_[end] = begin;
    memory_.add(begin, end - begin);
  }

 private:
  runtime::FrozenMemory& memory_;
  std::map<const std::byte*, const std::byte*> ends_;  // begins by ends
};

bool is_dead(const py::object& reference) {
  return PyWeakref_GET_OBJECT(reference.ptr()) == Py_None;
}

}  // namespace

TorchWeights::Match TorchWeights::compare(const Snapshot& snapshot, const py::tuple& args,
                                          std::span<const BufferView> inputs) const {
  bool is_same = true;
  for (size_t k = 0; k < places_.size(); ++k) {
    const Weight& weight = snapshot.weights[k];
    PyObject* const tensor = PyTuple_GET_ITEM(args.ptr(), places_[k].argument);
    if (PyWeakref_GET_OBJECT(weight.tensor.ptr()) != tensor) return Match::other;
    is_same = is_same && weight.data == inputs[places_[k].input].data &&
              weight.version == version_of(tensor);
  }
  return is_same ? Match::same : Match::written;
}

std::shared_ptr<TorchWeights::Snapshot> TorchWeights::taken(
    const py::tuple& args, std::span<const BufferView> inputs) const {
  auto snapshot = std::make_shared<Snapshot>();
  Ranges ranges(snapshot->memory);
  for (const auto& [argument, input] : places_) {
    const py::handle tensor(PyTuple_GET_ITEM(args.ptr(), argument));
    const int64_t version = version_of(tensor);
    snapshot->weights.push_back(
        {py::weakref(tensor), tensor.attr("untyped_storage")(), inputs[input].data, version});
    if (version != kUncounted) ranges.add(inputs[input]);
  }
  return snapshot;
}

// Other threads may come in between wherever Python is asked for something.
std::shared_ptr<runtime::FrozenMemory> TorchWeights::current(const py::tuple& args,
                                                             std::span<const BufferView> inputs) {
  if (places_.empty()) return nullptr;
  for (size_t k = 0; k < snapshots_.size(); ++k) {
    const std::shared_ptr<Snapshot> snapshot = snapshots_[k];
    if (compare(*snapshot, args, inputs) == Match::same) return {snapshot, &snapshot->memory};
  }
  const std::shared_ptr<Snapshot> snapshot = taken(args, inputs);
  auto former = std::exchange(snapshots_, {});
  std::erase_if(former, [&](const std::shared_ptr<Snapshot>& old) {
    return std::ranges::any_of(old->weights, is_dead, &Weight::tensor) ||
           compare(*old, args, inputs) != Match::other;
  });
  snapshots_.insert(snapshots_.end(), former.begin(), former.end());
  snapshots_.push_back(snapshot);
  return {snapshot, &snapshot->memory};
}

int64_t TorchWeights::packed_bytes() const {
  int64_t bytes = 0;
  for (const auto& snapshot : snapshots_) bytes += snapshot->memory.stats().packed_bytes;
  return bytes;
}

}  // namespace dvm::bindings
