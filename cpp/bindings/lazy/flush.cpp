#include "bindings/lazy/flush.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include "bindings/errors.h"
#include "bindings/lazy/build.h"
#include "capture/numpy/numpy_api.h"
#include "capture/replay/array_host.h"

namespace dvm::bindings::lazy {

namespace {

// Who waits for another thread's flush. The GIL guards the state, this only the waiting.
std::mutex g_mutex;
std::condition_variable g_landed;

// A script has few sequences of operations; what makes ever new ones is not to keep them all.
constexpr size_t kMostKernels = 1024;
std::unordered_map<std::string, std::shared_ptr<const Kernel>>& kernels() {
  static auto* made = new std::unordered_map<std::string, std::shared_ptr<const Kernel>>;
  return *made;
}
int64_t g_compiled = 0;

// Of the thread that computes; two may compute what came from one buffer.
struct Scratch {
  std::vector<Node> nodes;
  std::string key;
  std::vector<int64_t> sizes;
  std::vector<runtime::BufferView> inputs, results;
  std::vector<core::Scalar> scalars;
};
thread_local Scratch t_scratch;
thread_local LastFlush t_last;

class Host final : public capture::ArrayHost {
 public:
  using ArrayHost::ArrayHost;
  bool call(const runtime::HostCall&, std::span<runtime::BufferView>) override {
    return no_calls();
  }
  bool call_into(const runtime::HostCall&, std::span<const runtime::BufferView>) override {
    return no_calls();
  }

 private:
  static bool no_calls() {
    PyErr_SetString(PyExc_RuntimeError, "a lazy graph calls no functions");
    return false;
  }
};

}  // namespace

// The nodes of a buffer while they are computed, without holes.
class Flight {
 public:
  explicit Flight(Buffer& buffer) : buffer_(buffer) {
    nodes_.clear();
    nodes_.swap(buffer.nodes_);
    renumber();
  }
  ~Flight() {
    { const std::lock_guard lock(g_mutex); }
    g_landed.notify_all();
    for (Array* array : outputs_) Py_DECREF(reinterpret_cast<PyObject*>(array));
    // Last, for they may run code of the program's.
    for (PyObject* leaf : leaves_) Py_XDECREF(leaf);
  }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  bool compute() {
    write_key();
    std::shared_ptr<const Kernel> kernel;
    if (const auto found = kernels().find(t_scratch.key); found != kernels().end()) {
      kernel = found->second;
    } else {
      core::Graph graph = build(nodes_, t_scratch.sizes);
      driver::Compilation compilation = driver::compile(graph, {});
      kernel = std::make_shared<const Kernel>(std::move(graph), std::move(compilation));
      if (kernels().size() >= kMostKernels) kernels().clear();
      kernels().emplace(t_scratch.key, kernel);
      ++g_compiled;
    }
    t_last.kernel = kernel;
    t_last.sizes = t_scratch.sizes;
    return run(*kernel);
  }

  // As before: the arrays are pending again, behind what was recorded meanwhile.
  void give_up() {
    const int32_t before = buffer_.size();
    for (Node& node : nodes_) {
      if (node.owner != nullptr && !node.owner->is_pending()) node.owner = nullptr;
      if (node.owner != nullptr) node.owner->node = buffer_.size();
      for (int32_t& operand : node.form.operands) {
        if (operand >= 0) operand += before;
      }
      buffer_.nodes_.push_back(node);
    }
    leaves_.clear();
  }

 private:
  void renumber() {
    std::vector<int32_t> places(nodes_.size(), -1);
    int32_t count = 0;
    for (size_t at = 0; at < nodes_.size(); ++at) {
      Node& node = nodes_[at];
      if (node.is_free()) continue;
      places[at] = count;
      for (int32_t& operand : node.form.operands) {
        if (operand >= 0) operand = places[static_cast<size_t>(operand)];
      }
      if (node.leaf != nullptr) leaves_.push_back(node.leaf);
      if (node.owner != nullptr) {
        outputs_.push_back(node.owner);
        Py_INCREF(reinterpret_cast<PyObject*>(node.owner));
        node.owner->node = kInFlight;
      }
      if (static_cast<size_t>(count) != at) nodes_[static_cast<size_t>(count)] = node;
      ++count;
    }
    nodes_.resize(static_cast<size_t>(count));
  }

