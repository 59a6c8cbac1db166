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
  return (is_load(row.format) && operand == 1) || (is_store(row.format) && operand == 0) ||
         (row.format == Format::gather && operand == kTableOperand);
}

// Whether a stream operand goes through the view dims; the other side of a view is dense.
bool has_view(const Instruction& insn, int operand) {
  return insn.is_view() && must_stream(info(insn.insn), operand);
}

// Whether any operand may be a stream, where the target has them: not in a cube.
bool may_stream(const InsnInfo& row) {
  const bool copies = row.format == Format::view_load || row.format == Format::view_store;
  return row.pipe == Pipe::simd || row.format == Format::gather || row.format == Format::matrix ||
         (copies && row.pipe != Pipe::fix);
}

// Whether operands are matrices, which may lie in more ways than others.
bool has_matrices(const Instruction& insn) {
  const Format format = info(insn.insn).format;
  return format == Format::matrix || is_attention(format);
}

}  // namespace

void TileVerifier::check_operand(const Instruction& insn, int operand) {
  const InsnInfo& row = info(insn.insn);
  const Operand& op = insn.operands()[operand];
  check_access(insn, operand);
  bool legal = false;
  switch (op.mode) {
    case Mode::slot:
      legal = !must_stream(row, operand);
      break;
    case Mode::stream:
    case Mode::rows:
    case Mode::columns:
    case Mode::packed:
    case Mode::windows:
      legal = must_stream(row, operand) || (target_.streams && may_stream(row));
      break;
    case Mode::scalar:
      legal = row.scalar_operands && !writes(insn, operand);
      break;
  }
  const std::string name = "operand " + number(operand);
  if (!legal) {
    const auto mode = static_cast<int>(op.mode);
    fail(name + " may not be a " +
         (mode < kModeCount ? std::string(to_string(op.mode)) : "mode " + number(mode)) +
         " on target " + std::string(target_.name));
  }
  const bool strided = has_stride(op.mode);
  if (op.mode != Mode::slot && op.offset != 0 && !strided) {
    fail(name + " has bits set that mean nothing");
  }
  if (strided && op.offset == 0)
    fail(name + " has " + std::string(to_string(op.mode)) + " that lie 0 bytes apart");
  const bool reduces_rows = operand == 1 && row.format == Format::reduce;
  const bool in_chain = insn.is_chain() && reach(insn, operand) == Reach::each;
  if (op.mode == Mode::rows && !reduces_rows && !in_chain && !has_matrices(insn)) {
    fail(name + " has rows that lie apart, which only chains and reductions use");
  }
  if (op.mode == Mode::rows && in_chain && writes(insn, operand) &&
      op.offset < int64_t{insn.size} * core::byte_size(operand_dtype(insn, operand))) {
    fail(name + " has rows that are written over one another");
  }
  if (operand == 1 && reduces_chunks(insn) && insn.m != 1) {
    fail(name +
         " has rows that lie apart, of which a reduction in the order of lanes has M = 1 or N = 1");
  }
  if ((op.mode == Mode::columns || op.mode == Mode::packed) && !has_matrices(insn)) {
    fail(name + " is " + std::string(to_string(op.mode)) + ", which only matrices of products are");
  }
  if (op.mode == Mode::packed && operand == 2 && has_matrices(insn)) {
    const bool rounds = MatrixAux::of(insn.dtype, insn.aux).precision == core::Precision::medium;
    const DType packed = rounds ? DType::bf16 : operand_dtype(insn, operand);
    if (op.offset < int64_t{insn.size} * core::byte_size(packed))
      fail(name + " is packed in columns of fewer than " + number(insn.size) + " elements");
  }
  if (op.mode == Mode::packed && (operand != 2 || row.format != Format::matrix))
    fail(name + " is packed, which only b of a product is");
  if (op.mode == Mode::windows && (operand != 2 || row.format != Format::matrix))
    fail(name + " is windows, which only b of a product is");
  if (op.mode == Mode::slot) {
    check_space(insn, operand);
    check_slot(insn, operand);
  }
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
  return operand_elements(insn, operand, 0) * core::byte_size(operand_dtype(insn, operand));
}

