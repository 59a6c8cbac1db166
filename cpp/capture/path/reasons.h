// Reasons for running uncompiled. The table is dvm/reasons.py; here they are messages: the code of
// a row, and behind line feeds what fills the holes of its text.
#pragma once

#include <string>

#include "capture/py.h"

namespace dvm::capture {

// The reason as Python has it: a str that knows its code and its advice.
Ref reason_object(const std::string& message);
std::string reason_text(const std::string& message);

}  // namespace dvm::capture
