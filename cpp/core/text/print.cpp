// Graph -> text; the grammar is in parse.cpp. Attributes are written in the order of attr::Key.
#include <set>

#include "core/graph/bodies.h"
#include "core/graph/graph.h"
#include "core/graph/infer.h"
#include "core/text/elements.h"
#include "core/text/text_lexer.h"

namespace dvm::core {

namespace {

std::string value_text(Value v) { return "%" + std::to_string(v); }

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += ", ";
    text += part;
  }
  return text;
}

template <typename T>
std::string bracketed(const std::vector<T>& numbers) {
  std::vector<std::string> parts;
  for (const T number : numbers) parts.push_back(std::to_string(number));
  return "[" + join(parts) + "]";
}

std::string attributes(const Node& node) {
  const uint32_t keys = info(node.op).attrs;
  const Attrs& a = node.attrs;
  std::vector<std::string> parts;
  if (keys & attr::value) parts.push_back("value = " + number_text(node.type.dtype, a.value));
  if ((keys & attr::size) && a.size) parts.push_back("size = " + to_string(a.size));
  if (keys & attr::axes) parts.push_back("axes = " + bracketed(a.axes));
  if (keys & attr::starts) parts.push_back("starts = " + to_string(a.starts));
  if (keys & attr::steps) parts.push_back("steps = " + bracketed(a.steps));
  if (keys & attr::window) parts.push_back("window = " + bracketed(a.window));
  if (keys & attr::padding) parts.push_back("padding = " + bracketed(a.padding));
  if (keys & attr::dilations) parts.push_back("dilations = " + bracketed(a.dilations));
  if (keys & attr::callee) parts.push_back("callee = " + quote(a.callee));
  if ((keys & attr::with) && !a.with.empty()) parts.push_back("with = " + quote(a.with));
  if ((keys & attr::values) && a.name.empty())
    parts.push_back("values = " + elements_text(*a.values));
  if ((keys & attr::name) && !a.name.empty()) parts.push_back("name = " + quote(a.name));
  if ((keys & attr::results) && a.results != 1)
    parts.push_back("results = " + std::to_string(a.results));
  if (!a.sizes.empty()) parts.push_back("sizes = " + to_string(a.sizes));
  if (a.numbers != 0) parts.push_back("numbers = " + std::to_string(a.numbers));
  if (keys & attr::index) parts.push_back("index = " + std::to_string(a.index));
  const auto real = [](Scalar x) { return number_text(DType::f64, x); };
  if (a.scale != Attrs().scale) parts.push_back("scale = " + real(a.scale));
  if (a.fill != Attrs().fill) parts.push_back("fill = " + real(a.fill));
  if (a.causal) parts.push_back("causal = " + to_string(a.causal));
  if (a.precision != Precision::highest)
    parts.push_back("precision = " + std::string(to_string(a.precision)));
  if (a.count) parts.push_back("count = " + to_string(a.count));
  if (a.fresh) parts.push_back("fresh = 1");
  if (keys & attr::tag) parts.push_back("tag = " + quote(a.tag));
  return parts.empty() ? "" : " {" + join(parts) + "}";
}

std::string values(const std::vector<Value>& list) {
  std::vector<std::string> parts;
  for (const Value v : list) parts.push_back(value_text(v));
  return join(parts);
}

// A Region shares the context of its program: symbols it does not use are none of its business.
void collect_symbols(const Graph& graph, std::set<int>& symbols) {
  for (const int symbol : used_symbols(graph)) symbols.insert(symbol);
  for (const Node& node : graph.nodes()) {
    for (const Body& body : node.attrs.bodies) collect_symbols(*body, symbols);
  }
}

std::string nodes(const Graph& graph, const std::string& indent) {
  std::string text;
  for (Value v = 0; v < graph.size(); ++v) {
    const Node& node = graph.node(v);
    text += indent + value_text(v) + " = ";
    text += info(node.op).name;
    if (!node.inputs.empty()) text += "(" + values(node.inputs) + ")";
    text += " " + to_string(node.type);
    text += attributes(node);
    if (node.loc) text += " @ " + quote(*node.loc.file) + ":" + std::to_string(node.loc.line);
    const std::span<const std::string_view> words = body_words(node.op);
    for (size_t k = 0; k < node.attrs.bodies.size(); ++k) {
      text +=
          " " + (words.empty() ? "case " + node.attrs.cases[k] : std::string(words[k])) + " {\n";
      text += nodes(*node.attrs.bodies[k], indent + "  ");
      text += indent + "}";
    }
    text += '\n';
  }
  return text + indent + "return" + (graph.outputs.empty() ? "" : " " + values(graph.outputs)) +
         "\n";
}

}  // namespace

std::string print(const Graph& graph) {
  std::string text = "graph v1 {\n";
  std::set<int> symbols;
  collect_symbols(graph, symbols);
  for (const int index : symbols) {
    const Symbol& symbol = graph.dims().symbol_info(index);
    if (symbol.lo == Symbol().lo && symbol.hi == Symbol().hi) continue;
    text += "  symbol " + symbol.name + " in [" + std::to_string(symbol.lo) + ", " +
            std::to_string(symbol.hi) + "]\n";
  }
  return text + nodes(graph, "  ") + "}\n";
}

}  // namespace dvm::core