TileVerifier::Range TileVerifier::slot_range(const Instruction& insn, int operand) const {
  const int64_t begin = insn.operands()[operand].offset;
  return {begin, begin + operand_bytes(insn, operand)};
}

// That the target has the memory, and that the pipe of the instruction reaches it.
void TileVerifier::check_space(const Instruction& insn, int operand) const {
  const int index = insn.operands()[operand].index;
  const std::string name = "operand " + number(operand);
  if (index >= kSpaceCount) fail(name + " lies in memory " + number(index) + ", which nothing has");
  const auto space = static_cast<Space>(index);
  const std::string memory(to_string(space));
  if (target_.memory(space).bytes == 0) {
    fail(name + " lies in " + memory + ", which target " + std::string(target_.name) + " lacks");
  }
  const InsnInfo& row = info(insn.insn);
  bool legal = reaches(row.pipe, space, writes(insn, operand));
  if (row.format == Format::matrix && operand > 0) {
    legal = space == (operand == 1 ? Space::l0a : Space::l0b);
  }
  if (!legal) {
    fail(name + " lies in " + memory + ", which the " + std::string(to_string(row.pipe)) +
         " pipe does not " + (writes(insn, operand) ? "write" : "read") + " there");
  }
}

void TileVerifier::check_slot(const Instruction& insn, int operand) const {
  const Range range = slot_range(insn, operand);
  const std::string name = "slot of operand " + number(operand);
  const Space space = space_of(insn.operands()[operand]);
  const Memory memory = target_.memory(space);
  const int64_t end = space == Space::ub ? program_.header().local_bytes : memory.bytes;
  if (range.low % memory.align != 0) {
    fail(name + " at " + number(range.low) + " is not aligned to " + number(memory.align));
  }
  if (range.low < memory.reserve || range.high > end) {
    fail(name + " takes bytes [" + number(range.low) + ", " + number(range.high) + "), " +
         (space == Space::ub ? "local memory" : std::string(to_string(space))) + " is [" +
         number(memory.reserve) + ", " + number(end) + ")");
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
  for (int loop = 0; loop < program_.header().loops; ++loop) {
    const int axis = program_.header().grid_rank + loop;
    if (program_.strides(program_.stream(index))[static_cast<size_t>(axis)] != 0 &&
        !is_open(loop)) {
      fail("operand " + number(operand) + " moves along loop " + number(loop) +
           ", which the instruction is not in");
    }
  }
  // A tile may read back what it wrote itself; what other tiles write has no order.
  if (writes(insn, operand) && global.written == 0)
    fail("writes global g" + number(g) + ", which is read-only");
  const auto& written = written_streams_[static_cast<size_t>(index)];
  if (!writes(insn, operand) && global.written != 0 &&
      std::ranges::none_of(written,
                           [&](const Written& one) { return reads_back(insn, operand, one); })) {
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
  if (has_view(insn, operand)) {
    for (const ViewDim& dim : insn.view_dims()) aligned = aligned && dim.stride % element == 0;
  }
  const Operand& lies = insn.operands()[operand];
  if (lies.mode == Mode::windows) {
    aligned = aligned && insn.windows().channel_stride % element == 0;
    for (const WindowAxis& axis : insn.windows().axes)
      aligned = aligned && axis.stride % element == 0;
  }
  aligned = aligned && (!has_stride(lies.mode) || lies.offset % element == 0);
  if (!aligned) {
    fail("stream of operand " + number(operand) + " is not aligned to its elements of " +
         number(element) + " bytes");
  }
}

// All of x, for which of it a tile reads depends on where the tile is.
TileVerifier::Range TileVerifier::window_footprint(const Instruction& insn) const {
  const WindowWords& words = insn.windows();
  Range range = {0, core::byte_size(operand_dtype(insn, 2))};
  const auto repeat = [&](int64_t count, int64_t stride) {
    (stride < 0 ? range.low : range.high) += (count - 1) * stride;
  };
  repeat(insn.size / words.elements(), words.channel_stride);
  for (const WindowAxis& axis : words.axes) repeat(axis.size, axis.stride);
  return range;
}

TileVerifier::Range TileVerifier::footprint(const Instruction& insn, int operand, Ends ends) const {
  const int64_t element = core::byte_size(operand_dtype(insn, operand));
  const Operand& lies = insn.operands()[operand];
  if (lies.mode == Mode::windows) return window_footprint(insn);
  if (has_matrices(insn) && has_stride(lies.mode)) {
    const MatrixSize size = matrix_size(insn, operand, extents(insn, ends));
    if (lies.mode == Mode::packed) return {0, packed_columns(size.columns) * lies.offset};
    const bool by_rows = lies.mode == Mode::rows;
    const int64_t outer = by_rows ? size.rows : size.columns;
    return {0, (outer - 1) * lies.offset + (by_rows ? size.columns : size.rows) * element};
  }
  if (const auto stride = row_stride(lies)) {
    const auto [m, size, n] = extents(insn, ends);
    const bool whole = insn.is_chain() || reduces_each_row(insn);
    const int64_t rows = whole ? m : m * size, columns = whole ? size : n;
    return {0, (rows - 1) * *stride + columns * element};
  }
  if (!has_view(insn, operand)) {
    return {0, operand_elements(insn, operand, ends) * element};
  }
  Range range = {0, element};
  const auto dims = insn.view_dims();
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto full = static_cast<uint32_t>(dims[d].extent);
    const int dim = static_cast<int>(d);
    const int64_t last = positions_along(insn, dim, tail_of(insn, dim + 1, ends, full)) - 1;
    (dims[d].stride < 0 ? range.low : range.high) += last * dims[d].stride;
  }
  return range;
}

int64_t TileVerifier::unbroken(const Instruction& insn, int operand, Ends ends) const {
  const int64_t element = core::byte_size(operand_dtype(insn, operand));
  const Operand& lies = insn.operands()[operand];
  if (has_stride(lies.mode)) {
    const auto [m, size, n] = extents(insn, ends);
    if (!has_matrices(insn)) return size * element;
    return (lies.mode == Mode::columns ? m : n) * element;
  }
  if (!has_view(insn, operand)) return operand_elements(insn, operand, ends) * element;
  int64_t run = element;
  const auto dims = insn.view_dims();
  for (size_t d = dims.size(); d-- > 0;) {
    const auto full = static_cast<uint32_t>(dims[d].extent);
    const int64_t extent = tail_of(insn, static_cast<int>(d) + 1, ends, full);
    if (extent == 1) continue;
    if (dims[d].stride != run) break;
    run *= extent;
  }
  return run;
}

bool TileVerifier::reads_back(const Instruction& insn, int operand, const Written& written) const {
  const auto cut = static_cast<Ends>(cut_axes(insn) | cut_axes(*written.insn));
  for (Ends at_end = 0;; at_end = static_cast<Ends>((at_end - cut) & cut)) {
    const Range read = footprint(insn, operand, at_end);
    if (read.low < 0 || read.high > unbroken(*written.insn, written.operand, at_end)) return false;
    if (at_end == cut) return true;
  }
}

int64_t TileVerifier::steps_along(int axis) const {
  const auto grid = program_.grid();
  const auto loops = program_.loops();
  if (axis >= kFirstLoopAxis) {
    const auto loop = static_cast<size_t>(axis - kFirstLoopAxis);
    return loop < loops.size() ? loops[loop] : 0;
  }
  const auto dim = static_cast<size_t>(axis);
  return dim < grid.size() ? grid[grid.size() - 1 - dim] : 0;
}

TileVerifier::Range TileVerifier::over_axes(const Stream& stream, Range touched, Ends at_end,
                                            Ends before_end) const {
  const auto strides = program_.strides(stream);
  const int rank = program_.header().grid_rank;
  Checked low{touched.low}, high{touched.high};
  low.add_product(stream.offset, 1);
  high.add_product(stream.offset, 1);
  for (int axis = 0; axis < kAxisCount; ++axis) {
    const int64_t steps = steps_along(axis);
    if (steps == 0) continue;
    const int column = axis < kFirstLoopAxis ? rank - 1 - axis : rank + axis - kFirstLoopAxis;
    const int64_t stride = strides[static_cast<size_t>(column)];
    int64_t from = (at_end >> axis & 1) != 0 ? steps - 1 : 0;
    int64_t to = (before_end >> axis & 1) != 0 ? steps - 2 : steps - 1;
    if (stride < 0) std::swap(from, to);
    low.add_product(from, stride);
    high.add_product(to, stride);
  }
  if (!low.ok || !high.ok) fail("addresses of the stream overflow 64 bits");
  return {low.value, high.value};
}

template <typename Check>
void TileVerifier::for_each_end(const Instruction& insn, int operand, Check check) const {
  const Stream& stream = program_.stream(insn.operands()[operand].index);
  Ends lasts = 0;
  for (int axis = 0; axis < kAxisCount; ++axis) {
    if (steps_along(axis) == 1) lasts = static_cast<Ends>(lasts | 1u << axis);
  }
  for_each_ends(insn, [&](Ends at_end, Ends before_end) {
    if ((before_end & lasts) != 0) return;
    check(over_axes(stream, footprint(insn, operand, at_end), at_end, before_end));
  });
}

void TileVerifier::check_stream_bounds(const Instruction& insn, int operand) const {
  const Stream& stream = program_.stream(insn.operands()[operand].index);
  const Global& global = program_.globals()[static_cast<size_t>(stream.global)];
  for_each_end(insn, operand, [&](const Range& range) {
    if (range.low < global.low || range.high > global.high) {
      fail("operand " + number(operand) + " touches bytes [" + number(range.low) + ", " +
           number(range.high) + ") of global g" + number(stream.global) + ", which has [" +
           number(global.low) + ", " + number(global.high) + ")");
    }
  });
}

TileVerifier::Range TileVerifier::over_all_tiles(const Instruction& insn, int operand) const {
  Range all{INT64_MAX, INT64_MIN};
  for_each_end(insn, operand, [&](const Range& range) {
    all = {std::min(all.low, range.low), std::max(all.high, range.high)};
  });
  return all;
}

// Whether tiles may find bytes of the one operand in the other. Two streams of a global are of
// different parts of it, in all tiles together, or else taken to share some.
bool TileVerifier::may_share(const Instruction& insn, int a, int b) const {
  const Operand &first = insn.operands()[a], &second = insn.operands()[b];
  if (first.mode == Mode::slot && second.mode == Mode::slot) {
    return first.index == second.index && slot_range(insn, a).overlaps(slot_range(insn, b));
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
    const bool adds = info(insn.insn).format == Format::matrix && writes(insn, k) &&
                      MatrixAux::of(insn.dtype, insn.aux).always;
    if ((writes(insn, k) && !adds) || insn.operands()[k].mode != Mode::slot) continue;
    const Range range = slot_range(insn, k);
    const auto& written = written_slots_[insn.operands()[k].index];
    auto after = written.upper_bound(range.low);
    if (after == written.begin() || std::prev(after)->second < range.high) {
      fail("operand " + number(k) + " reads slot bytes [" + number(range.low) + ", " +
           number(range.high) + ") that nothing has written");
    }
  }
}

void TileVerifier::record_destination(const Instruction& insn, int operand) {
  const Operand& dst = insn.operands()[operand];
  if (is_stream(dst)) {
    written_streams_[dst.index].push_back({&insn, operand});
    return;
  }
  auto [low, high] = slot_range(insn, operand);
  auto& written = written_slots_[dst.index];
  auto it = written.upper_bound(low);
  if (it != written.begin() && std::prev(it)->second >= low) --it;
  while (it != written.end() && it->first <= high) {
    low = std::min(low, it->first);
    high = std::max(high, it->second);
    it = written.erase(it);
  }
  written.emplace(low, high);
}

}  // namespace dvm::vm
