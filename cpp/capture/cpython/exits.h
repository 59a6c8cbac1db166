// What runs of a generator that is closed, or dies, where it waits: GeneratorExit is raised there.
#pragma once

#include <optional>
#include <vector>

#include "capture/py.h"

namespace dvm::capture {

// The global names of exceptions that handlers compare it with, wherever a generator of this code
// waits (borrowed); none, where one may do more than that.
std::optional<std::vector<PyObject*> > asked_by_exit(PyCodeObject* code);
// Whether it leaves a generator without a trace: no handler takes it.
bool lets_exit_pass(PyObject* generator);

}  // namespace dvm::capture
