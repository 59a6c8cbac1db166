// prepare + encode: the worked example of the DVM paper (Fig. 6), and random Regions run on the
// plainest core against the reference evaluator.
#include "vm/encode/encode.h"

#include <gtest/gtest.h>

#include <random>

#include "plain_core.h"
#include "region_util.h"
#include "sample_programs.h"

namespace dvm::vm {
namespace {

TEST(Encode, WorkedExampleOfThePaper) {
  const core::Region region = region_of(R"(
    %0 = input f16[32, 1024]
    %1 = input f16[32, 1024]
    %2 = add(%0, %1) f16[32, 1024]
    return %2)");
  const Kernel kernel = prepare(region);
  Call call(region, kernel, {});
  Arena arena;
  const Compiled compiled = encode(kernel, call.binding(), target_named("ascend910b3"), arena);
  ASSERT_EQ(compiled.stage_count, 1);
  verify(compiled.stages[0].words());
  EXPECT_EQ(disassemble(compiled.stages[0]), kWorkedExample);
}

// A random Region over one space: inputs with dims of constant or symbolic size 1, elementwise
// work, broadcasts of tensors and scalars, reductions over neighbouring axes, whose results others
// may need.
struct RandomRegion {
  core::Region region{"r0", core::Graph()};
  std::vector<int64_t> symbols;
  std::mt19937_64& random;

  int64_t below(int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }

  explicit RandomRegion(std::mt19937_64& engine) : random(engine) {
    core::Graph& g = region.body;
    const int rank = static_cast<int>(1 + below(4));
    core::Shape space;
    int64_t room = 1 + below(20000);
    for (int d = 0; d < rank; ++d) {
      constexpr int64_t kSizes[] = {0, 1, 1, 2, 3, 5, 16, 33, 64, 100, 512, 600, 1024, 1537, 3000};
      int64_t size = kSizes[below(std::size(kSizes))];
      if (size == 0 && below(4) != 0) size = 7;
      size = std::min(size, std::max<int64_t>(1, room));
      room /= std::max<int64_t>(1, size);
      space.push_back(symbol("s", size));
    }
    std::shuffle(space.begin(), space.end(), random);
    const DType dtypes[] = {DType::f32, DType::f32, DType::f16, DType::i32, DType::f64};
    const DType dtype = dtypes[below(5)];
    std::vector<core::Value> full, other, conditions;
    g.input({DType::boolean, space});  // unused: the reference reads the sizes off it
    for (int64_t i = 1 + below(3); i > 0; --i) {
      core::Shape shape = space;
      for (core::Dim& dim : shape) {
        const int64_t size = core::evaluate(dim, symbols).value();
        if (below(4) == 0) dim = g.dims().constant(1);
        // A size that happens to be 1, or happens to be that of the space.
        if (below(6) == 0) dim = symbol("b", below(2) == 0 || size == 0 ? 1 : size);
      }
      if (below(4) == 0) shape.erase(shape.begin(), shape.begin() + below(std::ssize(shape)));
      core::Value v = g.input({dtype, shape});
      if (below(2) == 0) v = g.elementwise(core::Op::abs, std::vector{v});
      if (below(3) == 0) other.push_back(v);
      full.push_back(g.broadcast(v, space));
    }
    const core::Value half =
        g.constant(dtype, core::is_floating(dtype) ? Scalar::of_float(0.5) : Scalar::of_int(3));
    if (below(2) == 0) full.push_back(g.broadcast(half, space));
    if (below(4) == 0) full.push_back(g.broadcast(g.dim_value(dtype, space[0]), space));
    for (int64_t i = below(7); i > 0; --i) {
      const core::Value a = full[static_cast<size_t>(below(std::ssize(full)))];
      const core::Value b = full[static_cast<size_t>(below(std::ssize(full)))];
      switch (below(5)) {
        case 0:
          conditions.push_back(g.elementwise(core::Op::lt, std::vector{a, b}));
          break;
        case 1:
          if (!conditions.empty()) {
            full.push_back(g.elementwise(core::Op::select, std::vector{conditions.back(), a, b}));
          }
          break;
        case 2:
          full.push_back(g.elementwise(core::Op::neg, std::vector{a}));
          break;
        case 3:
          full.push_back(g.elementwise(core::Op::maximum, std::vector{a, b}));
          break;
        default:
          full.push_back(g.elementwise(core::Op::add, std::vector{a, b}));
      }
    }
    // Rows that one Program may compute: all reductions are over the same axes.
    const bool same_axes = below(2) == 0, feeds = below(2) == 0;
    std::vector<int> axes;
    for (int64_t i = below(feeds ? 4 : 3); i > 0; --i) {
      if (axes.empty() || !same_axes) {
        axes.clear();
        const int first = static_cast<int>(below(rank));
        const int last = below(2) == 0 ? rank - 1 : first + static_cast<int>(below(rank - first));
        for (int axis = first; axis <= last; ++axis) axes.push_back(axis);
      }
      core::Value v = full[static_cast<size_t>(below(std::ssize(full)))];
      if (!feeds && g.type(v).dtype == DType::i32 && below(2) == 0) v = widened(v, conditions);
      bool empty = false;
      for (core::Dim dim : space) empty |= core::evaluate(dim, symbols) == 0;
      const core::Op ops[] = {core::Op::sum, core::Op::prod, core::Op::max,    core::Op::min,
                              core::Op::sum, core::Op::prod, core::Op::nanmax, core::Op::nanmin};
      const bool floating = core::is_floating(g.type(v).dtype);
      const core::Op op = ops[below(empty ? 2 : floating ? 8 : 4)];
      const core::Value result = g.reduce(op, v, axes);
      if (!feeds || below(2) == 0) g.outputs.push_back(result);
      if (!feeds) continue;
      core::Value fed = result;
      if (below(2) == 0) fed = g.elementwise(core::Op::neg, std::vector{fed});
      if (below(4) == 0) g.outputs.push_back(fed);
      fed = g.broadcast(fed, space);
      full.push_back(g.elementwise(core::Op::add, std::vector{full.back(), fed}));
    }
    if (below(3) == 0 && !other.empty()) g.outputs.push_back(other[0]);
    if (below(4) == 0 && !conditions.empty()) g.outputs.push_back(conditions[0]);
    if (below(2) == 0 || g.outputs.empty()) g.outputs.push_back(full.back());
    if (below(8) == 0) g.outputs.push_back(g.outputs[0]);
  }

