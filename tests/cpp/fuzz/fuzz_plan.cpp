// Runs damaged Plans that verify() accepts, on arrays of exactly the bytes that they have: on the
// cpu and on simulated cores, whose Programs are verified as they are made. Under the fuzz preset
// this is the proof of what runtime::verify() promises: whatever a Plan says and whatever sizes it
// computes, no access outside of its buffers, no reference too many or too few, and no bug told of.
//
// An input is a line of the sizes of the arguments, which is damaged along with the Plan behind it.
#include <cctype>
#include <memory>
#include <set>
#include <stdexcept>

#include "core/error.h"
#include "core/graph_generator.h"
#include "core/loop_generator.h"
#include "core/module_generator.h"
#include "core/verifies.h"
#include "driver/compile.h"
#include "driver/size_checks.h"
#include "fuzz/exact_buffer.h"
#include "fuzz/fuzz_main.h"
#include "runtime/compiled_graph.h"
#include "runtime/execute/executor.h"
#include "runtime/plan_generator.h"

// Where AddressSanitizer is: what is beyond all memory is refused, as it is elsewhere.
extern "C" const char* __asan_default_options();  // NOLINT: the name is the sanitizer's own
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=256:allocator_may_return_null=1";
}

namespace dvm {
namespace {

using runtime::BufferView;
using runtime::Plan;

constexpr int64_t kMaxElements = int64_t{1} << 14;  // of an array
constexpr int kMaxTrips = 20, kMaxCalls = 64;
// Of a literal, beyond which Plans run for long, but do nothing that others do not.
constexpr int64_t kMaxLiteral = 48, kMaxSize = 24;

// An array of the host, or an object.
struct Array {
  fuzz::ExactBuffer memory;
  int references = 1;
  int constructor = -1;  // of an object; not yet known
  std::vector<BufferView> fields = {};
};

// Counts references; ends loops that do not end, and calls without number.
class Host final : public runtime::HostCalls {
 public:
  explicit Host(fuzz::Random& random) : random_(random) {}

  bool allocate(core::DType dtype, std::span<const int64_t> shape, BufferView& out) override {
    int64_t elements = 1;
    for (const int64_t size : shape) {
      if (__builtin_mul_overflow(elements, size, &elements) || elements > kMaxElements)
        return false;
    }
    out = {.dtype = dtype, .rank = static_cast<int32_t>(shape.size())};
    int64_t stride = core::byte_size(dtype);
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) {
      out.shape[d] = shape[d];
      out.strides[d] = stride;
    }
    auto* const array = new Array{{0, elements * core::byte_size(dtype), fuzz::Fence::heap}};
    for (size_t i = 0; i < array->memory.size(); ++i) {
      // Small numbers, so that some indices are there, and bools that are 0 or 1.
      array->memory[i] = static_cast<std::byte>(random_() % 4 == 0 ? random_() % 2 : 0);
    }
    out.data = array->memory.base();
    out.owner = array;
    live_.insert(array);
    return true;
  }
  bool call(const runtime::HostCall&, std::span<BufferView> results) override {
    if (++calls_ > kMaxCalls) return false;
    for (BufferView& result : results) {
      if (result.rank < 0) continue;
      std::vector<int64_t> shape(static_cast<size_t>(result.rank));
      for (int64_t& size : shape) size = static_cast<int64_t>(random_() % 4);
      if (random_() % 16 == 0 || !allocate(result.dtype, shape, result)) return false;
    }
    return true;
  }
  bool call_into(const runtime::HostCall&, std::span<const BufferView>) override {
    return ++calls_ <= kMaxCalls && random_() % 16 != 0;
  }
  // An object that the Plan made keeps its fields; those of another are made as they are asked for,
  // and not always of the declared kind.
  bool construct(const core::DataType&, size_t constructor, std::span<const BufferView> fields,
                 BufferView& out) override {
    Array& made = make_object(out);
    made.constructor = static_cast<int>(constructor);
    made.fields.assign(fields.begin(), fields.end());
    for (const BufferView& field : fields) retain(field.owner);
    return true;
  }
  int tag(const core::DataType& type, runtime::HostValue object) override {
    Array& given = array(object);
    if (++calls_ > kMaxCalls || type.constructors.empty()) return -1;
    if (given.constructor < 0) given.constructor = static_cast<int>(random_() % 8);
    return given.constructor % static_cast<int>(type.constructors.size());
  }
  bool field(const core::DataType& type, size_t constructor, runtime::HostValue object,
             size_t index, BufferView& out) override {
    if (const Array& given = array(object); index < given.fields.size()) {
      out = given.fields[index];
      retain(out.owner);
      return true;
    }
    const core::ValueKind& kind = type.constructors[constructor].kinds[index];
    const bool is_wrong = random_() % 32 == 0;
    if (kind.is_object() != is_wrong) {
      make_object(out);
      return true;
    }
    std::vector<int64_t> shape(static_cast<size_t>(kind.rank) + (is_wrong ? 1 : 0));
    for (int64_t& size : shape) size = static_cast<int64_t>(random_() % 4);
    return shape.size() <= core::kMaxRank && allocate(kind.dtype, shape, out);
  }
  Array& make_object(BufferView& out) {
    auto* const made = new Array{{0, 0, fuzz::Fence::heap}};
    live_.insert(made);
    out = {.owner = made, .dtype = core::DType::boolean, .rank = runtime::kObjectRank};
    return *made;
  }
  void retain(runtime::HostValue value) override { ++array(value).references; }
  void release(runtime::HostValue value) override {
    Array& given = array(value);
    if (--given.references > 0) return;
    live_.erase(&given);
    for (const BufferView& field : given.fields) release(field.owner);
    delete &given;
  }
  bool may_go_on() override { return ++trips_ <= kMaxTrips; }
  size_t live() const { return live_.size(); }

