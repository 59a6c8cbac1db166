// Functions that Graphs call by name and that every host has, for the runtime brings them: their
// names begin with "dvm.". They are called as those of the host are (call_host), so a file of a
// Graph that calls them needs nothing else.
#pragma once

#include <span>
#include <string_view>

#include "runtime/host.h"

namespace dvm::runtime {

// Fills in the results, as HostCalls::call does, with arrays of that host.
using OwnFunction = bool (*)(const HostCall& call, std::span<BufferView> results, HostCalls& host);

// Null: it is one of the host's.
OwnFunction own_function(std::string_view name);

}  // namespace dvm::runtime
