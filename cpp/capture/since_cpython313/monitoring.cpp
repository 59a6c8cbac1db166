// Events by sys.monitoring (PEP 669), beside whatever else monitors or traces the program. Calls,
// exceptions and frames that these leave are told of everywhere; what a frame runs and returns is
// told of the code objects that are attended to alone.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/cpython/event_source.h"
#include "capture/cpython/frame_view.h"
#include "capture/record/record.h"

namespace dvm::capture {

namespace {

class Monitor;
thread_local Monitor* current = nullptr;  // the innermost of this thread

// The events that are read, in the order of `callbacks`.
enum Event : size_t {
  kStart,
  kResume,
  kThrow,
  kRaise,
  kUnwind,
  kReturn,
  kYield,
  kInstruction,
  kEvents
};
constexpr std::array<const char*, kEvents> kEventNames = {"PY_START", "PY_RESUME",  "PY_THROW",
                                                          "RAISE",    "PY_UNWIND",  "PY_RETURN",
                                                          "PY_YIELD", "INSTRUCTION"};
constexpr size_t kEverywhere[] = {kStart, kThrow, kRaise, kUnwind};
constexpr size_t kAttended[] = {kResume, kReturn, kYield, kInstruction};

// The module sys.monitoring, and the tool that dvm is there while any thread records.
class Tool {
 public:
  static Tool& get();

  // False: all are taken by others.
  bool begin() {
    while (recordings_ == 0) {
      const int id = take();
      // The program's audit hooks are told of it: another thread may have begun meanwhile.
      if (recordings_ > 0) {
        give_back(id);
        continue;
      }
      if (id < 0) return false;
      id_ = id;
      break;
    }
    if (recordings_++ == 0) set_events(id_, everywhere_);
    return true;
  }
  void end() {
    if (--recordings_ > 0) return;
    const int id = id_;  // from here on another thread may take another one
    set_events(id, 0);
    give_back(id);
  }

  // Whether these events are on in the code object, of which as many recordings as ask for them
  // hold a share.
  void watch(PyObject* code) {
    watched_[code]++ == 0 ? set_local_events(code, attended_) : watch_again(code);
  }
  void unwatch(PyObject* code) {
    const auto found = watched_.find(code);
    if (found == watched_.end() || --found->second > 0) return;
    watched_.erase(found);
    set_local_events(code, 0);
  }
  // All places, those too of which one has said that they are of no interest.
  void watch_again(PyObject* code) {
    set_local_events(code, 0);
    set_local_events(code, attended_);
  }

  // Whether one recording alone asks for them.
  bool is_watched_once(PyObject* code) const {
    const auto found = watched_.find(code);
    return found != watched_.end() && found->second == 1;
  }

  PyObject* disable() const { return disable_.get(); }

 private:
  int take() const;
  void give_back(int id) const {
    if (id >= 0) check(PyObject_CallMethod(monitoring_.get(), "free_tool_id", "i", id));
  }
  void set_events(int id, long events) const {
    check(PyObject_CallMethod(monitoring_.get(), "set_events", "il", id, events));
  }
  void set_local_events(PyObject* code, long events) const {
    check(PyObject_CallMethod(monitoring_.get(), "set_local_events", "iOl", id_, code, events));
  }
  // It fails where memory does, in the middle of the program.
  void check(PyObject* result) const {
    if (result == nullptr) PyErr_WriteUnraisable(monitoring_.get());
    Py_XDECREF(result);
  }

  Ref monitoring_, disable_;
  std::array<Ref, kEvents> callbacks_;
  std::array<long, kEvents> bits_{};
  int id_ = -1;
  long everywhere_ = 0, attended_ = 0;
  int recordings_ = 0;
  std::unordered_map<PyObject*, int> watched_;
};

class Monitor final : public EventSource {
 public:
  Monitor(EventReader& reader, Tool& tool)
      : reader_(reader),
        tool_(tool),
        around_(std::exchange(current, this)),
        tracer_(PyThreadState_Get()->c_tracefunc) {}
  Monitor(const Monitor&) = delete;

  // Others see all events of theirs, whatever is left out here.
  bool is_alone() const override { return around_ == nullptr; }

  void attend(PyFrameObject* frame, Attention wanted) override {
    if (wanted == Attention::none) return;  // other frames may have the same code
    const Ref code = Ref::borrow(reinterpret_cast<PyObject*>(dvm_frame_parts(frame).code));
    counts_turns_ = wanted == Attention::turns;
    if (codes_.emplace(code.get(), code).second) tool_.watch(code.get());
    if (counts_turns_) return;
    for (PyObject* const other : std::exchange(quiet_, {})) tool_.watch_again(other);
  }

  void quit() override {
    if (!std::exchange(is_over_, true)) stop();
  }

  bool end() override {
    PyObject* const pending = PyErr_GetRaisedException();
    const bool is_ours = PyThreadState_Get()->c_tracefunc == tracer_;
    quit();
    current = around_;
    PyErr_SetRaisedException(pending);
    return is_ours;
  }

