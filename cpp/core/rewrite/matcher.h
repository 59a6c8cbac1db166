// Finds where a Graph has what a pattern says, from a root to what it is computed of, by trying
// each way and going back: from a value to those it is computed of in matcher.cpp, of
// sums, products and the like in matcher_chains.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/rewrite/chains.h"
#include "core/rewrite/pattern.h"
#include "core/rewrite/users.h"

namespace dvm::core {

struct Match {
  int pattern = 0;               // its index, where several are looked for
  std::vector<Value> roots;      // in the order of the pattern's
  std::vector<Value> variables;  // what they stand for, before broadcasts
  std::vector<Value> operands;   // of a root of kind any_operands
  std::vector<Value> inside;     // all nodes that it looks at, roots among them
  // Of a part of a chain: its op (input of what is none), what the chain has beside the part, in
  // its order, and the shape of the part.
  Op head = Op::input;
  std::vector<ChainPart> rest = {};
  bool rest_is_negative = false;
  Shape part = {};
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
  // As a part of the chain that ends at this root, the pattern's only one. Chains are not taken
  // apart where `closed` says so of a node.
  std::optional<Match> match_part(const Pattern& pattern, Value root,
                                  const std::vector<char>& closed, Miss& miss);

  const Users& users() const { return users_; }
  // Whether they are the same value.
  bool same(Value a, Value b) const {
    return numbers_[static_cast<size_t>(a)] == numbers_[static_cast<size_t>(b)];
  }

 private:
  // What is still to be shown, the next first: of a term, or of the product or sum ... of some
  // operands of one that is a chain.
  struct Goal {
    int term;
    uint32_t subset;  // 0: the term itself
    Value value;      // kAmongBranches: of parts of the chain that is taken apart
    const Goal* then;
    Sign sign = {};  // the value is the term with this sign
    int times = 1;   // the operands are factors of so many values
  };
  static constexpr Value kAmongBranches = -1;
  void begin(const Pattern& pattern, Value root, Miss& miss);
  Match found() const;
  bool solve(const Goal* goal);
  bool solve_term(const Goal& goal);
  bool solve_variable(const Goal& goal);
  bool solve_number(const Goal& goal);
  bool solve_count(const Goal& goal);
  bool has_counts();
  bool solve_node(const Goal& goal) {
    return through_shapes(goal.value, [&](Value v) { return solve_at(goal, v); });
  }
  bool solve_at(const Goal& goal, Value v);
  bool solve_operands(const Goal& goal, const Node& node);
  void take_twin(Value known, Value twin);
  bool next_root();
  bool accept();

  // matcher_views.cpp
  bool solve_join(const Goal& goal, Value v);
  bool has_axes(const PatternTerm& term, const Node& node) const;
  bool is_part(const PatternTerm& term, const Node& slice) const;

  // matcher_chains.cpp
  bool solve_chain(const Goal& goal, Value v);
  bool solve_factors(const Goal& goal, const ChainPart& first, const ChainPart& second);
  bool solve_without_sign(const Goal& goal);
  bool is_chain(const PatternTerm& term) const {
    return pattern_->associates && associates(term.op) && term.kind == PatternTerm::Kind::op;
  }
  Sign sign_of_operand(const PatternTerm& term, uint32_t operand) const;

  // A chain that a part of is looked for in: a tree of what may be taken apart.
  struct Branch {
    ChainPart part;
    int parent = -1;
    std::vector<Value> looked_through = {};  // up to where others grow on it
    std::vector<int> grown = {};
    bool is_negative = false;  // but for what grows on it
    bool is_used = false;
  };
  bool goes_on(Op head, Value v, const std::vector<char>& closed) const;
  int grow(int parent, ChainPart part, const std::vector<char>& closed);
  std::vector<ChainPart> links_of(Value v) const;
  bool solve_among_branches(const Goal& goal);
  bool solve_on_branch(const Goal& goal, uint32_t operands, const ChainPart& part);
  uint32_t next_operand(const Goal& goal) const;
  bool is_used(int branch) const;
  bool has_sign() const;
  void leave(int branch, std::vector<ChainPart>& rest) const;

  // Asks of a value and of what it is but for its shape.
  template <class Ask>
  bool through_shapes(Value at, Ask&& ask) {
    const size_t before = inside_.size();
    for (Value v = at;;) {
      if (ask(v)) return true;
      inside_.resize(before);
      const std::optional<Value> operand = behind(v);
      if (!operand) return false;
      for (Value outer = at; outer != *operand; outer = node(outer).inputs[0]) {
        inside_.push_back(outer);
      }
      v = *operand;
    }
  }

  const PatternTerm& term(int index) const { return pattern_->terms[static_cast<size_t>(index)]; }
  const Node& node(Value v) const { return graph_.node(v); }
  // What is looked through to the operand, or none.
  std::optional<Value> behind(Value v) const;
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
  std::vector<Goal> counts_;  // to be shown when all else is
  std::vector<Branch> branches_;
  bool takes_sign_ = false;  // a part of a product takes that of what is taken apart
};

}  // namespace dvm::core
