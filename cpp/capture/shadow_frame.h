// The shadow of one running frame: for every local slot and stack entry the node it holds. Each
// opcode's effect is applied to the shadow before the opcode runs; the object it produced is read
// off the real stack at the next event of the same frame.
#pragma once

#include <string>
#include <vector>

#include "capture/frame_view.h"
#include "capture/py.h"
#include "core/refgraph.h"

namespace dvm::capture {

// What a recording shares between its frames.
struct Recording {
  core::RefGraph graph;
  std::vector<Ref> kept;

  core::NodeId keep(core::ShadowNode::Origin origin, PyObject* object, int index = 0,
                    std::string name = {}, PyObject* scope = nullptr);
  void fill(core::NodeId node, PyObject* object);  // the object an event turned out to produce
  void abort(std::string reason, core::Loc loc);   // the first reason wins
  bool aborted() const { return !graph.aborted.empty(); }
};

class ShadowFrame {
 public:
  ShadowFrame(Recording& recording, PyFrameObject* frame);

  // Binds the parameters; must be called before the first opcode event.
  void bind_arguments(const std::vector<core::NodeId>& arguments);

  void before_opcode(PyFrameObject* frame);
  // RETURN_VALUE was the last opcode: the node it returns.
  core::NodeId returned(PyObject* value);

  const void* frame() const { return frame_; }
  // Set while a call of a Python function runs: its frame, when it appears, is followed.
  PyObject* callee() const { return callee_; }
  const std::vector<core::NodeId>& callee_arguments() const { return callee_arguments_; }
  // The followed call returned this node.
  void set_call_result(core::NodeId node);

 private:
  void settle(const DvmFrameView& f);
  void apply(const DvmFrameView& f, PyFrameObject* frame);
  void call(const DvmFrameView& f);
  void unpack(const DvmFrameView& f);
  core::NodeId load_global(const DvmFrameView& f, PyFrameObject* frame);

  core::NodeId pop();
  std::vector<core::NodeId> pop(int count);
  void push(core::NodeId node) { stack_.push_back(node); }
  void push_result(core::Event event);
  core::NodeId constant(PyObject* object);
  core::Loc loc(const DvmFrameView& f) const;
  void abort(const DvmFrameView& f, std::string reason);

  Recording& recording_;
  const void* frame_;
  std::vector<core::NodeId> locals_, stack_;
  // What the real stack will tell at the next event.
  enum class Pending : uint8_t { none, top, method } pending_ = Pending::none;
  PyObject* keyword_names_ = nullptr;
  PyObject* callee_ = nullptr;
  std::vector<core::NodeId> callee_arguments_;
};

}  // namespace dvm::capture
