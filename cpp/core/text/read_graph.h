// Parts of the grammar of Graphs and Modules, within another text.
#pragma once

#include "core/graph/module.h"
#include "core/text/text_lexer.h"

namespace dvm::core {

// Reads `graph v1 { .. }` from where the lexer stands. What it reads is not verified.
Graph read_graph(TextLexer& lexer);
DType read_dtype(TextLexer& lexer, std::string_view name);  // of that name, or an error
// Grammar: core/text/module_text.cpp. The word `data` or `closure` has been read.
DataType read_data(TextLexer& lexer);
ValueKind read_kind(TextLexer& lexer);
std::string to_string(const DataType& type);

}  // namespace dvm::core
