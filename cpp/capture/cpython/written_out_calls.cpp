#include "capture/cpython/written_out_calls.h"

#include <memory>
#include <span>

#include "capture/cpython/code_table.h"
#include "capture/cpython/kept_by_code.h"

namespace dvm::capture {

namespace {

constexpr int kFirstCallee = 2;  // of the operands of Op::load_common_constant

using Instructions = std::span<const Decoded>;

Op op_at(Instructions all, size_t place) {
  return place < all.size() ? all[place].first.op : Op::nothing;
}

// Whether a call is looked at from this instruction on.
bool begins(Instructions all, size_t place) {
  return op_at(all, place) == Op::copy && op_at(all, place + 1) == Op::load_common_constant &&
         all[place + 1].first.arg >= kFirstCallee && op_at(all, place + 2) == Op::is &&
         op_at(all, place + 3) == Op::pop_jump_if_false;
}

WrittenOutCall begun_at(Instructions all, size_t place) {
  WrittenOutCall call{.compares = all[place + 2].unit, .jumps = all[place + 3].unit};
  place += 4;
  while (op_at(all, place) == Op::nothing) ++place;
  call.drops = all[place].unit;
  if (op_at(all, place + 1) == Op::build_list) call.makes = all[place + 1].unit;
  return call;
}

// Whether it is the loop of one, over what the call before it has made.
bool is_loop(Instructions all, size_t place) {
  const bool is_made = place > 0 && all[place - 1].first == Operation{Op::call, 0};
  if (op_at(all, place) != Op::for_iter || !is_made) return false;
  const Op next = op_at(all, place + 1);
  return next == Op::list_append || next == Op::to_bool;
}

std::unique_ptr<std::vector<WrittenOutCall>> find(PyCodeObject* code) {
  const Instructions all = code_table(code).instructions();
  auto found = std::make_unique<std::vector<WrittenOutCall>>();
  std::vector<WrittenOutCall> open;  // one may be within what another goes over
  for (size_t place = 0; place < all.size(); ++place) {
    if (begins(all, place)) {
      open.push_back(begun_at(all, place));
    } else if (!open.empty() && is_loop(all, place)) {
      open.back().loop = all[place].unit;
      found->push_back(open.back());
      open.pop_back();
    }
  }
  return found;
}

}  // namespace

const std::vector<WrittenOutCall>& written_out_calls(PyCodeObject* code) {
  return kept_by<std::vector<WrittenOutCall>>(code, find);
}

}  // namespace dvm::capture
