// Arguments of a graph that seldom change, parameters and buffers: what is packed of them holds
// until torch counts a write to one, an optimizer takes a step with one, or another tensor takes
// its place.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <span>
#include <vector>

#include "runtime/host.h"
#include "runtime/memory/frozen_memory.h"

namespace dvm::bindings {

class TorchWeights {
 public:
  // An argument of the graph, and which input of its Plan it is.
  struct Place {
    size_t argument, input;
  };
  explicit TorchWeights(std::vector<Place> places);
  ~TorchWeights();
  TorchWeights(const TorchWeights&) = delete;
  TorchWeights& operator=(const TorchWeights&) = delete;

  // The memory of the weights as they are now, with what has been packed of it, for as long as a
  // call holds it. Null where there are none. Writes through `.data` or past torch are not noticed.
  std::shared_ptr<runtime::FrozenMemory> current(const pybind11::tuple& args,
                                                 std::span<const runtime::BufferView> inputs);
  int64_t packed_bytes() const;

  // Forgets, in all graphs, what was packed of memory that one of the tensors lies in: it has been
  // written, and torch need not have counted that.
  static void forget(const pybind11::iterable& tensors);

 private:
  struct Weight {
    pybind11::object tensor;   // a weak reference
    pybind11::object storage;  // so that no other tensor gets its memory
    const std::byte *data, *begin, *end;
    int64_t version;
  };
  struct Snapshot {
    std::vector<Weight> weights;  // one per place
    runtime::FrozenMemory memory;
  };

  enum class Match : uint8_t { same, written, other };
  Match compare(const Snapshot& snapshot, const pybind11::tuple& args,
                std::span<const runtime::BufferView> inputs) const;
  std::shared_ptr<Snapshot> taken(const pybind11::tuple& args,
                                  std::span<const runtime::BufferView> inputs) const;

  std::vector<Place> places_;
  // One for each module that the graph serves, such as each layer of a model.
  std::vector<std::shared_ptr<Snapshot>> snapshots_;
};

}  // namespace dvm::bindings
