// All functions of core/math_*.h that a row of elementwise.def names.
#pragma once

#include "core/math_arc.h"
#include "core/math_divide.h"
#include "core/math_erf.h"
#include "core/math_exp.h"
#include "core/math_hyperbolic.h"
#include "core/math_log.h"
#include "core/math_logaddexp.h"
#include "core/math_power.h"
#include "core/math_root.h"
#include "core/math_trig.h"
