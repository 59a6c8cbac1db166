// Graphs that were saved, compiled again: for C++ programs, and what the bindings share with these.
#pragma once

#include <string>
#include <string_view>

#include "core/file/saved_graph.h"
#include "driver/size_checks.h"

namespace dvm::driver {

// By the words that users and files have for them. Throws UnsupportedError for others.
// off: steps of the compiler that are left out.
Options options_of(std::string_view target, std::string_view numerics, std::string_view precision,
                   const std::vector<std::string>& off = {});

// Throws FormatError for an expression or a comparison that is none.
std::vector<SizeCheck> checks_of(const core::Graph& graph,
                                 const std::vector<core::SavedCheck>& checks);

struct LoadedGraph {
  core::SavedSettings settings;
  runtime::CompiledGraph graph;  // its constants lie in the file, as arrays of runtime::PlainHost
};
// Opens a file, compiles what is in it and maps its constants. Throws as core::open_graph and
// compile(). `target` instead of the one that it was saved for, if there is one.
LoadedGraph load(const std::string& path, std::string_view target = {});

}  // namespace dvm::driver
