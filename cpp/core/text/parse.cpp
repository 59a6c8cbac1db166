// Text -> Graph, the inverse of print.cpp.
//   graph     := 'graph' 'v1' '{' {symbol} {node} 'return' [value {',' value}] '}'
//   symbol    := 'symbol' name 'in' '[' integer ',' integer ']'
//   node      := value '=' op ['(' [value {',' value}] ')'] type
//                ['{' attribute {',' attribute} '}'] ['@' string ':' integer] {word body}
//   type      := dtype '[' [dim {',' dim}] ']' | name of a data type
//   body      := '{' {node} 'return' [value {',' value}] '}'     numbered from 0 again
//   word      := 'do' of a loop, 'then' and 'else' of a branch, 'case' name of a match
//   value     := '%' integer             values are numbered from 0 in order
//   attribute := key '=' (number | dim | '[' ... ']' | string), the keys of the op, each once
// Elements of a tensor constant are numbers in brackets (core/text/elements.h).
#include <limits>

#include "core/dims/dim_node.h"
#include "core/graph/bodies.h"
#include "core/graph/graph.h"
#include "core/text/elements.h"
#include "core/text/read_graph.h"
#include "core/text/text_lexer.h"
#include "core/text/unknown.h"

namespace dvm::core {

namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();

class GraphParser {
 public:
  explicit GraphParser(TextLexer& lexer) : lexer_(lexer) {}

  Graph run() {
    lexer_.expect_word("graph");
    if (const auto version = lexer_.word("a version"); version != "v1")
      fail(ErrorCode::text_version, "graph version '" + std::string(version) + "', expected 'v1'");
    lexer_.expect("{");
    while (lexer_.take_word("symbol")) symbol();
    nodes_of(graph_);
    return std::move(graph_);
  }

 private:
  void symbol() {
    const std::string name(lexer_.word("the name of a symbol"));
    if (!is_symbol_name(name)) lexer_.error("'" + name + "' is not a name for a symbol");
    lexer_.expect_word("in");
    lexer_.expect("[");
    const int64_t lo = lexer_.integer(-kDimMax, kDimMax);
    lexer_.expect(",");
    const int64_t hi = lexer_.integer(lo, kDimMax);
    lexer_.expect("]");
    if (graph_.dims().find_symbol(name)) lexer_.error("symbol '" + name + "' is declared twice");
    graph_.dims().symbol(name, lo, hi);
  }

  Value value() {
    lexer_.expect("%");
    return static_cast<Value>(lexer_.integer(0, kMaxInt));
  }

  void nodes_of(Graph& graph) {
    while (lexer_.next_is("%")) graph.append(node(graph.size()));
    lexer_.expect_word("return");
    if (lexer_.next_is("%")) {
      do {
        graph.outputs.push_back(value());
      } while (lexer_.take(","));
    }
    lexer_.expect("}");
  }

  Body body(std::string_view word) {
    lexer_.expect_word(word);
    return body();
  }
  Body body() {
    lexer_.expect("{");
    if (++depth_ > kMostDepth) lexer_.error("bodies within bodies are too many");
    auto body = std::make_shared<Graph>(graph_.shared_dims());
    nodes_of(*body);
    --depth_;
    return body;
  }

  Node node(Value next) {
    Node node;
    // Numbers are redundant; insisting on them keeps edited text honest about what refers to what.
    if (value() != next) lexer_.error("expected value %" + std::to_string(next) + " next");
    lexer_.expect("=");
    const std::string_view name = lexer_.word("an op");
    const std::optional<Op> op = op_from_text(name);
    if (!op) {
      std::vector<std::string> ops;
      for (const OpInfo& known : all_ops()) ops.emplace_back(known.name);
      lexer_.error(unknown("op", name, ops));
    }
    node.op = *op;
    if (lexer_.next_is("(")) lexer_.list("(", ")", [&] { node.inputs.push_back(value()); });
    node.type = type();
    attributes(node);
    if (lexer_.take("@")) {
      const std::string file = lexer_.quoted();
      lexer_.expect(":");
      node.loc = make_loc(file, static_cast<int>(lexer_.integer(-kMaxInt, kMaxInt)));
    }
    for (const std::string_view word : body_words(node.op)) node.attrs.bodies.push_back(body(word));
    while (node.op == Op::match && lexer_.take_word("case")) {
      node.attrs.cases.emplace_back(lexer_.word("the name of a constructor"));
      node.attrs.bodies.push_back(body());
    }
    return node;
  }

  Type type() {
    const std::string_view name = lexer_.word("a dtype");
    if (!lexer_.next_is("[") && !dtype_from_text(name)) return object_type(std::string(name));
    Type type;
    type.dtype = read_dtype(lexer_, name);
    type.shape = dims();
    return type;
  }

  std::vector<Dim> dims() {
    std::vector<Dim> dims;
    lexer_.list("[", "]", [&] { dims.push_back(lexer_.dim(graph_.dims())); });
    return dims;
  }