  // Whether this place of the code is of interest again.
  bool tell(PyFrameObject* frame, Event event, PyObject* object) {
    if (around_ != nullptr) around_->tell(frame, event, object);
    // CPython mixes up the places of two that read instructions: the other has just begun.
    if (PyThreadState_Get()->c_tracefunc != tracer_) quit();
    if (is_over_) return true;
    if (event != kInstruction) {
      reader_.on_event(frame, kEventOf[event], object);
      return true;
    }
    const DvmFrameParts parts = dvm_frame_parts(frame);
    const Decoded* const at = code_table(parts.code).at(parts.unit);
    if (at == nullptr || at->start != parts.unit) return true;  // told of with its first prefix
    if (!counts_turns_) {
      reader_.on_event(frame, FrameEvent::instruction, nullptr);
      return true;
    }
    const bool again = reader_.on_event(frame, FrameEvent::turn, nullptr);
    if (!counts_turns_) {  // the first that is recorded again
      reader_.on_event(frame, FrameEvent::instruction, nullptr);
      return true;
    }
    auto* const code = reinterpret_cast<PyObject*>(parts.code);
    if (again || !tool_.is_watched_once(code)) return true;
    if (std::ranges::find(quiet_, code) == quiet_.end()) quiet_.push_back(code);
    return false;
  }

 private:
  static constexpr std::array<FrameEvent, kEvents> kEventOf = {
      FrameEvent::call,    FrameEvent::call,     FrameEvent::thrown,   FrameEvent::exception,
      FrameEvent::unwound, FrameEvent::returned, FrameEvent::returned, FrameEvent::instruction};

  void stop() {
    for (const auto& [code, _] : codes_) tool_.unwatch(code);
    codes_.clear();
    tool_.end();
  }

  EventReader& reader_;
  Tool& tool_;
  Monitor* around_;
  Py_tracefunc tracer_;                       // of this thread, where it began
  std::unordered_map<PyObject*, Ref> codes_;  // attended to, which live until the end
  std::vector<PyObject*> quiet_;  // those of them that had places of no interest while turns count
  bool counts_turns_ = false;
  bool is_over_ = false;
};

template <Event kEvent>
PyObject* on_event(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  if (current == nullptr) Py_RETURN_NONE;
  PyFrameObject* const frame = PyEval_GetFrame();
  if (frame == nullptr) Py_RETURN_NONE;
  constexpr bool kHasObject = kEvent == kRaise || kEvent == kReturn || kEvent == kYield;
  const Ref held = Ref::borrow(reinterpret_cast<PyObject*>(frame));
  const bool again = current->tell(frame, kEvent, kHasObject ? arguments[2] : nullptr);
  return Py_NewRef(again ? Py_None : Tool::get().disable());
}

template <Event kEvent>
PyMethodDef definition() {
  return {"dvm_records", _PyCFunction_CAST(on_event<kEvent>), METH_FASTCALL, nullptr};
}

std::array<PyMethodDef, kEvents> callbacks = {
    definition<kStart>(),  definition<kResume>(), definition<kThrow>(), definition<kRaise>(),
    definition<kUnwind>(), definition<kReturn>(), definition<kYield>(), definition<kInstruction>()};

// Becomes a tool that nobody is, and reads its events; negative: there is none.
int Tool::take() const {
  constexpr int kIds[] = {4, 3, 1, 0, 2, 5};  // those first that are reserved for nobody
  PyObject* const monitoring = monitoring_.get();
  const auto* const free = std::ranges::find_if(kIds, [monitoring](int id) {
    return made(PyObject_CallMethod(monitoring, "get_tool", "i", id)).get() == Py_None;
  });
  if (free == std::end(kIds)) return -1;
  const int id = *free;
  made(PyObject_CallMethod(monitoring, "use_tool_id", "is", id, "dvm"));
  for (size_t i = 0; i < kEvents; ++i) {
    made(PyObject_CallMethod(monitoring, "register_callback", "ilO", id, bits_[i],
                             callbacks_[i].get()));
  }
  return id;
}

Tool& Tool::get() {
  static Tool* tool = nullptr;  // with the interpreter
  if (tool != nullptr) return *tool;
  auto taken = std::make_unique<Tool>();
  taken->monitoring_ = Ref::borrow(PySys_GetObject("monitoring"));
  PyObject* const monitoring = taken->monitoring_.get();
  taken->disable_ = made(PyObject_GetAttrString(monitoring, "DISABLE"));
  const Ref events = made(PyObject_GetAttrString(monitoring, "events"));
  for (size_t i = 0; i < kEvents; ++i) {
    taken->bits_[i] =
        PyLong_AsLong(made(PyObject_GetAttrString(events.get(), kEventNames[i])).get());
    taken->callbacks_[i] = made(PyCFunction_New(&callbacks[i], nullptr));
  }
  for (const size_t i : kEverywhere) taken->everywhere_ |= taken->bits_[i];
  for (const size_t i : kAttended) taken->attended_ |= taken->bits_[i];
  return *(tool = taken.release());
}

}  // namespace

std::unique_ptr<EventSource> begin_events(EventReader& reader) {
  Tool& tool = Tool::get();
  if (!tool.begin()) return nullptr;
  return std::make_unique<Monitor>(reader, tool);
}

}  // namespace dvm::capture
