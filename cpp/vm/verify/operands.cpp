// The operands of an instruction: modes, slots, streams, and how they overlap.
#include <algorithm>

#include "core/error.h"
#include "vm/isa/reduce_source.h"
#include "vm/verify/tile.h"

namespace dvm::vm {

namespace {

// Sums and products of untrusted 64-bit numbers; `ok` turns false for good when one overflows.
struct Checked {
  int64_t value = 0;
  bool ok = true;
  void add_product(int64_t a, int64_t b) {
    int64_t product = 0;
    ok = ok && !__builtin_mul_overflow(a, b, &product) &&
         !__builtin_add_overflow(value, product, &value);
  }
};

bool is_elementwise(const Instruction& insn) {
  const InsnInfo& row = info(insn.insn);
  return row.pipe == Pipe::simd && info(row.format).extents == ExtentKind::linear;
}

// The stream side of loads and stores is the one thing that their format fixes.
bool must_stream(const InsnInfo& row, int operand) {
  return (row.pipe == Pipe::load && operand == 1) || (row.pipe == Pipe::store && operand == 0);
}

}  // namespace

void TileVerifier::check_operand(const Instruction& insn, int operand) {
  const InsnInfo& row = info(insn.insn);
  const Operand& op = insn.operands()[operand];
  check_access(insn, operand);
  const bool memory = row.pipe != Pipe::simd;
  bool legal = false;
  switch (op.mode) {
    case Mode::slot:
      legal = !must_stream(row, operand);
      break;
    case Mode::stream:
    case Mode::rows:
      legal = memory ? must_stream(row, operand) : target_.streams;
      break;
    case Mode::scalar:
      legal = row.scalar_operands && !writes(insn, operand);
      break;
  }
  const std::string name = "operand " + number(operand);
  if (!legal) {
    constexpr std::string_view kModes[kModeCount] = {"slot", "stream", "scalar", "rows"};
    const auto mode = static_cast<size_t>(op.mode);
    fail(name + " may not be a " +
         (mode < kModeCount ? std::string(kModes[mode]) : "mode " + number(mode)) + " on target " +
         std::string(target_.name));
  }
  const bool apart = op.mode == Mode::rows;
  if (op.mode == Mode::slot ? op.index != 0 : op.offset != 0 && !apart) {
    fail(name + " has bits set that mean nothing");
  }
  if (apart && op.offset == 0) fail(name + " has rows that lie 0 bytes apart");
  const bool adds_rows = operand == 1 && row.format == Format::reduce &&
                         reduce_order(insn.aux) == ReduceOrder::sequential;
  const bool in_chain =
      insn.is_chain() && !writes(insn, operand) && reach(insn, operand) == Reach::each;
  if (apart && !adds_rows && !in_chain) {
    fail(name + " has rows that lie apart, which only chains and sequential reductions read");
  }
  if (op.mode == Mode::slot) check_slot(insn, operand);
  if (is_stream(op)) check_stream(insn, operand);
  if (op.mode == Mode::scalar) check_scalar(insn, operand);
}

// What operand_dtype() and writes() rely on.
void TileVerifier::check_access(const Instruction& insn, int operand) const {
  const uint8_t access = insn.operands()[operand].access;
  const int dtype = Access::dtype(access);
  const Reach whom = reach(insn, operand);
  const bool legal = dtype < core::kDTypeCount &&
                     (whom == Reach::each || insn.operands()[operand].mode != Mode::scalar) &&
                     (!writes(insn, operand) || whom == Reach::each || whom == Reach::per_row);
  if (insn.is_chain() ? !legal : access != 0) {
    fail("operand " + number(operand) + " has access " + number(access) + ", which means nothing");
  }
}

void TileVerifier::check_scalar(const Instruction& insn, int operand) {
  const int index = insn.operands()[operand].index;
  if (index >= program_.header().scalars) {
    fail("scalar " + number(index) + " of " + number(program_.header().scalars));
  }
  if (index > next_scalar_)
    fail("scalar " + number(index) + " is used before " + number(next_scalar_));
  next_scalar_ = std::max(next_scalar_, index + 1);
  const DType dtype = operand_dtype(insn, operand);
  const auto bits = static_cast<uint64_t>(program_.scalars()[static_cast<size_t>(index)].bits());
  const int width = 8 * core::byte_size(dtype);
  if ((width < 64 && bits >> width != 0) || (dtype == DType::boolean && bits > 1)) {
    fail("scalar " + number(index) + " is no " + std::string(core::to_string(dtype)));
  }
}

int64_t TileVerifier::operand_bytes(const Instruction& insn, int operand) const {
  return operand_elements(insn, operand, false) * core::byte_size(operand_dtype(insn, operand));
}

TileVerifier::Range TileVerifier::slot_range(const Instruction& insn, int operand) const {
  const int64_t begin = insn.operands()[operand].offset;
  return {begin, begin + operand_bytes(insn, operand)};
}

void TileVerifier::check_slot(const Instruction& insn, int operand) const {
  const Range range = slot_range(insn, operand);
  const std::string name = "slot of operand " + number(operand);
  if (range.low % target_.align != 0) {
    fail(name + " at " + number(range.low) + " is not aligned to " + number(target_.align));
  }
  if (range.low < target_.reserve_bytes || range.high > program_.header().local_bytes) {
    fail(name + " takes bytes [" + number(range.low) + ", " + number(range.high) +
         "), local memory is [" + number(target_.reserve_bytes) + ", " +
         number(program_.header().local_bytes) + ")");
  }
}

void TileVerifier::check_stream(const Instruction& insn, int operand) {
  const int index = insn.operands()[operand].index;
  if (index >= program_.header().streams) {
    fail("stream " + number(index) + " of " + number(program_.header().streams));
  }
  if (index > next_stream_)
    fail("stream " + number(index) + " is used before " + number(next_stream_));
  next_stream_ = std::max(next_stream_, index + 1);
  const int64_t g = program_.stream(index).global;
  const Global& global = program_.globals()[static_cast<size_t>(g)];
  const DType dtype = operand_dtype(insn, operand);
  if (global.dtype != dtype) {
    fail("operand " + number(operand) + " is " + std::string(core::to_string(dtype)) +
         ", global g" + number(g) + " is " + std::string(core::to_string(global.dtype)));
  }
  // A tile may read back what it wrote itself; what other tiles write has no order.
  if (writes(insn, operand) && global.written == 0)
    fail("writes global g" + number(g) + ", which is read-only");
  const Range touched = footprint(insn, operand, false);
  const int64_t written = written_streams_[static_cast<size_t>(index)];
  if (!writes(insn, operand) && global.written != 0 &&
      (touched.low < 0 || touched.high > written)) {
    fail("reads bytes of written global g" + number(g) + " that this tile has not written");
  }
  check_stream_alignment(insn, operand);
  check_stream_bounds(insn, operand);
}

// Bases are aligned to their dtype; with this every element is.
void TileVerifier::check_stream_alignment(const Instruction& insn, int operand) const {
  const Stream& stream = program_.stream(insn.operands()[operand].index);
  const int64_t element = core::byte_size(operand_dtype(insn, operand));
  bool aligned = stream.offset % element == 0;
  for (int64_t stride : program_.strides(stream)) aligned = aligned && stride % element == 0;
  for (const ViewDim& dim : insn.view_dims()) aligned = aligned && dim.stride % element == 0;
  aligned = aligned && row_stride(insn.operands()[operand]).value_or(0) % element == 0;
  if (!aligned) {
    fail("stream of operand " + number(operand) + " is not aligned to its elements of " +
         number(element) + " bytes");
  }
}

TileVerifier::Range TileVerifier::footprint(const Instruction& insn, int operand, bool tail) const {
  const int64_t element = core::byte_size(operand_dtype(insn, operand));
  if (const auto stride = row_stride(insn.operands()[operand])) {
    const auto [m, size, n] = extents(insn, tail);
    const int64_t rows = insn.is_chain() ? m : m * size, columns = insn.is_chain() ? size : n;
    return {0, (rows - 1) * *stride + columns * element};
  }
  if (!insn.is_view()) return {0, operand_elements(insn, operand, tail) * element};
  Range range = {0, element};
  const auto dims = insn.view_dims();
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool shortened = tail && d + 1 == insn.split;
    const int64_t last = (shortened ? int64_t{insn.tail} : dims[d].extent) - 1;
    (dims[d].stride < 0 ? range.low : range.high) += last * dims[d].stride;
  }
  return range;
}

