// What the machine reaches at most: multiply-adds with nothing to load, reads with nothing to do. A
// library of its own, so that benchmarks in Python measure both in the process that they time in.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

// Seconds that as many threads together take for so many operations in f32, of which a multiply-add
// is two; 0 on a processor whose instructions are not known here.
double dvm_multiply_add_seconds(double operations, int threads);

// Reads memory once, in this thread.
void dvm_read(const void* data, int64_t bytes);
// Seconds that as many threads together take to read memory, the mean of some turns.
double dvm_read_seconds(const void* data, int64_t bytes, int threads);
}
#pragma GCC visibility pop
