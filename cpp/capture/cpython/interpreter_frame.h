/* The interpreter's own frames, in whatever headers this version of CPython has them. */
#pragma once

#include <Python.h>

#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_genobject.h"
#include "internal/pycore_interpframe.h"
#include "internal/pycore_stackref.h"
#endif