  template <typename T>
  std::vector<T> integers() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> values;
    lexer_.list("[", "]", [&] {
      values.push_back(static_cast<T>(lexer_.integer(Limits::min(), Limits::max())));
    });
    return values;
  }

  void attributes(Node& node) {
    // dtype and shape were read as the node's type; bodies follow.
    uint32_t missing =
        info(node.op).attrs & ~(attr::dtype | attr::shape | attr::bodies | attr::cases);
    const uint32_t optional = optional_attrs(node.op);
    if (missing == 0 || (missing == optional && !lexer_.next_is("{"))) return;
    lexer_.list("{", "}", [&] {
      const std::string_view name = lexer_.word("an attribute");
      const uint32_t key = read(name, missing, node);
      if (key == 0) lexer_.error("attribute '" + std::string(name) + "' is not expected here");
      missing &= ~key;
    });
    if ((missing & ~optional) != 0)
      lexer_.error("an attribute of '" + std::string(info(node.op).name) + "' is missing");
  }

  // Reads the attribute of that name if it is one of `keys`; its key, or 0.
  uint32_t read(std::string_view name, uint32_t keys, Node& node) {
    Attrs& a = node.attrs;
    const auto is = [&](attr::Key key, std::string_view text) {
      const bool found = (keys & key) && name == text;
      if (found) lexer_.expect("=");
      return found;
    };
    if (is(attr::value, "value"))
      return a.value = read_number(lexer_, node.type.dtype), attr::value;
    if (is(attr::size, "size")) return a.size = lexer_.dim(graph_.dims()), attr::size;
    if (is(attr::axes, "axes")) return a.axes = integers<int>(), attr::axes;
    if (is(attr::starts, "starts")) return a.starts = dims(), attr::starts;
    if (is(attr::steps, "steps")) return a.steps = integers<int64_t>(), attr::steps;
    if (is(attr::padding, "padding")) return a.padding = integers<int64_t>(), attr::padding;
    if (is(attr::window, "window")) return a.window = integers<int64_t>(), attr::window;
    if (is(attr::dilations, "dilations")) return a.dilations = integers<int64_t>(), attr::dilations;
    if (is(attr::callee, "callee")) return a.callee = lexer_.quoted(), attr::callee;
    if (is(attr::with, "with")) return a.with = lexer_.quoted(), attr::with;
    if (is(attr::values, "values")) return a.values = elements(node.type), attr::values;
    if (is(attr::name, "name")) return a.name = lexer_.quoted(), attr::name;
    if (is(attr::results, "results")) return a.results = small(), attr::results;
    if (is(attr::sizes, "sizes")) return a.sizes = dims(), attr::sizes;
    if (is(attr::numbers, "numbers")) return a.numbers = small(), attr::numbers;
    if (is(attr::index, "index")) return a.index = small(), attr::index;
    if (is(attr::scale, "scale")) return a.scale = read_number(lexer_, DType::f64), attr::scale;
    if (is(attr::fill, "fill")) return a.fill = read_number(lexer_, DType::f64), attr::fill;
    if (is(attr::count, "count")) return a.count = lexer_.dim(graph_.dims()), attr::count;
    if (is(attr::causal, "causal")) return a.causal = lexer_.dim(graph_.dims()), attr::causal;
    if (is(attr::precision, "precision")) return a.precision = precision(), attr::precision;
    if (is(attr::tag, "tag")) return a.tag = lexer_.quoted(), attr::tag;
    if (is(attr::fresh, "fresh")) return a.fresh = lexer_.integer(0, 1) == 1, attr::fresh;
    return 0;
  }

  Precision precision() {
    const std::string name(lexer_.word("a precision"));
    const auto found = precision_from_text(name);
    if (!found) lexer_.error("'" + name + "' is no precision");
    return *found;
  }

  int small() { return static_cast<int>(lexer_.integer(0, kMaxInt)); }

  Tensor elements(const Type& type) {
    std::vector<int64_t> shape;
    for (const Dim dim : type.shape) {
      if (!dim.as_constant()) lexer_.error("values need a static shape");
      shape.push_back(*dim.as_constant());
    }
    return read_elements(lexer_, type.dtype, std::move(shape));
  }

  static constexpr int kMostDepth = 32;
  TextLexer& lexer_;
  Graph graph_;
  int depth_ = 0;
};

}  // namespace

DType read_dtype(TextLexer& lexer, std::string_view name) {
  const std::optional<DType> dtype = dtype_from_text(name);
  if (!dtype) {
    std::vector<std::string> dtypes;
    for (int d = 0; d < kDTypeCount; ++d) dtypes.emplace_back(to_string(static_cast<DType>(d)));
    lexer.error(unknown("dtype", name, dtypes));
  }
  return *dtype;
}

Graph read_graph(TextLexer& lexer) { return GraphParser(lexer).run(); }

Graph parse_graph(std::string_view text) {
  TextLexer lexer("graph", text);
  Graph graph = read_graph(lexer);
  if (!lexer.at_end()) lexer.unexpected("the end of the text");
  // Operands may have been given in any number: the grammar cannot tell, the verifier does.
  verify(graph);
  return graph;
}

}  // namespace dvm::core