TileVerifier::Range TileVerifier::over_grid(const Stream& stream, Range touched, int64_t first,
                                            int64_t last) const {
  const auto grid = program_.grid();
  const auto strides = program_.strides(stream);
  Checked low{touched.low}, high{touched.high};
  low.add_product(stream.offset, 1);
  high.add_product(stream.offset, 1);
  for (size_t d = 0; d < grid.size(); ++d) {
    const bool innermost = d + 1 == grid.size();
    int64_t from = innermost ? first : 0, to = innermost ? last : grid[d] - 1;
    if (strides[d] < 0) std::swap(from, to);
    low.add_product(from, strides[d]);
    high.add_product(to, strides[d]);
  }
  if (!low.ok || !high.ok) fail("addresses of the stream overflow 64 bits");
  return {low.value, high.value};
}

void TileVerifier::check_stream_bounds(const Instruction& insn, int operand) const {
  const Stream& stream = program_.stream(insn.operands()[operand].index);
  const Global& global = program_.globals()[static_cast<size_t>(stream.global)];
  const auto grid = program_.grid();
  const int64_t last = grid.empty() ? 0 : grid.back() - 1;
  auto check = [&](bool tail, int64_t from, int64_t to) {
    const Range range = over_grid(stream, footprint(insn, operand, tail), from, to);
    if (range.low < global.low || range.high > global.high) {
      fail("operand " + number(operand) + " touches bytes [" + number(range.low) + ", " +
           number(range.high) + ") of global g" + number(stream.global) + ", which has [" +
           number(global.low) + ", " + number(global.high) + ")");
    }
  };
  if (insn.split == 0) {
    check(false, 0, last);
  } else {
    if (last > 0) check(false, 0, last - 1);
    check(true, last, last);
  }
}

