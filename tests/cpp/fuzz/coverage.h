// What guides the fuzzer where the code under test was built to tell it (DVM_COVERAGE, the preset
// `fuzz`): GCC then calls a hook at every basic block, and a case that takes a new edge, or a known
// one a new order of magnitude of times, is worth damaging further. In any other build nothing
// calls the hook and no case is ever new.
#pragma once

#include <cstddef>

namespace dvm::fuzz {

// Forgets the edges of the case before; the thread that calls it is the one that is watched.
void begin_case();

// Whether the case took what no case before it took; remembers it.
bool is_new();

// Edges, with orders of magnitude told apart, that all cases together took.
size_t edges_taken();

}  // namespace dvm::fuzz