  // Of the sizes only which are 1, and which are the same.
  void write_key() {
    std::string& key = t_scratch.key;
    std::vector<int64_t>& sizes = t_scratch.sizes;
    key.clear();
    sizes.clear();
    for (const Node& node : nodes_) {
      key.append(reinterpret_cast<const char*>(&node.form), sizeof node.form);
      key.push_back(static_cast<char>(node.owner != nullptr));
      if (node.form.kind != Kind::leaf) continue;
      key.push_back(static_cast<char>(node.rank));
      for (int32_t d = 0; d < node.rank; ++d) {
        if (node.shape[d] == 1) {
          key.push_back(0);
          continue;
        }
        const auto found = std::find(sizes.begin(), sizes.end(), node.shape[d]);
        const auto number = static_cast<uint16_t>(1 + (found - sizes.begin()));
        if (found == sizes.end()) sizes.push_back(node.shape[d]);
        key.append(reinterpret_cast<const char*>(&number), sizeof number);
      }
    }
  }

  bool run(const Kernel& kernel) {
    const runtime::CompiledGraph& graph = kernel.compilation.graph;
    std::vector<runtime::BufferView>&inputs = t_scratch.inputs, &results = t_scratch.results;
    inputs.clear();
    t_scratch.scalars.clear();
    for (const Node& node : nodes_) {
      if (node.form.kind == Kind::number) t_scratch.scalars.push_back(node.number);
      if (node.form.kind != Kind::leaf) continue;
      capture::view_into(reinterpret_cast<PyArrayObject*>(node.leaf), node.form.dtype,
                         inputs.emplace_back());
    }
    results.assign(outputs_.size(), {});
    Host host(*capture::libraries().front(), {}, 0);
    runtime::BorrowedContext context;
    const runtime::Outcome outcome = graph.run(host, inputs, t_scratch.scalars, results, *context);
    if (outcome == runtime::Outcome::host_error) return false;
    if (outcome != runtime::Outcome::done) {
      PyErr_NoMemory();
      return false;
    }
    bool made_all = true;
    for (size_t k = 0; k < results.size(); ++k) {
      PyObject* made = host.is_argument(results[k], inputs)
                           ? capture::ArrayHost::argument_of(results[k])
                           : host.array_of(results[k]);
      made_all &= made != nullptr;
      Array* array = outputs_[k];
      array->value = made;
      array->node = -1;
    }
    for (const runtime::BufferView& result : results) host.release(result.owner);
    return made_all;
  }

  Buffer& buffer_;
  std::vector<Node>& nodes_ = t_scratch.nodes;
  std::vector<Array*> outputs_;
  std::vector<PyObject*> leaves_;
};

void settle(Array* array) {
  while (array->is_pending() && array->node == kInFlight) {
    std::unique_lock lock(g_mutex);
    PyThreadState* thread = PyEval_SaveThread();
    // Woken up by the flush or not, the state is looked at with the GIL.
    g_landed.wait_for(lock, std::chrono::milliseconds(1));
    lock.unlock();
    PyEval_RestoreThread(thread);
  }
}

bool flush(Buffer& buffer, const char* reason) {
  if (buffer.size() == 0) return true;
  try {
    Flight flight(buffer);
    bool done = false;
    try {
      done = flight.compute();
    } catch (const std::exception& error) {
      raise(error);
    }
    t_last.reason = reason;
    if (!done) flight.give_up();
    return done;
  } catch (const std::exception& error) {
    return raise(error) != nullptr;
  }
}

PyObject* value_of(Array* array, const char* reason) {
  settle(array);
  if (array->is_pending() && !flush(*array->buffer, reason)) return nullptr;
  return array->value;
}

const LastFlush& last_flush() { return t_last; }

int64_t compiled_count() { return g_compiled; }

void forget_compiled() { kernels().clear(); }

}  // namespace dvm::bindings::lazy