 private:
  // What reductions may read without its cast.
  core::Value widened(core::Value v, const std::vector<core::Value>& conditions) {
    if (!conditions.empty() && below(2) == 0) v = conditions.back();
    return region.body.cast(v, DType::i64);
  }

  core::Dim symbol(const std::string& name, int64_t value) {
    symbols.push_back(value);
    return region.body.dims().symbol(name + std::to_string(symbols.size()));
  }
};

void fill(core::Array& array, std::mt19937_64& random) {
  core::dispatch(array.dtype, [&]<DType D>() {
    using T = core::Storage<D>;
    for (T& element : core::elements<T>(array)) {
      // Values whose sums round, so that the order of summation shows.
      const double value = static_cast<double>(random() % 20001) / 10000 - 1;
      element = core::scalar::cast<T>(core::is_floating(D) ? value : value * 100);
    }
  });
}

// What the random cases reached.
struct Coverage {
  int empty = 0, staged = 0, several = 0, rows = 0, parts = 0, insns[kInsnCount] = {};
  int row_chains = 0, totals = 0;  // chains of several rows, and those that sum rows
  int casting = 0;                 // reductions that cast what they read
  int tailed = 0;                  // instructions with tails along several axes
  void add(const Kernel& kernel, const Compiled& compiled) {
    rows += !kernel.parts.empty() && compiled.stage_count == 1;
    parts += compiled.workspace_count > kFirstKept;
    empty += compiled.stage_count == 0;
    staged += compiled.workspace_bytes[1] != 0;
    several += compiled.stage_count > 1 && compiled.workspace_bytes[0] == 0;
    for (int s = 0; s < compiled.stage_count; ++s) {
      for (auto code = compiled.stages[s].code(); !code.empty();) {
        const auto& insn = *reinterpret_cast<const Instruction*>(code.data());
        ++insns[static_cast<int>(insn.insn)];
        row_chains += insn.is_chain() && insn.m > 1;
        totals += insn.is_chain() && sums_rows(insn);
        casting += info(insn.insn).format == Format::reduce && operand_dtype(insn, 1) != insn.dtype;
        tailed += insn.tails != 0;
        code = code.subspan(insn.words);
      }
    }
  }
};

std::vector<core::Array> run_call(const Kernel& kernel, Call& call, const TargetTraits& target,
                                  Arena& arena, const std::vector<core::Array>& inputs,
                                  Coverage& coverage) {
  std::vector<std::byte*> globals;
  std::vector<std::vector<std::byte>> before;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    Tensor& tensor = call.operands[k];
    const auto bytes = static_cast<size_t>(core::byte_size(tensor.dtype));
    for (size_t i = 0; i < tensor.buffer.size(); ++i) tensor.buffer[i] = std::byte(i * 7 + 1);
    if (k < inputs.size()) {
      tensor.for_each([&](int64_t i, std::byte* p) {
        std::memcpy(p, inputs[k].data.data() + static_cast<size_t>(i) * bytes, bytes);
      });
    }
    globals.push_back(tensor.buffer.data() + tensor.base);
    before.push_back(tensor.buffer);
  }
  arena.reset();
  const Compiled compiled = encode(kernel, call.binding(), target, arena);
  coverage.add(kernel, compiled);
  // A Program names its target by id, so only those of unmodified targets can be verified.
  const bool check = target.cores == find_target(target.id)->cores;
  std::vector<std::byte> workspaces[kMaxWorkspaces];
  for (int w = 0; w < compiled.workspace_count; ++w) {
    workspaces[w].resize(static_cast<size_t>(compiled.workspace_bytes[w]));
    globals.push_back(workspaces[w].data());
  }
  for (int s = 0; s < compiled.stage_count; ++s) {
    if (check) verify(compiled.stages[s].words());
    PlainCore core(compiled.stages[s]);
    run_tiles(compiled.stages[s], globals, 0, compiled.stages[s].header().tile_count, core);
  }
  std::vector<core::Array> results;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    Tensor& tensor = call.operands[k];
    if (k >= inputs.size()) {
      core::Array result = core::make_array(tensor.dtype, tensor.shape);
      const auto bytes = static_cast<size_t>(core::byte_size(tensor.dtype));
      tensor.for_each([&](int64_t i, std::byte* p) {
        const size_t at = static_cast<size_t>(i) * bytes;
        std::memcpy(result.data.data() + at, p, bytes);
        // What is left must be as before: elements are put back to compare the rest.
        std::memcpy(p, before[k].data() + (p - tensor.buffer.data()), bytes);
      });
      results.push_back(result);
    }
    EXPECT_EQ(tensor.buffer, before[k]) << "operand " << k << " was written outside its elements";
  }
  return results;
}

