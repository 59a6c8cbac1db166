#include "bindings/lazy/kernel.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "capture/numpy/numpy_api.h"
#include "capture/replay/array_host.h"

namespace dvm::bindings::lazy {

namespace {

// A script has few sequences of operations; what makes ever new ones is not to keep them all.
constexpr size_t kMostKernels = 1024;
std::unordered_map<std::string, std::shared_ptr<const Kernel>>& kernels() {
  static auto* made = new std::unordered_map<std::string, std::shared_ptr<const Kernel>>;
  return *made;
}
int64_t g_compiled = 0;

// Of the thread that computes; two may compute what came from one buffer.
struct KernelScratch {
  std::string key;
  std::vector<runtime::BufferView> inputs, results;
  std::vector<core::Scalar> scalars;
};
thread_local KernelScratch t_kernel_scratch;

class Host final : public capture::ArrayHost {
 public:
  using ArrayHost::ArrayHost;
  bool call(const runtime::HostCall&, std::span<runtime::BufferView>) override {
    return no_calls();
  }
  bool call_into(const runtime::HostCall&, std::span<const runtime::BufferView>) override {
    return no_calls();
  }

 private:
  static bool no_calls() {
    PyErr_SetString(PyExc_RuntimeError, "a lazy graph calls no functions");
    return false;
  }
};

// All that the graph is made of, and of the sizes only which are 0, 1 and the same.
class Key {
 public:
  Key(std::string& key, Sizes& sizes) : key_(key), sizes_(sizes) {
    key_.clear();
    sizes_.all.clear();
    sizes_.is_told.clear();
  }

  void add(const Node& node) {
    key_.append(reinterpret_cast<const char*>(&node.form), sizeof node.form);
    key_.push_back(static_cast<char>(node.owner != nullptr));
    switch (node.form.kind) {
      case Kind::leaf:
        add_shape(node, true);
        break;
      case Kind::empty:
      case Kind::reshape:
        add_shape(node, false);
        break;
      case Kind::slice:
        add_size(node.shape[node.form.axes], false);
        [[fallthrough]];
      case Kind::update:
        add_size(node.number.as_int(), false);
        break;
      default:
        break;
    }
  }

 private:
  void add_shape(const Node& node, bool is_told) {
    key_.push_back(static_cast<char>(node.rank));
    for (int32_t d = 0; d < node.rank; ++d) add_size(node.shape[d], is_told);
  }

  void add_size(int64_t size, bool is_told) {
    uint16_t number = static_cast<uint16_t>(size);
    if (!is_constant(size)) {
      const auto found = std::find(sizes_.all.begin(), sizes_.all.end(), size);
      const size_t place = static_cast<size_t>(found - sizes_.all.begin());
      if (found == sizes_.all.end()) {
        sizes_.all.push_back(size);
        sizes_.is_told.push_back(0);
      }
      if (is_told) sizes_.is_told[place] = 1;
      number = static_cast<uint16_t>(2 + place);
    }
    key_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }

  std::string& key_;
  Sizes& sizes_;
};

}  // namespace

std::shared_ptr<const Kernel> kernel_of(std::span<const Node> nodes, Sizes& sizes) {
  std::string& text = t_kernel_scratch.key;
  Key key(text, sizes);
  for (const Node& node : nodes) key.add(node);
  if (const auto found = kernels().find(text); found != kernels().end()) return found->second;
  core::Graph graph = build(nodes, sizes);
  driver::Compilation compilation = driver::compile(graph, {});
  auto kernel = std::make_shared<const Kernel>(std::move(graph), std::move(compilation));
  if (kernels().size() >= kMostKernels) kernels().clear();
  kernels().emplace(text, kernel);
  ++g_compiled;
  return kernel;
}

bool run(const Kernel& kernel, std::span<const Node> nodes, const Sizes& sizes,
         std::vector<PyObject*>& values) {
  const runtime::CompiledGraph& graph = kernel.compilation.graph;
  std::vector<runtime::BufferView>& inputs = t_kernel_scratch.inputs;
  std::vector<runtime::BufferView>& results = t_kernel_scratch.results;
  std::vector<core::Scalar>& scalars = t_kernel_scratch.scalars;
  inputs.clear();
  scalars.clear();
  for (size_t k = 0; k < sizes.all.size(); ++k) {
    if (sizes.is_told[k] == 0) scalars.push_back(core::Scalar::of_int(sizes.all[k]));
  }
  size_t count = 0;
  for (const Node& node : nodes) {
    if (node.owner != nullptr) ++count;
    if (node.form.kind == Kind::number) scalars.push_back(node.number);
    if (node.form.kind != Kind::leaf) continue;
    auto* array = reinterpret_cast<PyArrayObject*>(node.leaf);
    const int64_t* shape = PyArray_DIMS(array);
    if (PyArray_NDIM(array) != node.rank || !std::equal(shape, shape + node.rank, node.shape)) {
      core::fail(core::ErrorCode::shape_mismatch,
                 "an operand was given another shape before it was needed");
    }
    capture::view_into(array, node.form.dtype, inputs.emplace_back());
  }
  results.assign(count, {});
  Host host(*capture::libraries().front(), {}, 0);
  runtime::BorrowedContext context;
  const runtime::Outcome outcome = graph.run(host, inputs, scalars, results, *context);
  if (outcome == runtime::Outcome::host_error) return false;
  if (outcome != runtime::Outcome::done) {
    PyErr_NoMemory();
    return false;
  }
  for (const runtime::BufferView& result : results) {
    values.push_back(host.is_argument(result, inputs) ? capture::ArrayHost::argument_of(result)
                                                      : host.array_of(result));
  }
  for (const runtime::BufferView& result : results) host.release(result.owner);
  return true;
}

int64_t compiled_count() { return g_compiled; }

void forget_compiled() { kernels().clear(); }

}  // namespace dvm::bindings::lazy
