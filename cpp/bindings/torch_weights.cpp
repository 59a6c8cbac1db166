#include "bindings/torch_weights.h"

#include <algorithm>
#include <map>
#include <utility>

#include "bindings/torch_tensors.h"

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

  void add(const std::byte* begin, const std::byte* end) {
    if (begin == end) return;
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

// Where tensors lie, apart from each other.
class Written {
 public:
  explicit Written(const py::iterable& tensors) {
    std::vector<std::pair<const std::byte*, const std::byte*>> ranges;
    for (const py::handle tensor : tensors) {
      BufferView view;
      if (view_tensor(tensor.ptr(), view)) ranges.emplace_back(range_of(view));
    }
    std::ranges::sort(ranges);
    for (const auto& [begin, end] : ranges) {
      const bool is_apart = ends_.empty() || ends_.rbegin()->first < begin;
      if (is_apart) ends_[end] = begin;
      if (is_apart || ends_.rbegin()->first >= end) continue;
      auto last = ends_.extract(std::prev(ends_.end()));
      last.key() = end;
      ends_.insert(std::move(last));
    }
  }

  bool meet(const std::byte* begin, const std::byte* end) const {
    const auto behind = ends_.upper_bound(begin);
    return behind != ends_.end() && behind->second < end;
  }

 private:
  std::map<const std::byte*, const std::byte*> ends_;  // begins by ends
};

// Those that have places, for as long as they live; the lock of the interpreter guards it.
std::vector<TorchWeights*>& all() {
  static auto& graphs = *new std::vector<TorchWeights*>;
  return graphs;
}

}  // namespace

TorchWeights::TorchWeights(std::vector<Place> places) : places_(std::move(places)) {
  if (!places_.empty()) all().push_back(this);
}

TorchWeights::~TorchWeights() { std::erase(all(), this); }

void TorchWeights::forget(const py::iterable& tensors) {
  const Written written(tensors);
  std::vector<std::shared_ptr<Snapshot>> gone;  // until the end, for Python frees what they hold
  for (TorchWeights* const graph : all()) {
    const auto stale = std::ranges::stable_partition(graph->snapshots_, [&](const auto& snapshot) {
      return std::ranges::none_of(snapshot->weights, [&](const Weight& weight) {
        return written.meet(weight.begin, weight.end);
      });
    });
    std::ranges::move(stale, std::back_inserter(gone));
    graph->snapshots_.erase(stale.begin(), stale.end());
  }
}

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
    const auto [begin, end] = range_of(inputs[input]);
    snapshot->weights.push_back({py::weakref(tensor), tensor.attr("untyped_storage")(),
                                 inputs[input].data, begin, end, version});
    if (version != kUncounted) ranges.add(begin, end);
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
