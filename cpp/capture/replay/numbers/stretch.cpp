#include "capture/replay/numbers/stretch.h"

#include <algorithm>

#include "capture/replay/likely.h"
#include "core/ops/fp_flags.h"

namespace dvm::capture::numbers {

namespace {

constexpr int64_t kLongest = 1 << 14;         // turns, some 100 us to 1 ms
constexpr int64_t kLongestOfArrays = 1 << 9;  // likewise, to 25 ms at most
constexpr int kRest = 255;             // turns after one of a path that is not for the machine
constexpr int kChances = 3;            // of a path that is not for the machine
constexpr int kChancesOfNumbers = 16;  // likewise, where trying it takes next to nothing

}  // namespace

std::shared_ptr<const Changes> Learning::changes(const std::vector<std::unique_ptr<Path>>& paths,
                                                 int32_t variables,
                                                 const std::vector<int32_t>& carried) {
  if (paths.size() == paths_) return changes_;
  paths_ = paths.size();
  turns_.clear();
  bodies_.clear();
  made_bodies_ = refused_bodies_ = 0;
  return changes_ = std::make_shared<Changes>(changes_of(paths, variables, carried));
}

std::unique_ptr<Turn> Learning::take(const Path& path) {
  const auto found = std::ranges::find(turns_, &path, [](const auto& each) { return each.first; });
  if (found == turns_.end()) return {};
  std::unique_ptr<Turn> turn = std::move(found->second);
  turns_.erase(found);
  return turn;
}

// Where paths have come since, others may change what it takes to be the same.
void Learning::give(const Path& path, std::unique_ptr<Turn> turn, size_t paths) {
  const auto is = [&](const auto& each) { return each.first == &path; };
  if (paths != paths_ || std::ranges::any_of(turns_, is)) return;
  turns_.emplace_back(&path, std::move(turn));
}

std::unique_ptr<Body> Learning::make_body(const std::vector<std::unique_ptr<Path>>& paths,
                                          const Body::Entry& entry) {
  if (!may_make_body()) return {};
  auto body = Body::of(paths, entry, *changes_);
  ++(body ? made_bodies_ : refused_bodies_);
  return body;
}

bool Learning::is_hopeless(const Path& path) const {
  const auto found = std::ranges::find(refused_, &path, &Refused::path);
  return found != refused_.end() && found->times >= kChances;
}

void Learning::note_refused(const Path& path, core::Loc at) {
  auto found = std::ranges::find(refused_, &path, &Refused::path);
  if (found == refused_.end()) found = refused_.insert(found, Refused{&path, at});
  ++found->times;
}

void Learning::note_taken(const Path& path) {
  std::erase_if(refused_, [&](const Refused& each) { return each.path == &path; });
}

std::optional<core::Loc> Learning::refused_at() const {
  return refused_.empty() ? std::nullopt : std::optional(refused_.front().at);
}

bool Stretch::wants(int64_t turn) {
  if (rest_ > 0) {
    --rest_;
    return false;
  }
  return turn >= replayed_ && learned_ <= Learning::kReplayed + turn / 64;
}

bool Stretch::has(const Path& path) const {
  return std::ranges::any_of(turns_, [&](const Learned& each) { return each.path == &path; }) ||
         std::ranges::any_of(bodies_, [&](const auto& body) { return body->has(path); });
}

void Stretch::learn(const Path& path, std::vector<Ref> registers) {
  learning_.count_replayed();
  if (has(path)) return;
  const bool is_hopeless = learning_.is_hopeless(path);
  if (is_hopeless && !registers.empty()) rest_ = kRest;
  if (registers.empty() || is_hopeless) return forget();  // who knows what it did
  ++learned_;
  if (bodies_.empty() && learning_.may_make_body()) {
    wants_body_ = true;
    return;
  }
  std::unique_ptr<Turn> turn = learning_.take(path);
  core::Loc stopped;
  if (!turn || !turn->fill(registers)) {
    turn = Turn::of(path, std::move(registers), *changes_, stopped);
  }
  if (!turn) {
    learning_.note_refused(path, stopped);
    return forget();
  }
  learning_.note_taken(path);
  turns_.push_back({&path, std::move(turn)});
}

void Stretch::forget() {
  for (auto& [path, turn] : turns_) {
    turn->empty();
    learning_.give(*path, std::move(turn), paths_);
  }
  turns_.clear();
  for (auto& body : bodies_) {
    body->empty();
    learning_.give(std::move(body), paths_);
  }
  bodies_.clear();
  is_new_ = true;
}

// Of paths that were learned in calls before: those that hold of a turn with these arguments.
bool Stretch::prepare(std::span<const Ref> variables, const Ref& item) {
  if (rest_ > 0) return false;
  const bool is_new = std::exchange(is_new_, false) && !learning_.is_empty();
  if (!is_new && !wants_body_) return false;
  same_.assign(variables.size() + 1, nullptr);
  for (size_t k = 0; k < variables.size(); ++k) {
    if (!changes_->slots[k]) same_[k] = variables[k].get();
  }
  if (!is_new) return true;
  for (auto& body : learning_.take_bodies()) {
    if (body->is_stale()) {
      wants_body_ = true;
    } else if (body->prepare(same_.data())) {
      bodies_.push_back(std::move(body));
    } else {
      learning_.give(std::move(body), paths_);
    }
  }
  std::vector<PyObject*> arguments;
  for (const Ref& variable : variables) arguments.push_back(variable.get());
  arguments.push_back(item.get());
  for (auto& [path, turn] : learning_.take_all()) {
    if (turn->prepare(arguments.data())) {
      turns_.push_back({path, std::move(turn)});
    } else {
      learning_.give(*path, std::move(turn), paths_);
    }
  }
  return !is_empty() || wants_body_;
}

// False: the turn is not for the machine.
bool Stretch::turns(std::span<Variable> variables, Items& items, int64_t most, Made& made) {
  if (turns_of_numbers(variables, items, most, made)) return true;
  for (size_t k = 0; k < turns_.size(); ++k) {
    const size_t i = likely_first(k, std::min(likely_, turns_.size() - 1));
    Turn& turn = *turns_[i].turn;
    made.turns = turn.run(variables, items, most, made.more, undo_, draws_);
    if (made.turns == 0) continue;
    made.is_slow = turn.is_slow();
    made.was_long = turn.was_long();
    likely_ = i;
    return true;
  }
  return false;
}

bool Stretch::turns_of_numbers(std::span<Variable> variables, Items& items, int64_t most,
                               Made& made) {
  const auto run = [&](Body& body) {
    const Body::Result result = body.run(variables, items, most, undo_, draws_);
    made = {.turns = result.made, .more = result.more, .was_long = result.was_long};
    return result.fits;
  };
  for (size_t k = 0; k < bodies_.size(); ++k) {
    const size_t i = likely_first(k, std::min(likely_body_, bodies_.size() - 1));
    if (!run(*bodies_[i])) continue;
    likely_body_ = i;
    return made.turns > 0;
  }
  if ((bodies_.empty() && !wants_body_) || !learning_.may_make_body()) return false;
  auto body = learning_.make_body(all_paths_, Body::entry_of(same_.data(), variables, items));
  wants_body_ = false;
  if (!body) return false;
  likely_body_ = bodies_.size();
  bodies_.push_back(std::move(body));
  return run(*bodies_.back()) && made.turns > 0;
}

bool Stretch::run(std::span<Ref> variables, Items& items, Ref& item, Result& result) {
  const bool starts = is_empty();
  if (starts) {
    if (items.exist()) {
      item = items.next_object();
      result.ended = !item && !PyErr_Occurred();
      if (!item) return result.ended;
    }
    if (!prepare(variables, item)) return true;
  }
  std::vector<Variable> state(variables.size() + 1);
  for (size_t k = 0; k < variables.size(); ++k) {
    if (changes_->slots[k]) state[k] = variable_of(variables[k].get());
  }
  if (starts && item) state.back() = item_of(item.get());
  items.count();
  std::vector<std::pair<std::optional<Type>, Cell>> before;
  for (const Variable& variable : state) before.emplace_back(variable.type, variable.number);
  const bool more = run(state, items, starts, result);
  draws_.let_go();
  // All that is replaced stays until then, for cells may have the address of it.
  std::vector<Ref> changed(variables.size());
  for (size_t k = 0; k < variables.size(); ++k) {
    // What is as it was is the same object, as `found = math.nan` is where nothing was found.
    const bool is_same = state[k].type && state[k].type == before[k].first &&
                         state[k].number.i == before[k].second.i;
    if (!state[k].changed || is_same) continue;
    changed[k] = state[k].type ? Ref::steal(object_of(*state[k].type, state[k].number))
                               : std::move(state[k].object);
    if (!changed[k]) return false;
  }
  for (size_t k = 0; k < variables.size(); ++k) {
    if (changed[k]) variables[k] = std::move(changed[k]);
  }
  if (rest_ > 0) forget();
  if (!items.exist() || (starts && result.turns == 0)) return true;
  result.ended = !more && !PyErr_Occurred();
  if (!more) return result.ended;
  item = items.object_of_last(state.back());
  return static_cast<bool>(item);
}

// False: no item is left, or a Python error is set.
bool Stretch::run(std::span<Variable> state, Items& items, bool has_item, Result& result) {
  const core::KeepFpFlags flags;
  core::fp::set(core::fp::cleared(flags.saved()));
  const auto has_arrays = [](const Learned& each) { return each.turn->has_arrays(); };
  const bool arrays = std::ranges::any_of(turns_, has_arrays);
  const int64_t longest = arrays ? kLongestOfArrays : kLongest;
  Made made{.more = has_item || !items.exist() || items.next(state.back())};
  while (made.more && result.turns < longest && !made.is_slow && !made.was_long) {
    if (!turns(state, items, longest - result.turns, made)) break;
    result.turns += made.turns;
  }
  result.was_long = made.was_long || result.turns == longest;
  failures_ = result.turns > 0 ? 0 : failures_ + 1;
  if (made.is_slow || failures_ == (arrays ? kChances : kChancesOfNumbers)) rest_ = kRest;
  return made.more;
}

}  // namespace dvm::capture::numbers