TileVerifier::Range TileVerifier::over_all_tiles(const Instruction& insn, int operand) const {
  const Stream& stream = program_.stream(insn.operands()[operand].index);
  const int64_t last = program_.grid().empty() ? 0 : program_.grid().back() - 1;
  const bool tail = insn.split != 0;
  const Range end = over_grid(stream, footprint(insn, operand, tail), last, last);
  if (last == 0) return end;
  const Range body = over_grid(stream, footprint(insn, operand, false), 0, last - 1);
  return {std::min(body.low, end.low), std::max(body.high, end.high)};
}

// Whether tiles may find bytes of the one operand in the other. Two streams of a global are of
// different parts of it, in all tiles together, or else taken to share some.
bool TileVerifier::may_share(const Instruction& insn, int a, int b) const {
  const Operand &first = insn.operands()[a], &second = insn.operands()[b];
  if (first.mode == Mode::slot && second.mode == Mode::slot) {
    return slot_range(insn, a).overlaps(slot_range(insn, b));
  }
  if (!is_stream(first) || !is_stream(second)) return false;
  if (program_.stream(first.index).global != program_.stream(second.index).global) return false;
  return over_all_tiles(insn, a).overlaps(over_all_tiles(insn, b));
}

// An elementwise instruction may work in place: element for element, its destination is a source.
// What stands for several elements is read after the first of them is written.
void TileVerifier::check_overlap(const Instruction& insn, int destination) const {
  const Operand& dst = insn.operands()[destination];
  for (int k = 0; k < insn.operand_count(); ++k) {
    const Operand& src = insn.operands()[k];
    if (k == destination || !may_share(insn, destination, k)) continue;
    const bool same = src.mode == dst.mode && src.index == dst.index && src.offset == dst.offset &&
                      !writes(insn, k) && reach(insn, k) == Reach::each &&
                      reach(insn, destination) == Reach::each &&
                      operand_bytes(insn, destination) == operand_bytes(insn, k);
    if (!(same && is_elementwise(insn))) fail("destination overlaps operand " + number(k));
  }
}

void TileVerifier::check_sources_written(const Instruction& insn) const {
  for (int k = 0; k < insn.operand_count(); ++k) {
    if (writes(insn, k) || insn.operands()[k].mode != Mode::slot) continue;
    const Range range = slot_range(insn, k);
    auto after = written_slots_.upper_bound(range.low);
    if (after == written_slots_.begin() || std::prev(after)->second < range.high) {
      fail("operand " + number(k) + " reads slot bytes [" + number(range.low) + ", " +
           number(range.high) + ") that nothing has written");
    }
  }
}

void TileVerifier::record_destination(const Instruction& insn, int operand) {
  const Operand& dst = insn.operands()[operand];
  if (is_stream(dst)) {
    int64_t& bytes = written_streams_[dst.index];
    bytes = std::max(bytes, operand_bytes(insn, operand));
    return;
  }
  auto [low, high] = slot_range(insn, operand);
  auto it = written_slots_.upper_bound(low);
  if (it != written_slots_.begin() && std::prev(it)->second >= low) --it;
  while (it != written_slots_.end() && it->first <= high) {
    low = std::min(low, it->first);
    high = std::max(high, it->second);
    it = written_slots_.erase(it);
  }
  written_slots_.emplace(low, high);
}

}  // namespace dvm::vm