// Memory for a chunk of a sum, a few elements and three cores: every dim gets split somewhere.
TargetTraits tiny(std::string_view name, int64_t local_bytes) {
  TargetTraits traits = target_named(name);
  traits.local_bytes = traits.reserve_bytes + local_bytes;
  traits.cores = 3;
  return traits;
}

TEST(Encode, RandomRegionsGiveTheReferencesBits) {
  const TargetTraits targets[] = {target_named("cpu"), target_named("ascend910b3"),
                                  tiny("cpu", 4608), tiny("ascend910b3", 6000)};
  Arena arena;
  Coverage coverage;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    RandomRegion made(random);
    const core::Region& region = made.region;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + core::print(region.body));
    const Kernel kernel = prepare(region);
    Call call(region, kernel, made.symbols);
    for (Tensor& tensor : call.operands) {
      if (made.below(3) == 0) tensor.shuffle_layout(random);
    }
    std::vector<core::Array> inputs;
    for (size_t k = 0; k < static_cast<size_t>(kernel.input_count); ++k) {
      inputs.push_back(core::make_array(call.operands[k].dtype, call.operands[k].shape));
      fill(inputs.back(), random);
    }
    const std::vector<core::Array> expected = core::evaluate(region.body, inputs);
    for (const TargetTraits& target : targets) {
      const auto results = run_call(kernel, call, target, arena, inputs, coverage);
      ASSERT_EQ(results.size(), expected.size());
      for (size_t k = 0; k < results.size(); ++k) {
        EXPECT_EQ(results[k].data, expected[k].data) << target.name << " output " << k;
      }
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(coverage.empty, 20);
  EXPECT_GT(coverage.staged, 50);
  EXPECT_GT(coverage.several, 200);
  EXPECT_GT(coverage.rows, 200);
  EXPECT_GT(coverage.parts, 100);
  EXPECT_GT(coverage.row_chains, 40);
  EXPECT_GT(coverage.totals, 20);
  EXPECT_GT(coverage.casting, 20);
  for (Insn insn :
       {Insn::load, Insn::view_load, Insn::store, Insn::view_store, Insn::copy, Insn::broadcast,
        Insn::cast, Insn::select, Insn::sum, Insn::prod, Insn::max, Insn::min}) {
    EXPECT_GT(coverage.insns[static_cast<int>(insn)], 20) << info(insn).name;
  }
}

