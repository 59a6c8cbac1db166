#include "bindings/lazy/flight.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

#include "bindings/errors.h"

namespace dvm::bindings::lazy {

namespace {

// Who waits for another thread's flight. The GIL guards the state, this only the waiting.
std::mutex g_mutex;
std::condition_variable g_landed;

// Of the thread that computes; two may compute what came from one buffer.
struct Scratch {
  std::vector<Node> nodes, part;
  std::vector<char> needed;
  std::vector<int32_t> places, outputs;
  std::vector<PyObject*> values;
  Sizes sizes;
};
thread_local Scratch t_scratch;
thread_local LastFlush t_last;

// Marks what the marked nodes read.
void mark_operands(const std::vector<Node>& nodes, std::vector<char>& marks) {
  for (size_t at = nodes.size(); at-- > 0;) {
    if (marks[at] == 0) continue;
    for (const int32_t operand : nodes[at].form.operands) {
      if (operand >= 0) marks[static_cast<size_t>(operand)] = 1;
    }
  }
}

}  // namespace

LastFlush& last_flush() { return t_last; }

Flight::Flight(Buffer& buffer) : buffer_(buffer), nodes_(t_scratch.nodes) {
  nodes_.clear();
  nodes_.swap(buffer.nodes_);
  for (int32_t at = 0; at < static_cast<int32_t>(nodes_.size()); ++at) {
    Node& node = node_at(at);
    for (const int32_t operand : node.form.operands) {
      node.fails |= operand >= 0 && node_at(operand).fails;
    }
    if (node.owner == nullptr) continue;
    wanted_.push_back({node.owner, at});
    Py_INCREF(reinterpret_cast<PyObject*>(node.owner));
    node.owner->node = kInFlight;
  }
}

Flight::~Flight() {
  give_back();
  std::vector<PyObject*> leaves;
  for (const Node& node : nodes_) {
    if (node.leaf != nullptr) leaves.push_back(node.leaf);
  }
  nodes_.clear();
  { const std::lock_guard lock(g_mutex); }
  g_landed.notify_all();
  // Last, for they may run code of the program's.
  for (const Wanted& wanted : wanted_) Py_DECREF(reinterpret_cast<PyObject*>(wanted.array));
  for (PyObject* leaf : leaves) Py_DECREF(leaf);
}

bool Flight::compute(const Array* asked) {
  for (const Wanted& wanted : wanted_) {
    node_at(wanted.at).is_taken = !node_at(wanted.at).fails;
  }
  End end = compute_taken();
  if (end == End::no_memory || end == End::failed) {
    // Which of them it is cannot be told from all of them.
    for (const Wanted& wanted : wanted_) {
      PyErr_Clear();
      if (!node_at(wanted.at).fails) end = compute_alone(wanted);
      if (end == End::interrupted) return false;
    }
    PyErr_Clear();
  }
  if (end == End::interrupted) return false;
  for (const Wanted& wanted : wanted_) {
    if (wanted.array == asked && asked->is_pending()) return compute_alone(wanted) == End::done;
  }
  return true;
}

// What does not fit into memory may do so later; what fails does so each time.
Flight::End Flight::compute_alone(const Wanted& wanted) {
  node_at(wanted.at).is_taken = true;
  const End end = compute_taken();
  node_at(wanted.at).fails |= end == End::failed;
  return end;
}

// None is taken then.
Flight::End Flight::compute_taken() {
  try {
    gather();
    if (t_scratch.outputs.empty() || run_part()) return End::done;
    return PyErr_ExceptionMatches(PyExc_MemoryError) != 0 ? End::no_memory : End::interrupted;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return End::no_memory;
  } catch (const std::exception& error) {
    raise(error);
    return End::failed;
  }
}

// The taken nodes and what they read, without holes.
void Flight::gather() {
  Scratch& scratch = t_scratch;
  scratch.outputs.clear();
  scratch.part.clear();
  scratch.needed.resize(nodes_.size());
  scratch.places.resize(nodes_.size());
  for (size_t at = 0; at < nodes_.size(); ++at) scratch.needed[at] = nodes_[at].is_taken ? 1 : 0;
  mark_operands(nodes_, scratch.needed);
  for (size_t at = 0; at < nodes_.size(); ++at) {
    if (scratch.needed[at] == 0) continue;
    scratch.places[at] = static_cast<int32_t>(scratch.part.size());
    Node& node = scratch.part.emplace_back(nodes_[at]);
    for (int32_t& operand : node.form.operands) {
      if (operand >= 0) operand = scratch.places[static_cast<size_t>(operand)];
    }
    if (node.is_taken) {
      scratch.outputs.push_back(static_cast<int32_t>(at));
    } else {
      node.owner = nullptr;
    }
    nodes_[at].is_taken = false;
  }
}

bool Flight::run_part() {
  Scratch& scratch = t_scratch;
  const std::shared_ptr<const Kernel> kernel = kernel_of(scratch.part, scratch.sizes);
  t_last.kernel = kernel;
  t_last.sizes = scratch.sizes.all;
  scratch.values.clear();
  if (!run(*kernel, scratch.part, scratch.sizes, scratch.values)) return false;
  bool made_all = true;
  for (size_t k = 0; k < scratch.outputs.size(); ++k) {
    PyObject* value = scratch.values[k];
    made_all &= value != nullptr;
    if (value == nullptr) continue;
    Node& node = node_at(scratch.outputs[k]);
    node.owner->value = value;
    node.owner->node = -1;
    // What is still to be computed reads it.
    node.owner = nullptr;
    node.form = {.dtype = node.form.dtype};
    node.leaf = Py_NewRef(value);
  }
  return made_all;
}

// Behind what was recorded meanwhile.
void Flight::give_back() {
  std::vector<char>& needed = t_scratch.needed;
  needed.resize(nodes_.size());
  bool is_done = true;
  for (size_t at = 0; at < nodes_.size(); ++at) {
    needed[at] = nodes_[at].owner != nullptr ? 1 : 0;
    is_done &= nodes_[at].owner == nullptr;
  }
  if (is_done) return;
  mark_operands(nodes_, needed);
  std::vector<int32_t>& places = t_scratch.places;
  places.resize(nodes_.size());
  for (size_t at = 0; at < nodes_.size(); ++at) {
    if (needed[at] == 0) continue;
    Node node = nodes_[at];
    node.uses = 0;
    for (int32_t& operand : node.form.operands) {
      if (operand >= 0) operand = places[static_cast<size_t>(operand)];
    }
    places[at] = buffer_.add(node);
    nodes_[at].leaf = nullptr;  // it is the buffer's again
    if (node.owner != nullptr) node.owner->node = places[at];
  }
}

void settle(Array* array) {
  while (array->is_pending() && array->node == kInFlight) {
    std::unique_lock lock(g_mutex);
    PyThreadState* thread = PyEval_SaveThread();
    // Woken up by the flight or not, the state is looked at with the GIL.
    g_landed.wait_for(lock, std::chrono::milliseconds(1));
    lock.unlock();
    PyEval_RestoreThread(thread);
  }
}

}  // namespace dvm::bindings::lazy
