// The Graph: SSA nodes over tensors whose sizes are Dims. A node defines exactly one Value, named
// by its index; nodes only refer to earlier ones, so the node list is a topological order.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dims/dim.h"
#include "core/error.h"
#include "core/graph/tensor.h"
#include "core/ops/dtype.h"
#include "core/ops/precision.h"

namespace dvm::core {

inline constexpr int kMaxRank = 8;
inline constexpr int kMaxResults = 64;        // of a call
inline constexpr int kMaxWindowRank = 3;      // axes of the windows of a convolution
inline constexpr int64_t kMaxWritten = 1024;  // elements of a tensor constant without a name

enum class Op : uint8_t {
#define DVM_OP(name, ...) name,
#include "core/ops/ops.def"
#undef DVM_OP
};

enum class OpClass : uint8_t {
  source,
  elementwise,
  broadcast,
  reduce,
  matrix,
  view,
  whole,
  opaque
};

// Attributes as bits, so that a row of ops.def can name the set it needs.
namespace attr {
enum Key : uint32_t {
  none = 0,
  value = 1 << 0,       // Scalar, read by the node's dtype
  size = 1 << 1,        // Dim
  dtype = 1 << 2,       // the node's own type.dtype
  shape = 1 << 3,       // the node's own type.shape
  axes = 1 << 4,        // vector<int>
  starts = 1 << 5,      // vector<Dim>
  steps = 1 << 6,       // vector<int64_t>
  callee = 1 << 7,      // string
  with = 1 << 8,        // string: the op that scans and folds combine elements with
  values = 1 << 9,      // elements of the node's dtype and shape
  name = 1 << 10,       // string: what the host knows the elements by
  results = 1 << 11,    // int: of a call, its own value among them
  sizes = 1 << 12,      // vector<Dim>: given to a call besides its operands
  numbers = 1 << 13,    // int: so many of the last operands are given to a call as numbers
  index = 1 << 14,      // int: which result of a call
  scale = 1 << 15,      // Scalar, an f64: what scores of an attention are multiplied by
  fill = 1 << 16,       // Scalar, an f64: a score where a mask of bools is false
  causal = 1 << 17,     // Dim: row i of q sees rows of k up to i + causal
  precision = 1 << 18,  // of the factors of a product of f32
  count = 1 << 19,      // Dim: how many trips a loop makes
  bodies = 1 << 20,     // Graphs that the node runs
  fresh = 1 << 21,      // bool: of a call, its results are new arrays
  tag = 1 << 22,        // string: the constructor of an object
  cases = 1 << 23,      // strings: the constructors that bodies are for
  window = 1 << 24,     // vector<int64_t>: of a convolution, elements along each axis
  dilations = 1 << 25,  // vector<int64_t>: from one element of a window to the next
  padding = 1 << 26,    // vector<int64_t>: zeros before each axis, then those behind each
};
}

enum class Raises : uint8_t { never, floats, any };

struct OpInfo {
  std::string_view name, synopsis;
  int arity;  // -1: any number
  OpClass op_class;
  Raises raises;
  uint32_t attrs;  // bits of attr::Key
};
const OpInfo& info(Op op);
// Those of info(op).attrs that a node may lack.
constexpr uint32_t optional_attrs(Op op) {
  if (op == Op::tensor) return attr::values | attr::name;
  if (op == Op::scatter || op == Op::put_along) return attr::with;
  if (op == Op::call) return attr::results | attr::sizes | attr::numbers | attr::fresh;
  if (op == Op::call_into) return attr::results | attr::sizes | attr::numbers;
  if (op == Op::attention) return attr::scale | attr::fill | attr::causal;
  if (op == Op::matmul) return attr::precision;
  if (op == Op::loop) return attr::results | attr::sizes | attr::size | attr::count;
  if (op == Op::branch || op == Op::match || op == Op::invoke) return attr::results | attr::sizes;
  if (op == Op::apply) return attr::results;
  return op == Op::scalar ? attr::size : attr::none;
}
std::span<const OpInfo> all_ops();
std::optional<Op> op_from_text(std::string_view name);
inline OpClass op_class(Op op) { return info(op).op_class; }
// Whether it can raise an IEEE status flag where it computes results of that dtype.
bool may_raise(Op op, DType result);

// A value of rank 0 that is known without memory: a literal, a Python number or a size.
inline bool is_number(Op op) { return op == Op::constant || op == Op::scalar || op == Op::dim; }
inline bool has_bodies(Op op) { return op == Op::loop || op == Op::branch || op == Op::match; }
// Functions of the module (core/graph/module.h), by name or as values.
inline bool is_invocation(Op op) { return op == Op::invoke || op == Op::apply; }
// Objects of data types.
inline bool makes_object(Op op) { return op == Op::construct || op == Op::closure; }
// Steps that are given whole arrays and objects, and may have several results: functions of the
// host and of the module, bodies, and what makes objects.
inline bool is_call(Op op) {
  return op == Op::call || op == Op::call_into || has_bodies(op) || is_invocation(op) ||
         makes_object(op);
}
// Whether the value is the first operand with some of its elements replaced: it takes that memory
// over where nothing else needs it.
inline bool replaces_elements(Op op) {
  return op == Op::update || op == Op::scatter || op == Op::put_along;
}
// Whether the value lies in memory that comes from outside of the graph.
inline bool is_foreign(Op op) {
  return op == Op::input || op == Op::tensor || op_class(op) == OpClass::opaque;
}

using Shape = std::vector<Dim>;
struct Type {
  DType dtype = DType::f32;
  Shape shape;
  std::string data = {};  // the name of a data type: of an object, which is no tensor
  bool is_object() const { return !data.empty(); }
  int rank() const { return static_cast<int>(shape.size()); }
  bool operator==(const Type&) const = default;
};

inline Type object_type(std::string data) { return {DType::boolean, {}, std::move(data)}; }

using Value = int32_t;  // index of the node that defines it

class Graph;
using Body = std::shared_ptr<const Graph>;

// dtype and shape attributes are the node's type itself: stored once.
struct Attrs {
  Scalar value;
  Dim size;
  std::vector<int> axes;
  std::vector<Dim> starts;
  std::vector<int64_t> steps, window, dilations, padding;
  std::string callee;
  std::string with;
  std::string name;
  Tensor values;  // of a tensor constant with a name: once they are supplied
  int results = 1, index = 0;
  std::vector<Dim> sizes;
  int numbers = 0;
  Scalar scale = Scalar::of_float(1);
  Scalar fill = Scalar::of_float(-std::numeric_limits<double>::infinity());
  Dim causal;
  Precision precision = Precision::highest;
  Dim count;
  std::vector<Body> bodies;  // closed: what they need of outside is among their arguments
  std::string tag;
  std::vector<std::string> cases;  // one for each body of a match
  bool fresh = false;
  bool operator==(const Attrs&) const = default;
};

struct Node {
  Op op = Op::input;
  std::vector<Value> inputs;
  Attrs attrs;
  Type type;
  Loc loc;
};

// The operands that are arrays, and those that a call is given as numbers.
inline std::span<const Value> arrays_of(const Node& node) {
  return std::span(node.inputs).first(node.inputs.size() - static_cast<size_t>(node.attrs.numbers));
}
inline std::span<const Value> numbers_of(const Node& node) {
  return std::span(node.inputs).last(static_cast<size_t>(node.attrs.numbers));
}

// What a host function gives and is given besides arrays.
struct CallForm {
  bool into = false;  // it writes arrays of known types rather than making its results
  int results = 1;
  std::vector<Dim> sizes = {};
  int numbers = 0;  // the last operands, of op `scalar`
  // It makes new arrays that it does not keep, and does no more than read its operands: the Plan
  // goes on with both as with memory of its own.
  bool fresh = false;
};

// How an attention weighs what it reads.
struct AttentionForm {
  double scale = 1, fill = -std::numeric_limits<double>::infinity();
  Dim causal = {};  // none: every row of q sees all rows of k
};

// The windows of a convolution: numbers for each axis that they move along, at most kMaxWindowRank;
// zeros before each of these axes, and then those behind each.
struct WindowForm {
  std::vector<int64_t> window, steps, dilations, padding;
};

// What a loop is given and tells besides its operands. Its body's arguments are the number of the
// trip, the carried values, the values used besides, and the sizes; its outputs the next carried
// values.
struct LoopForm {
  Dim count = {};               // none: the loop goes on until a `leave`
  Dim trips = {};               // a symbol that the number of trips made defines
  std::vector<Dim> sizes = {};  // given as numbers
};

// Inputs are the nodes with op `input` (tensors) and `scalar` (Python numbers), in node order.
class Graph {
 public:
  Graph() : Graph(DimContext::create()) {}
  explicit Graph(std::shared_ptr<DimContext> dims) : dims_(std::move(dims)) {}