 private:
  Array& array(runtime::HostValue value) {
    auto* const given = static_cast<Array*>(value);
    if (!live_.contains(given)) throw std::logic_error("a reference to what is gone, or never was");
    return *given;
  }

  fuzz::Random& random_;
  std::set<Array*> live_;
  int trips_ = 0, calls_ = 0;
};

bool is_small(const Plan& plan) {
  for (const runtime::Instruction& instruction : plan.code) {
    if (instruction.op != runtime::PlanOp::literal) continue;
    const int64_t value = runtime::literal_of(operands_of(plan, instruction)[0].words);
    if (value < -kMaxLiteral || value > kMaxLiteral) return false;
  }
  return std::ranges::all_of(plan.bodies, is_small) &&
         std::ranges::all_of(plan.functions, is_small) &&
         std::ranges::all_of(plan.constants,
                             [](const runtime::PlanConstant& c) { return bool{c.values}; });
}

// The numbers of a line, each of at most two digits.
std::vector<int64_t> numbers_in(std::string_view line) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < line.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(line[at])) == 0) continue;
    int64_t number = line[at] - '0';
    if (at + 1 < line.size() && std::isdigit(static_cast<unsigned char>(line[at + 1])) != 0) {
      number = 10 * number + (line[++at] - '0');
    }
    numbers.push_back(number);
  }
  return numbers;
}

void run(const Plan& plan, std::span<const int64_t> sizes, vm::Target& target,
         fuzz::Random& random) {
  Host host(random);
  std::vector<BufferView> inputs, results(static_cast<size_t>(plan.result_count()));
  for (const runtime::Argument& input : plan.inputs) {
    if (input.data >= 0) {
      host.make_object(inputs.emplace_back());
      continue;
    }
    std::vector<int64_t> shape;
    for (int d = 0; d < input.rank; ++d) {
      shape.push_back(sizes.empty() ? 1 : std::min(sizes.front(), kMaxSize));
      if (!sizes.empty()) sizes = sizes.subspan(1);
    }
    if (!host.allocate(input.dtype, shape, inputs.emplace_back())) inputs.pop_back();
  }
  std::vector<core::Scalar> scalars;
  for (const core::DType dtype : plan.scalars) {
    const auto number = static_cast<int64_t>(random() % 8);
    scalars.push_back(core::is_floating(dtype) ? core::Scalar::of_float(static_cast<double>(number))
                                               : core::Scalar::of_int(number));
  }
  if (inputs.size() == plan.inputs.size()) {
    runtime::BorrowedContext context;
    const runtime::Outcome outcome =
        execute(plan, target, host, inputs, scalars, results, *context);
    if (outcome == runtime::Outcome::done) {
      for (const BufferView& result : results) host.release(result.owner);
    }
  }
  for (const BufferView& input : inputs) host.release(input.owner);
  if (host.live() != 0) throw std::logic_error("references are left over");
}

void run_input(std::string_view input) {
  const size_t line = std::min(input.find('\n'), input.size());
  const Plan plan = runtime::parse_plan(input.substr(std::min(line + 1, input.size())));
  if (!is_small(plan)) return;
  for (const char* const name : {"cpu", "ascend910b3"}) {
    fuzz::Random random(input.size());
    try {
      run(plan, numbers_in(input.substr(0, line)), driver::target(name), random);
    } catch (const core::Error& error) {
      // The simulated cores have no kernels for some dtypes, and the limits of Regions.
      if (error.code() != core::ErrorCode::unsupported) throw;
    }
  }
}

std::string sizes_of(const test::GraphCase& of) {
  std::string line;
  for (const core::Array& array : of.inputs) {
    for (const int64_t size : array.shape) line += std::to_string(size) + " ";
  }
  return line + "\n";
}

// What Graphs are compiled to, and any Plan that verify() accepts.
std::string generate(fuzz::Random& random) {
  if (random() % 3 == 0) return "2 2 2 2\n" + runtime::print(test::PlanGenerator(random()).run());
  if (random() % 3 == 0) {
    const core::Module module = test::generate_module(random()).module;
    return "3\n" + runtime::print(driver::compile(module, {}, {}).graph.plan());
  }
  test::GeneratorOptions options{.nodes = 4, .max_elements = 200};
  options.symbols = {0, 1, 2, 3, 4};
  const test::GraphCase made =
      random() % 2 == 0 ? test::generate_graph(random(), options) : test::generate_loops(random());
  const char* const target = random() % 2 == 0 ? "cpu" : "ascend910b3";
  const driver::Compilation compiled = driver::compile(made.graph, {.target = target});
  return sizes_of(made) + runtime::print(compiled.graph.plan());
}

}  // namespace
}  // namespace dvm

int main(int argc, char** argv) {
  using namespace dvm;
  core::verifies() = true;
  const fuzz::Reader reader = {"plan-run", generate, run_input};
  return fuzz::fuzz_main(argc, argv, {&reader, 1});
}
