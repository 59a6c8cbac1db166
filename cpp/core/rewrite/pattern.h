// What a part of a Graph has to look like: terms over variables. How values get their shapes is no
// matter of a pattern: broadcasts, casts to a wider dtype and reshapes that add or drop axes of
// size 1 are looked through (core/rewrite/shapes.h says where that would change the meaning).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace dvm::core {

// A term refers to earlier ones of its pattern only. One that is used twice is one value.
struct PatternTerm {
  enum class Kind : uint8_t {
    variable,      // any value, the same one wherever the variable stands
    any_number,    // a variable that is a constant
    number,        // a constant, rounded to the dtype at hand
    count,         // how many elements a reduction, its operand, makes each of its results of
    op,            // of these operands; where the op commutes, in any order
    any_operands,  // of the op, whatever its operands
    split,         // part `part` of `parts` equal ones along an axis
    join,          // its operands one behind the other along an axis, and nothing else
  };
  Kind kind = Kind::variable;
  Op op = Op::input;
  std::vector<int> operands = {};
  int variable = -1;
  double number = 0, tolerance = 0;  // relative; 0: the same element
  std::vector<int> axes = {};        // those from the end are negative; none: any
  int part = 0, parts = 0;
  // Of a chain, one bit for each operand: whether a sum subtracts it, or a product divides by it.
  uint32_t inverse = 0;
  bool is_negative = false;  // a product times -1
};

struct Pattern {
  std::vector<PatternTerm> terms;
  std::vector<int> roots;  // the terms whose values are replaced
  int variables = 0;
  // Whether chains match in whatever way they are put together (core/rewrite/chains.h). `terms` has
  // all operands of one as a list, and add and mul for differences, quotients and negatives.
  bool associates = false;
  // Whether what is within may be needed outside of a match, which sees to that itself then.
  bool may_be_needed = false;
};

}  // namespace dvm::core