  DimContext& dims() const { return *dims_; }
  const std::shared_ptr<DimContext>& shared_dims() const { return dims_; }

  // The builder: infers the type (core/graph/infer.cpp) and throws GraphError / DtypeError /
  // ShapeError with the node's location when the op's rules are broken.
  Value input(Type type, Loc loc = {});
  Value scalar(DType dtype, Loc loc = {}, Dim defines = {});
  Value constant(DType dtype, Scalar value, Loc loc = {});  // a float is rounded to dtype
  Value dim_value(DType dtype, Dim size, Loc loc = {});
  // A tensor constant. One with a name is the host's: its text is that name, and its elements may
  // come later (supply()) and change between calls. Others have few elements.
  Value tensor(Tensor values, std::string name = {}, Loc loc = {});
  Value tensor(Type type, std::string name, Loc loc = {});
  Value elementwise(Op op, std::span<const Value> inputs, Loc loc = {});
  Value cast(Value a, DType dtype, Loc loc = {});
  Value broadcast(Value a, Shape shape, Loc loc = {});
  Value reduce(Op op, Value a, std::vector<int> axes, Loc loc = {});  // keeps the axes as size 1
  // Of operands of one rank, and of one shape but for the last two axes.
  Value matmul(Value a, Value b, DType dtype, Loc loc = {});
  // Of windows of x[.., c, sizes..] and weights w[.., m, c * elements of a window]: sums
  // [.., m, positions..]. Leading axes are the same.
  Value convolve(Value weights, Value x, DType dtype, const WindowForm& form, Loc loc = {});
  // Operands q, k, v, and maybe a mask.
  Value attention(std::span<const Value> inputs, const AttentionForm& form = {}, Loc loc = {});
  Value reshape(Value a, Shape shape, Loc loc = {});
  Value transpose(Value a, std::vector<int> axes, Loc loc = {});
  Value slice(Value a, std::vector<Dim> starts, std::vector<int64_t> steps, Shape shape,
              Loc loc = {});
  Value empty(Type type, Loc loc = {});
  // a with the box of elements start + i * step replaced by `part`, which has the shape of the box.
  Value update(Value a, Value part, std::vector<Dim> starts, std::vector<int64_t> steps,
               Loc loc = {});
  Value iota(Type type, Loc loc = {});
  // The other ops of class whole: operands, and the one axis they work along.
  Value along(Op op, std::span<const Value> inputs, int axis, std::string with = {}, Loc loc = {});
  // What is true of a mask of rank 1: the elements of `a` there, and where it is. There are `size`
  // of them, or the call is given up.
  Value compress(Value a, Value mask, int axis, Dim size, Loc loc = {});
  Value nonzero(Value mask, Dim size, Loc loc = {});
  Value call(std::string callee, std::span<const Value> inputs, Type type, Loc loc = {},
             CallForm form = {});
  Value result(Value call, int index, Type type, Loc loc = {});  // not the first
  // The number of trips made; results from 1 on are what is carried in the end. Operands: the
  // initial values of that, then what is used.
  Value loop(Body body, std::span<const Value> inputs, LoopForm form = {}, Loc loc = {});
  // The first result of one of two bodies, both of which take the same operands and sizes.
  Value branch(Value condition, std::span<const Value> inputs, Type type, Body then, Body otherwise,
               std::vector<Dim> sizes = {}, Loc loc = {});
  // The first result of the body for the constructor that made the object: that takes the fields,
  // then the other operands, then the sizes.
  Value match(Value object, std::span<const Value> inputs, Type type, int results,
              std::vector<std::string> cases, std::vector<Body> bodies, std::vector<Dim> sizes = {},
              Loc loc = {});
  Value construct(std::string data, std::string tag, std::span<const Value> fields, Loc loc = {});
  // Functions of the module. One that is a value has its first arguments with it.
  Value invoke(std::string callee, std::span<const Value> inputs, Type type, int results = 1,
               std::vector<Dim> sizes = {}, Loc loc = {});
  Value closure(std::string data, std::string callee, std::span<const Value> held, Loc loc = {});
  Value apply(Value function, std::span<const Value> inputs, Type type, int results = 1,
              Loc loc = {});
  // In the body of a loop: ends it where the condition is true, with these carried values.
  Value leave(Value condition, std::span<const Value> carried, Loc loc = {});
  Value append(Node node);  // as given, unchecked: for parsers and rewriters, then verify()
  // The elements of a tensor constant that has a name. Throws where they are not of its type.
  void supply(Value v, Tensor values);
  // Says of the nodes from `first` on that have no line of the program yet: this one.
  void locate(Value first, Loc loc);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(Value v) const { return nodes_[static_cast<size_t>(v)]; }
  const Type& type(Value v) const { return node(v).type; }
  // Whether the value is a result of a call that makes new arrays.
  bool is_fresh(Value v) const {
    return node(node(v).op == Op::result ? node(v).inputs[0] : v).attrs.fresh;
  }
  int size() const { return static_cast<int>(nodes_.size()); }
  std::vector<Value> inputs() const;  // op input and op scalar, in order
  std::vector<Value> outputs;

