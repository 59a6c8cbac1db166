// All functions of core/math_*.h that a row of elementwise.def names.
#pragma once

#include "core/math/arc.h"
#include "core/math/divide.h"
#include "core/math/erf.h"
#include "core/math/exp.h"
#include "core/math/hyperbolic.h"
#include "core/math/log.h"
#include "core/math/logaddexp.h"
#include "core/math/power.h"
#include "core/math/root.h"
#include "core/math/trig.h"
