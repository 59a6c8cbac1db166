// Finds where a Graph has what a pattern says, from a root to what it is computed of, by trying
// each way and going back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/rewrite/pattern.h"
#include "core/rewrite/users.h"

namespace dvm::core {

struct Match {
  int pattern = 0;               // its index, where several are looked for
  std::vector<Value> roots;      // in the order of the pattern's
  std::vector<Value> variables;  // what they stand for, before broadcasts
  std::vector<Value> operands;   // of a root of kind any_operands
  std::vector<Value> inside;     // all nodes that it looks at, roots among them
};

// A part of a Graph that looks like the pattern up to here.
struct Miss {
  Value root = -1, at = -1;
  std::string rule, reason;  // as a Decision has them
  size_t nodes = 0;          // that were as they should
};

class Matcher {
 public:
  explicit Matcher(const Graph& graph);

  // At this root, the first of the pattern's. None: `miss` is told how near it came.
  std::optional<Match> match(const Pattern& pattern, Value root, Miss& miss);

  const Users& users() const { return users_; }
  // Whether they are the same value.
  bool same(Value a, Value b) const {
    return numbers_[static_cast<size_t>(a)] == numbers_[static_cast<size_t>(b)];
  }

 private:
  // What is still to be shown, the next first: of terms, or of these operands of one that
  // associates.
  struct Goal {
    int term;
    uint32_t subset;  // 0: the term itself
    Value value;
    const Goal* then;
  };
  bool solve(const Goal* goal);
  bool solve_variable(const Goal& goal);
  bool solve_number(const Goal& goal);
  bool solve_count(const Goal& goal);
  bool solve_node(const Goal& goal);
  bool solve_at(const Goal& goal, Value v);
  bool solve_operands(const Goal& goal, const Node& node);
  bool solve_chain(const Goal& goal, uint32_t subset, const Node& node);
  bool solve_join(const Goal& goal, Value v);
  void take_twin(Value known, Value twin);
  bool next_root();
  bool accept();

  const PatternTerm& term(int index) const { return pattern_->terms[static_cast<size_t>(index)]; }
  const Node& node(Value v) const { return graph_.node(v); }
  // What is looked through to the operand, or none.
  std::optional<Value> behind(Value v) const;
  std::optional<Value> constant(Value v) const;
  bool has_axes(const PatternTerm& term, const Node& node) const;
  bool is_part(const PatternTerm& term, const Node& slice) const;
  bool miss(Value at, const char* rule, const std::string& reason);

  const Graph& graph_;
  const Users users_;
  const std::vector<Value> numbers_;
  // Of the search that is going on.
  const Pattern* pattern_ = nullptr;
  Miss* miss_ = nullptr;
  Value root_ = -1;
  int steps_ = 0;
  std::vector<Value> found_;      // of each term, the node; -1: none yet
  std::vector<Value> variables_;  // -1: none yet
  std::vector<Value> inside_;
};

}  // namespace dvm::core