// The casts that partial sums of f16 need make other tilings cheap, which must not put them off.
TEST(Encode, PartialSumsStayPartial) {
  const core::Region region =
      region_of("%0 = input f16[s0, s1]\n%1 = sum(%0) f16[1, s1] {axes = [0]}\nreturn %1");
  const Kernel kernel = prepare(region);
  Arena arena;
  Coverage coverage;
  const TargetTraits target = tiny("cpu", 4608);
  for (const int64_t columns : {1, 2, 22, 300}) {
    Call call(region, kernel, {600, columns});
    std::mt19937_64 random(1);
    std::vector<core::Array> inputs = {
        core::make_array(call.operands[0].dtype, call.operands[0].shape)};
    fill(inputs[0], random);
    const auto results = run_call(kernel, call, target, arena, inputs, coverage);
    EXPECT_EQ(results[0].data, core::evaluate(region.body, inputs)[0].data) << columns;
  }
}

// A text with words for the names in it.
std::string replaced(std::string text,
                     const std::vector<std::pair<std::string, std::string>>& words) {
  for (const auto& [name, word] : words) {
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += word.size()) {
      text.replace(at, name.size(), word);
    }
  }
  return text;
}

// Long rows: tiles of several chunks, and one more Program for the last two, which may be short.
TEST(Encode, ManyChunksAreRows) {
  for (const std::string dtype : {"f32", "f64", "f16", "bf16", "i32"}) {
    const core::Region region = region_of(replaced(R"(%0 = input T[s0, s1]
                    %1 = mul(%0, %0) T[s0, s1]
                    %2 = sum(%1) T[s0, 1] {axes = [1]}
                    return %2)",
                                                   {{"T", dtype}}));
    const Kernel kernel = prepare(region);
    for (const int64_t rows : {1, 3}) {
      for (const int64_t columns : {70000, 131072, 131073, 131583, 131584}) {
        Call call(region, kernel, {rows, columns});
        std::mt19937_64 random(1);
        std::vector<core::Array> inputs = {
            core::make_array(call.operands[0].dtype, call.operands[0].shape)};
        fill(inputs[0], random);
        Arena arena;
        Coverage coverage;
        const TargetTraits target = tiny("cpu", 8192);
        EXPECT_EQ(encode(kernel, call.binding(), target, arena).stage_count, 3);
        arena.reset();
        const auto results = run_call(kernel, call, target, arena, inputs, coverage);
        EXPECT_EQ(results[0].data, core::evaluate(region.body, inputs)[0].data)
            << dtype << " " << rows << " x " << columns;
      }
    }
  }
}

