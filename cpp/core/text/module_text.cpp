// Module <-> text.
//   module      := 'module' 'v1' '{' {data | closure} {function} graph '}'
//   data        := 'data' name ['=' constructor {'|' constructor}]
//   constructor := name ['(' field {',' field} ')']
//   field       := name ':' kind
//   closure     := 'closure' name '=' kinds '->' kinds
//   kinds       := '(' [kind {',' kind}] ')'
//   kind        := dtype '[' ['?' {',' '?'}] ']' | name of a data type
//   function    := 'function' name '=' graph                 graph: core/text/parse.cpp
#include "core/graph/module.h"
#include "core/text/read_graph.h"
#include "core/text/text_lexer.h"

namespace dvm::core {

namespace {

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : lexer_("module", text) {}

  Module run() {
    lexer_.expect_word("module");
    if (const auto version = lexer_.word("a version"); version != "v1")
      fail(ErrorCode::text_version, "module version '" + std::string(version) + "', expected 'v1'");
    lexer_.expect("{");
    for (;;) {
      if (lexer_.take_word("data")) {
        module_.types.push_back(read_data(lexer_));
      } else if (lexer_.take_word("closure")) {
        closure();
      } else {
        break;
      }
    }
    while (lexer_.take_word("function")) {
      std::string name(lexer_.word("the name of a function"));
      lexer_.expect("=");
      module_.functions.push_back({std::move(name), read_graph(lexer_)});
    }
    module_.main = read_graph(lexer_);
    lexer_.expect("}");
    if (!lexer_.at_end()) lexer_.unexpected("the end of the text");
    verify(module_);
    return std::move(module_);
  }

 private:
  void closure() {
    DataType type{.name = std::string(lexer_.word("the name of a data type")), .is_function = true};
    lexer_.expect("=");
    lexer_.list("(", ")", [&] { type.takes.push_back(read_kind(lexer_)); });
    lexer_.expect("->");
    lexer_.list("(", ")", [&] { type.gives.push_back(read_kind(lexer_)); });
    module_.types.push_back(std::move(type));
  }

  TextLexer lexer_;
  Module module_;
};

std::string kinds_text(const std::vector<ValueKind>& kinds) {
  std::string text = "(";
  for (const ValueKind& kind : kinds) text += (text.size() > 1 ? ", " : "") + to_string(kind);
  return text + ")";
}

// The Graph's text two columns in.
std::string within(const Graph& graph) {
  std::string text;
  for (const char letter : print(graph)) {
    text += letter;
    if (letter == '\n') text += "  ";
  }
  text.resize(text.size() - 2);
  return text;
}

}  // namespace

ValueKind read_kind(TextLexer& lexer) {
  const std::string_view name = lexer.word("a dtype or data type");
  if (!lexer.next_is("[")) return {.data = std::string(name)};
  ValueKind kind{.dtype = read_dtype(lexer, name)};
  lexer.list("[", "]", [&] {
    lexer.expect("?");
    ++kind.rank;
  });
  return kind;
}

DataType read_data(TextLexer& lexer) {
  DataType type{.name = std::string(lexer.word("the name of a data type"))};
  for (bool more = lexer.take("="); more; more = lexer.take("|")) {
    Constructor made{.name = std::string(lexer.word("the name of a constructor"))};
    if (lexer.next_is("(")) {
      lexer.list("(", ")", [&] {
        made.fields.emplace_back(lexer.word("the name of a field"));
        lexer.expect(":");
        made.kinds.push_back(read_kind(lexer));
      });
    }
    type.constructors.push_back(std::move(made));
  }
  return type;
}

std::string to_string(const DataType& type) {
  if (type.is_function) {
    return "closure " + type.name + " = " + kinds_text(type.takes) + " -> " +
           kinds_text(type.gives);
  }
  std::string text = "data " + type.name;
  for (size_t k = 0; k < type.constructors.size(); ++k) {
    const Constructor& made = type.constructors[k];
    text += (k ? " | " : " = ") + made.name;
    for (size_t i = 0; i < made.fields.size(); ++i) {
      text += (i ? ", " : "(") + made.fields[i] + ": " + to_string(made.kinds[i]);
    }
    if (!made.fields.empty()) text += ")";
  }
  return text;
}

std::string print(const Module& module) {
  if (module.is_graph()) return print(module.main);
  std::string text = "module v1 {\n";
  for (const DataType& type : module.types) text += "  " + to_string(type) + "\n";
  for (const Function& function : module.functions) {
    text += "  function " + function.name + " = " + within(function.graph);
  }
  return text + "  " + within(module.main) + "}\n";
}

Module parse_module(std::string_view text) {
  const bool is_module = TextLexer("module", text).take_word("module");
  return is_module ? ModuleParser(text).run() : Module(parse_graph(text));
}

}  // namespace dvm::core
