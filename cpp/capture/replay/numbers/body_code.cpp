// How the ways that a Body's turns go are put together: a tree of paths is followed along its first
// one, and each guard that may not hold leads to the code of the path that hangs there.
#include <algorithm>
#include <utility>

#include "capture/replay/numbers/body.h"
#include "capture/replay/numbers/turn_code.h"

namespace dvm::capture::numbers {

void TurnCode::append_tree(const std::vector<std::unique_ptr<Path>>& paths,
                           std::vector<Ref>& registers) {
  append_ways(paths);
  for (const auto& runner : *runners_) runner->move_to(registers);
}

void TurnCode::append_ways(const std::vector<std::unique_ptr<Path>>& paths) {
  std::vector<size_t> to_next;  // instructions that lead to the next root
  for (const auto& path : paths) {
    if (path->parent != nullptr) continue;
    const size_t begin = code_.begin_way();
    for (const size_t place : std::exchange(to_next, {})) code_.go_on_at(place, begin);
    append_root(*path, to_next);
  }
}

void TurnCode::append_root(const Path& root, std::vector<size_t>& to_next) {
  way_ = begin_root(root);
  known_.assign(static_cast<size_t>(root.registers), {});
  flags_ = 0;
  has_written_ = false;
  append_way(root, to_next);
  while (!ways_.empty()) {
    Way way = std::move(ways_.back());
    ways_.pop_back();
    const size_t begin = code_.begin_way();
    for (const size_t place : way.expectations) code_.go_on_at(place, begin);
    way_ = way.runner;
    known_ = std::move(way.known);
    flags_ = way.flags;
    has_written_ = way.has_written;
    append_way(*way.path, to_next);
  }
}

namespace {

constexpr size_t kMostInstructions = 1 << 15;  // instructions, of loops within loops that branch

// Whether a path begins by asking for the truth that its parent's guard has not found.
bool is_truth_not_held(const Path& path) {
  if (path.parent == nullptr || path.steps.empty()) return false;
  const Step& own = path.steps[0];
  const Step& left = path.parent->steps[static_cast<size_t>(path.parent_step)];
  if (own.op != StepOp::guard_truth_ || left.op != StepOp::guard_truth_) return false;
  const int32_t *const p = path.operands(own), *const q = path.parent->operands(left);
  return p[0] == q[0] && (p[1] != 0) != (q[1] != 0);
}

}  // namespace

// Where a path has a step that the machine has no code for, turns that come there are replayed.
void TurnCode::append_way(const Path& path, std::vector<size_t>& to_next) {
  if (code_.place() > kMostInstructions) return code_.append({.op = Op::fail});
  const Path* at = &path;
  steps_ = all_steps(*at);
  committed_ = ended_ = has_copies_ = has_appends_ = false;
  for (size_t i = 0; i < at->steps.size(); ++i) {
    const Step& step = at->steps[i];
    Way otherwise{.path = step.otherwise};
    if (step.otherwise != nullptr) {
      otherwise.known = known_;
      otherwise.flags = flags_;
      otherwise.has_written = has_written_;
    }
    if (i == 0 && is_truth_not_held(*at)) continue;
    code_.forget_expectations();
    goes_otherwise_ = false;
    if (append(*at, step)) {
      otherwise.expectations = code_.expectations();
      if (otherwise.expectations.empty()) continue;
      if (step.otherwise != nullptr) {
        otherwise.runner = bound_.begin_way(root_of(*at), static_cast<int32_t>(way_));
        runners_->push_back((*runners_)[way_]->fork());
        ways_.push_back(std::move(otherwise));
      } else if (!has_written_) {
        to_next.insert(to_next.end(), otherwise.expectations.begin(), otherwise.expectations.end());
      }
      continue;
    }
    if (goes_otherwise_ && step.otherwise != nullptr) {
      at = step.otherwise;
      steps_ = all_steps(*at);
      i = static_cast<size_t>(-1);
      continue;
    }
    // Nothing may be written by a turn that is replayed.
    if (committed_) code_.take_back(commit_);
    if (goes_otherwise_ && !has_written_) to_next.push_back(code_.place());
    code_.append({.op = Op::fail});
    return;
  }
  note_way(*at);
}

void TurnCode::give_to_next(const std::vector<Body::Place>& gives) {
  std::vector<std::pair<int32_t, int32_t>> moves;  // from, to
  for (const auto& [slot, number] : gives) {
    const int32_t to = body_->home(slot, number.type).cell;
    moves.emplace_back(number.cell, to);
    body_->given_[slot] = body_->given_[slot] || number.cell != to;
  }
  move_at_once(std::move(moves));
  code_.append({.op = Op::again, .p = literal_of(body_->rounds_)});
}

void TurnCode::move_at_once(std::vector<std::pair<int32_t, int32_t>> moves) {
  std::erase_if(moves, [](const auto& move) { return move.first == move.second; });
  // What another move replaces is put aside first.
  for (size_t k = 0; k < moves.size(); ++k) {
    const auto replaces = [&](const auto& move) { return move.second == moves[k].first; };
    if (std::any_of(moves.begin(), moves.begin() + static_cast<std::ptrdiff_t>(k), replaces)) {
      moves[k].first = code_.emit(Op::move, moves[k].first);
    }
  }
  // The first one may be made in its place, if nothing else reads it.
  if (moves.size() == 1) return code_.move(moves[0].first, moves[0].second);
  for (const auto& [from, to] : moves) code_.append({.op = Op::move, .d = to, .a = from});
}

}  // namespace dvm::capture::numbers