// Whole, in chunks and stored first: no cast is left.
TEST(Encode, ReductionsReadWhatTheyCast) {
  struct Case {
    const char *from, *to, *op;
  };
  const Case cases[] = {{"bool", "i64", "sum"}, {"i8", "i64", "sum"},   {"u16", "u64", "prod"},
                        {"i32", "i64", "sum"},  {"f32", "bool", "max"}, {"i64", "bool", "min"},
                        {"i64", "f64", "sum"},  {"i8", "f64", "sum"}};
  for (const auto& [from, to, op] : cases) {
    const std::string dtype = from, wide = to;
    for (const std::string axes : {"0", "1", "0, 1", "1, 2", "0, 1, 2"}) {
      const std::string rows = axes.find('0') == std::string::npos ? "s0" : "1";
      const std::string columns = axes.find('1') == std::string::npos ? "s1" : "1";
      const std::string last = axes.find('2') == std::string::npos ? "s2" : "1";
      const core::Region region = region_of(replaced(R"(%0 = input FROM[s0, s1, s2]
                      %1 = cast(%0) TO[s0, s1, s2]
                      %2 = OP(%1) TO[ROWS, COLUMNS, LAST] {axes = [AXES]}
                      return %2)",
                                                     {{"FROM", from},
                                                      {"TO", to},
                                                      {"OP", op},
                                                      {"ROWS", rows},
                                                      {"COLUMNS", columns},
                                                      {"LAST", last},
                                                      {"AXES", axes}}));
      // Rows of floats are for chains.
      const bool reads = wide != "f64" || last != "1";
      const Kernel kernel = prepare(region);
      for (const auto& sizes : {std::vector<int64_t>{3, 700, 5}, {2, 2, 3000}, {60, 40, 3}}) {
        Call call(region, kernel, sizes);
        std::mt19937_64 random(1);
        for (int layout = 0; layout < 3; ++layout) {
          if (layout != 0) call.operands[0].shuffle_layout(random);
          std::vector<core::Array> inputs = {
              core::make_array(call.operands[0].dtype, call.operands[0].shape)};
          fill(inputs[0], random);
          const auto expected = core::evaluate(region.body, inputs);
          Arena arena;
          for (const TargetTraits& target : {target_named("cpu"), tiny("cpu", 4608)}) {
            Coverage coverage;
            const auto results = run_call(kernel, call, target, arena, inputs, coverage);
            EXPECT_EQ(results[0].data, expected[0].data) << dtype << " over " << axes;
            if (!reads) continue;
            EXPECT_EQ(coverage.insns[static_cast<int>(Insn::cast)], 0) << dtype << " over " << axes;
            EXPECT_GT(coverage.casting, 0) << dtype << " over " << axes;
          }
        }
      }
    }
  }
}

// What a variance over axis 0 does behind its mean. The last chunk of the rows and the last tile of
// the columns are shorter than the others. Elements that a chain widens are read there, too.
TEST(Encode, ColumnsAreReadWhereTheyLieAlongTwoTails) {
  struct Case {
    const char *dtype, *computed, *step;
  };
  for (const auto& [dtype, computed, step] :
       {Case{"f64", "f64", "abs"}, Case{"i32", "f64", "cast"}, Case{"f32", "f64", "cast"},
        Case{"u8", "f64", "cast"}, Case{"bool", "f64", "cast"}, Case{"f16", "f32", "cast"},
        Case{"bf16", "f32", "cast"}, Case{"bool", "f32", "cast"}}) {
    const std::string all = std::string(computed) + "[s0, s1]\n";
    const core::Region region =
        region_of("%0 = input " + std::string(dtype) + "[s0, s1]\n%1 = " + step + "(%0) " + all +
                  "%2 = input " + computed + "[1, s1]\n%3 = broadcast(%2) " + all +
                  "%4 = sub(%1, %3) " + all + "%5 = square(%4) " + all + "%6 = sum(%5) " +
                  computed + "[1, s1] {axes = [0]}\nreturn %6");
    const Kernel kernel = prepare(region);
    Call call(region, kernel, {1000, 1000});
    std::mt19937_64 random(1);
    std::vector<core::Array> inputs;
    for (int k = 0; k < 2; ++k) {
      const auto& operand = call.operands[static_cast<size_t>(k)];
      inputs.push_back(core::make_array(operand.dtype, operand.shape));
      fill(inputs.back(), random);
    }
    Arena arena;
    Coverage coverage;
    const auto results = run_call(kernel, call, target_named("cpu"), arena, inputs, coverage);
    EXPECT_EQ(results[0].data, core::evaluate(region.body, inputs)[0].data) << dtype;
    EXPECT_EQ(coverage.insns[static_cast<int>(Insn::view_load)], 0) << dtype;
    EXPECT_GT(coverage.tailed, 0) << dtype;
  }
}