 private:
  std::shared_ptr<DimContext> dims_;
  std::vector<Node> nodes_;
};

// Indices of the symbols that occur in sizes, starts, or the ops `dim` and `scalar`, ascending;
// those of bodies not among them.
std::vector<int> used_symbols(const Graph& graph);

// Part of a graph as a graph of its own, over the same DimContext.
struct Extraction {
  Graph graph;
  std::vector<Value> scalars;  // old values of its `scalar` nodes, in order
  std::vector<int> unbound;    // symbols it uses which neither inputs, scalars nor calls determine
};
// What `outputs` need of `graph`, where each of `inputs` is an op `input` of the new graph: these
// come first, in the order given, needed or not. Throws GraphError where an `input` is needed that
// is none of them.
Extraction extract(const Graph& graph, std::span<const Value> inputs,
                   std::span<const Value> outputs);

// Structural equality, Dims compared by their printed form (graphs have their own contexts).
bool equal(const Graph& a, const Graph& b);

// Throws GraphError naming the first broken rule. Objects and functions are a module's
// (core/graph/module.h): a Graph that stands alone has none.
void verify(const Graph& graph);

// Text form:
//   graph v1 {
//     %0 = input f32[s0, s1]
//     %1 = constant f32[] {value = 0x1p-1}
//     %2 = broadcast(%1) f32[s0, s1]
//     %3 = mul(%0, %2) f32[s0, s1] @ "model.py":3
//     return %3
//   }
// A call of several results has a node for each of the others, `result(%3) i64[s0] {index = 1}`.
// Tensor constants carry their elements, `tensor i64[2] {values = [1, -1]}`, or the name that they
// are supplied by when the graph is compiled, `tensor f32[512, 512] {name = "weight"}`.
// Symbols with facts on their range are declared first: `symbol s0 in [1, 64]`.
// Bodies are Graphs within, numbered from 0: `loop(%0) i64[] {results = 2, count = n} do { .. }`,
// `branch(%0, %1) f64[n] then { .. } else { .. }`, `match(%0) f64[n] case Leaf { .. } ..`.
std::string print(const Graph& graph);
Graph parse_graph(std::string_view text);  // throws FormatError; checks grammar, then verify()

}  // namespace dvm::core
