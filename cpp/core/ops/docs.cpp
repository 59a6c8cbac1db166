// The rules per class are prose kept here; everything else in the page is read from the tables.
#include "core/ops/docs.h"

#include <array>
#include <string_view>
#include <utility>

#include "core/graph/graph.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduce.h"

namespace dvm::core {

namespace {

struct ClassText {
  OpClass op_class;
  std::string_view title, rule;
};
constexpr std::array<ClassText, 8> kClasses = {{
    {OpClass::source, "Sources",
     "Values from outside the graph. `input` and `tensor` have the type they declare; the others "
     "have rank 0. A `constant` must be exactly representable in its dtype; the builder rounds "
     "floats. A `tensor` has a static shape and either `values`, or a `name` by which the host "
     "supplies its elements."},
    {OpClass::elementwise, "Elementwise",
     "All operands and the result have the same shape, size by size the same Dim: broadcasting is "
     "an op of its own. Operands agree in dtype (the condition of `select` is bool). Integers "
     "wrap; halves (f16, bf16) compute in f32 and round the result."},
    {OpClass::broadcast, "Broadcast",
     "Shapes align at their last axes. A size must be the target's, or 1, or a symbolic size that "
     "may turn out to be 1; the last is checked when the sizes are known."},
    {OpClass::reduce, "Reductions",
     "`axes` are neighbours in ascending order and become size 1. The order of additions is that "
     "of `core/ops/sum_order.h`; sums and products of halves accumulate in f32 and round once. "
     "Over "
     "nothing a sum is 0, a product 1, and a maximum or minimum an error, unless the op names what "
     "it is then."},
    {OpClass::matrix, "Matrices",
     "Operands have one rank, at least 2, and one shape but for the last two axes: batches are "
     "broadcast before. Products are added up in the dtype that the result computes in, which may "
     "be the result's own (f32 of halves, i32 of i8), and rounded to it once. Targets add in "
     "orders "
     "and with roundings of their own, the same for any number of threads. A `convolve` has "
     "weights [.., m, c * e] and an operand x [.., c, sizes..], for windows of e elements that "
     "move "
     "along up to 3 axes: `window` is how many elements they have along each, `steps` how far they "
     "move, `dilations` how far their elements lie apart. `padding` "
     "is how many zeros are taken to lie before each axis, and then behind each. Its result is "
     "[.., m, positions..]. An `attention` has "
     "operands q [.., h, m, d], k [.., g, n, d], v [.., g, n, e] and maybe a mask [.., h, m, n]; h "
     "is a multiple of g, and each h / g heads of q share one of k. Its scores are q k^T times "
     "`scale` (1 by default), to which a mask of floats is added; where one of bools is false they "
     "are `fill` (-inf by default). With `causal`, row i of q sees rows of k up to i + `causal`: 0 "
     "counts from the first row of both, n - m from the last. A row that sees nothing is NaN. "
     "There is at least one row of k, with at least one element. Scores and sums are those of the "
     "dtype that the operands compute in, and the result is rounded to theirs once."},
    {OpClass::view, "Views",
     "The elements of the operand under another shape. `reshape` keeps their number; `transpose` "
     "permutes the axes; `slice` takes one start, step (not 0) and extent per axis, none of which "
     "may leave the operand."},
    {OpClass::whole, "Whole arrays",
     "Arrays of their own, each made by one step of the Plan. On simulated targets `iota`, `scan`, "
     "`fold`, `fold_where`, `argmax`, `argmin`, `gather` and `take_along` are Programs, which the "
     "cores run; the host makes the others. `update`, `scatter` and `put_along` write in place "
     "where nothing else needs the operand. Of the two latter `c` may have size 1 along an axis in "
     "place of equal elements, and f is the op that `with` names, if any. An index out of range, "
     "or a mask of which another number is true than `size`, gives the call up."},
    {OpClass::opaque, "Opaque",
     "A call of a host function named by `callee`. Types are declared, and checked against what "
     "a `call` gives; symbols in them that no input binds are bound by these results. Of further "
     "results, as many as `results` says with the first, each is a node with its `index`. A "
     "`call_into` writes arrays that the Plan allocates: it has a node for each. Besides arrays a "
     "function is given `sizes`, and as `numbers` that many of its last operands, which are "
     "scalars. With `fresh = 1` a `call` makes new arrays that it does not keep, and does no more "
     "than read those it is given. A `loop` and a `branch` run bodies, which are Graphs written "
     "behind them. The body of a loop is given the number of the trip, carried values, others, and "
     "`sizes` as numbers; it gives the next carried values. There are `count` trips, or as many as "
     "it takes until a `leave`, which ends the loop before what stands behind it. Objects and "
     "functions are those of a module (graphs.md): the body of a `match` is given the fields of "
     "the "
     "object, then the other operands, then `sizes`; a function that is a value, a `closure`, has "
     "its first arguments with it."},
}};

constexpr std::array<std::pair<uint32_t, std::string_view>, 27> kAttributes = {{
    {attr::value, "value"},
    {attr::size, "size"},
    {attr::dtype, "dtype"},
    {attr::shape, "shape"},
    {attr::axes, "axes"},
    {attr::starts, "starts"},
    {attr::steps, "steps"},
    {attr::callee, "callee"},
    {attr::with, "with"},
    {attr::values, "values"},
    {attr::name, "name"},
    {attr::results, "results"},
    {attr::sizes, "sizes"},
    {attr::numbers, "numbers"},
    {attr::index, "index"},
    {attr::scale, "scale"},
    {attr::fill, "fill"},
    {attr::causal, "causal"},
    {attr::precision, "precision"},
    {attr::count, "count"},
    {attr::bodies, "bodies"},
    {attr::fresh, "fresh"},
    {attr::tag, "tag"},
    {attr::cases, "case"},
    {attr::window, "window"},
    {attr::dilations, "dilations"},
    {attr::padding, "padding"},
}};

std::string attribute_names(uint32_t keys) {
  std::string text;
  for (const auto& [key, name] : kAttributes) {
    if (keys & key) text += (text.empty() ? "`" : ", `") + std::string(name) + "`";
  }
  return text;
}

std::string_view dtype_rule(Op op) {
  if (const ElementwiseInfo* row = elementwise_info(op)) return to_string(row->operands);
  if (is_comparison(op)) return "any -> bool";
  if (op == Op::dim || op == Op::iota) return "all but bool";
  if (op == Op::argmax || op == Op::argmin) return "any -> i64";
  if (op == Op::gather || op == Op::take_along) return "any, i64";
  if (op == Op::attention) return "floats; the mask also bool";
  if (op == Op::compress) return "any, bool";
  if (op == Op::nonzero) return "bool -> i64";
  if (op == Op::scatter || op == Op::put_along) return "any, i64, any";
  if (op == Op::matmul || op == Op::convolve) return "floats, i8, i32, i64, u64";
  if (op_class(op) == OpClass::reduce) return to_string(reduce_info(op).dtypes);
  return "any";
}

// A '|' would end the cell of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

std::string ops_markdown() {
  std::string text =
      "# Operations of the Graph\n\n"
      "Rendered from `core/ops/ops.def`, `core/ops/elementwise.def`, `core/ops/compare.def` and "
      "`core/ops/dtypes.def`; do not edit.\n\n"
      "## Element types\n\n| dtype | bytes | computes in |\n|---|---|---|\n";
  for (const DTypeInfo& dtype : kDTypes) {
    text += "| `" + std::string(dtype.text) + "` | " + std::to_string(dtype.bytes) + " | `" +
            std::string(to_string(dtype.computes_in)) + "` |\n";
  }
  for (const ClassText& section : kClasses) {
    text += "\n## " + std::string(section.title) + "\n\n" + std::string(section.rule) +
            "\n\n| op | operands | dtypes | attributes | NumPy | meaning "
            "|\n|---|---|---|---|---|---|\n";
    for (size_t i = 0; i < all_ops().size(); ++i) {
      const OpInfo& op = all_ops()[i];
      if (op.op_class != section.op_class) continue;
      const ElementwiseInfo* row = elementwise_info(static_cast<Op>(i));
      text += "| `" + std::string(op.name) + "` | " +
              (op.arity < 0 ? "any" : std::to_string(op.arity)) + " | " +
              std::string(dtype_rule(static_cast<Op>(i))) + " | " + attribute_names(op.attrs) +
              " | " + (row && !row->numpy.empty() ? "`" + std::string(row->numpy) + "`" : "") +
              " | " + cell(op.synopsis) + " |\n";
    }
  }
  return text;
}

}  // namespace dvm::core