// Rows of so many elements that lie apart, in a buffer that ends with the last one.
void lay_apart(Tensor& tensor, int64_t gap) {
  const int64_t bytes = core::byte_size(tensor.dtype), rows = tensor.shape[tensor.shape.size() - 2];
  const int64_t columns = tensor.shape.back(), stride = (columns + gap) * bytes;
  int64_t outer = stride * rows;
  tensor.strides[tensor.shape.size() - 2] = stride;
  for (size_t d = tensor.shape.size() - 2; d-- > 0; outer *= tensor.shape[d])
    tensor.strides[d] = outer;
  tensor.buffer.assign(static_cast<size_t>(outer), std::byte{0});
}

// A copy is one instruction for many rows, without a slot, where one side is a run of memory. Rows
// one by one would need no view, but a tile each.
TEST(Encode, RowsAreCopiedTogether) {
  for (const char* dtype : {"bool", "f16", "f32", "f64"}) {
    const core::Region region =
        region_of("%0 = input " + std::string(dtype) + "[s0, s1]\nreturn %0");
    const Kernel kernel = prepare(region);
    for (const auto& [rows, columns] : {std::pair(2000, 81), std::pair(300, 7), std::pair(40, 999),
                                        std::pair(2, 3), std::pair(1000, 1), std::pair(1, 1000)}) {
      for (const size_t apart : {0, 1}) {
        SCOPED_TRACE(std::string(dtype) + " " + std::to_string(rows) + " x " +
                     std::to_string(columns) + " " + std::to_string(apart));
        Call call(region, kernel, {rows, columns});
        lay_apart(call.operands[apart], 19);
        std::mt19937_64 random(1);
        std::vector<core::Array> inputs = {
            core::make_array(call.operands[0].dtype, call.operands[0].shape)};
        fill(inputs[0], random);
        Arena arena;
        Coverage coverage;
        const auto results = run_call(kernel, call, target_named("cpu"), arena, inputs, coverage);
        EXPECT_EQ(results[0].data, inputs[0].data);
        const Program& program =
            encode(kernel, call.binding(), target_named("cpu"), arena).stages[0];
        EXPECT_LE(program.header().tile_count, 16);
        EXPECT_EQ(program.header().local_bytes, 0);
      }
    }
  }
}

// What is reduced of rows that lie apart, which no one dim holds, is read where it is and in the
// order of its elements: as many whole rows as make whole chunks are a tile.
TEST(Encode, RowsThatLieApartAreReducedInPlace) {
  struct Case {
    const char *dtype, *cast, *op, *to;
  };
  for (const auto& [dtype, cast, op, to] :
       {Case{"f32", "", "sum", "f32"}, Case{"f64", "", "prod", "f64"},
        Case{"f32", "", "nanmax", "f32"}, Case{"f64", "", "min", "f64"},
        Case{"bool", "", "max", "bool"}, Case{"i32", "", "sum", "i32"},
        Case{"bool", "cast", "sum", "i64"}, Case{"f16", "", "max", "f16"},
        Case{"u8", "cast", "sum", "u64"}, Case{"f32", "cast", "min", "bool"}}) {
    const bool casts = *cast != 0;
    const std::string space = "[s0, s1, s2]", type = to;
    const core::Region region =
        region_of("%0 = input " + std::string(dtype) + space + "\n" +
                  (casts ? "%1 = cast(%0) " + type + space + "\n" : "") + (casts ? "%2" : "%1") +
                  " = " + op + (casts ? "(%1) " : "(%0) ") + type +
                  "[s0, 1, 1] {axes = [1, 2]}\nreturn " + (casts ? "%2" : "%1"));
    const Kernel kernel = prepare(region);
    for (const auto& sizes : {std::vector<int64_t>{1, 1500, 81},
                              {1, 700, 512},
                              {1, 81, 1500},
                              {2, 130, 1001},
                              {1, 40000, 3},
                              {3, 2, 66000},
                              {1, 1031, 128}}) {
      SCOPED_TRACE(std::string(op) + "." + to + " of " + dtype + " " + std::to_string(sizes[1]) +
                   " x " + std::to_string(sizes[2]));
      Call call(region, kernel, sizes);
      lay_apart(call.operands[0], 40);
      std::mt19937_64 random(1);
      std::vector<core::Array> inputs = {
          core::make_array(call.operands[0].dtype, call.operands[0].shape)};
      fill(inputs[0], random);
      Arena arena;
      for (const TargetTraits& target : {target_named("cpu"), target_named("ascend910b3")}) {
        Coverage coverage;
        const auto results = run_call(kernel, call, target, arena, inputs, coverage);
        EXPECT_EQ(results[0].data, core::evaluate(region.body, inputs)[0].data);
        if (!target.streams) continue;
        EXPECT_EQ(coverage.insns[static_cast<int>(Insn::view_load)], 0);
        EXPECT_EQ(coverage.insns[static_cast<int>(Insn::copy)], 0);
        const Program& program = encode(kernel, call.binding(), target, arena).stages[0];
        const std::vector<uint64_t> words = assemble(disassemble(program));
        EXPECT_TRUE(std::ranges::equal(words, program.words()));
      }
    }
  }
}

