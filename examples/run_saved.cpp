// Runs a graph that `dvm.CompiledGraph.save` wrote, without Python: every input is 0, 1, 2 ... of
// three elements per axis, and what comes out is printed.
//
//   run_saved FILE
#include <cstdio>
#include <vector>

#include "core/error.h"
#include "core/file/file_access.h"
#include "driver/saved.h"
#include "runtime/plain_host.h"

int main(int argc, char** argv) try {
  using namespace dvm;
  if (argc != 2) return std::fprintf(stderr, "usage: run_saved FILE\n"), 2;
  const driver::LoadedGraph loaded = driver::load(argv[1]);
  const runtime::Plan& plan = loaded.graph.plan();

  runtime::PlainHost host;
  std::vector<runtime::BufferView> inputs(plan.inputs.size()), results(plan.result_count());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const std::vector<int64_t> shape(static_cast<size_t>(plan.inputs[k].rank), 3);
    if (!host.allocate(core::DType::f32, shape, inputs[k])) return 1;
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    for (int64_t i = 0; i < size; ++i) reinterpret_cast<float*>(inputs[k].data)[i] = float(i);
  }
  runtime::check_arguments(plan, inputs, 0);
  runtime::BorrowedContext context;
  if (loaded.graph.run(host, inputs, {}, results, *context) != runtime::Outcome::done) return 1;
  for (size_t k = 0; k < results.size(); ++k) {
    int64_t size = 1;
    for (int d = 0; d < results[k].rank; ++d) size *= results[k].shape[d];
    std::printf("%s =", loaded.settings.results[k].c_str());
    for (int64_t i = 0; i < size; ++i)
      std::printf(" %g", reinterpret_cast<float*>(results[k].data)[i]);
    std::printf("\n");
    host.release(results[k].owner);
  }
  for (const runtime::BufferView& input : inputs) host.release(input.owner);
} catch (const std::exception& error) {  // core::Error, or core::FileAccessError
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
