// Dicts have no version of their own since 3.14, but tell those who watch them of each change.
#include <unordered_map>

#include "capture/cpython/containers.h"
#include "capture/py.h"

namespace {

class DictVersions {
 public:
  uint64_t of(PyObject* dict) {
    if (const auto found = all_.find(dict); found != all_.end()) return found->second;
    const uint64_t fresh = ++last_;
    if (PyDict_Watch(watcher_, dict) == 0) {
      all_.emplace(dict, fresh);
    } else {
      PyErr_Clear();  // nobody can watch it: each look counts as a change
    }
    return fresh;
  }

  static DictVersions& get() {
    static auto* const versions = new DictVersions();  // with the interpreter
    return *versions;
  }

 private:
  DictVersions() : watcher_(PyDict_AddWatcher(on_change)) {
    if (watcher_ < 0) PyErr_Clear();  // others have all that there are
  }

  // It is watched again when its version is asked for: one that changes often costs nothing else.
  static int on_change(PyDict_WatchEvent event, PyObject* dict, PyObject*, PyObject*) {
    DictVersions& versions = get();
    versions.all_.erase(dict);
    return event == PyDict_EVENT_DEALLOCATED ? 0 : PyDict_Unwatch(versions.watcher_, dict);
  }

  std::unordered_map<PyObject*, uint64_t> all_;
  uint64_t last_ = 0;
  int watcher_;
};

}  // namespace

uint64_t dvm_dict_version(PyObject* dict) { return DictVersions::get().of(dict); }