// The centered elements of a layer norm, which steps before and behind a sum read, are computed
// twice where operands are streams.
TEST(Encode, DifferencesAreRepeatedBehindReductions) {
  const core::Region region = region_of(R"(
    %0 = input f32[s0, s1]
    %1 = sum(%0) f32[s0, 1] {axes = [1]}
    %2 = broadcast(%1) f32[s0, s1]
    %3 = sub(%0, %2) f32[s0, s1]
    %4 = mul(%3, %3) f32[s0, s1]
    %5 = sum(%4) f32[s0, 1] {axes = [1]}
    %6 = broadcast(%5) f32[s0, s1]
    %7 = div(%3, %6) f32[s0, s1]
    %8 = sub(%3, %7) f32[s0, s1]
    return %8)");
  const Kernel kernel = prepare(region);
  for (const auto& [name, subtractions] : {std::pair("cpu", 3), std::pair("ascend910b3", 2)}) {
    const TargetTraits& target = target_named(name);
    for (const int64_t columns : {2, 64, 200, 1500}) {
      Call call(region, kernel, {16, columns});
      Arena arena;
      const Compiled compiled = encode(kernel, call.binding(), target, arena);
      ASSERT_EQ(compiled.stage_count, 1);
      const std::string listing = disassemble(compiled.stages[0]);
      int found = 0;
      for (size_t at = 0; (at = listing.find("Sub.", at)) != std::string::npos; ++at) ++found;
      EXPECT_EQ(found, subtractions) << listing;
      std::mt19937_64 random(1);
      std::vector<core::Array> inputs = {
          core::make_array(call.operands[0].dtype, call.operands[0].shape)};
      fill(inputs[0], random);
      Coverage coverage;
      arena.reset();
      const auto results = run_call(kernel, call, target, arena, inputs, coverage);
      EXPECT_EQ(results[0].data, core::evaluate(region.body, inputs)[0].data) << columns;
    }
  }
}

// One number out of so many that partial sums of partial sums are needed: three Programs.
TEST(Encode, SumsOfPartialSumsKeepTheCanonicalOrder) {
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    const std::string text = "%0 = input " + std::string(dtype) + "[s0, s1]\n%1 = sum(%0) " +
                             dtype + "[1, s1] {axes = [0]}\nreturn %1";
    const core::Region region = region_of(text);
    const Kernel kernel = prepare(region);
    for (int64_t columns : {1, 2}) {
      Call call(region, kernel, {1200001, columns});
      std::mt19937_64 random(1);
      std::vector<core::Array> inputs = {
          core::make_array(call.operands[0].dtype, call.operands[0].shape)};
      fill(inputs[0], random);
      const auto expected = core::evaluate(region.body, inputs);
      Arena arena;
      Coverage coverage;
      // On the cpu chunks of memory are rows of a Program of their own, all but the last two, and
      // columns of partial sums are one tile.
      const TargetTraits target = tiny(columns == 1 ? "cpu" : "ascend910b3", 4096);
      const int stages = encode(kernel, call.binding(), target, arena).stage_count;
      EXPECT_EQ(stages, columns == 1 ? 4 : 3);
      arena.reset();
      const auto results = run_call(kernel, call, target, arena, inputs, coverage);
      EXPECT_EQ(results[0].data, expected[0].data) << dtype << " " << columns;
    }
  }
}

}  // namespace
}  // namespace dvm::vm
