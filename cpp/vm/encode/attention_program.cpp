#include "vm/encode/attention_program.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/math/integers.h"
#include "vm/encode/program_sketch.h"
#include "vm/tile/global_range.h"

namespace dvm::vm {

namespace {

class AttentionEncoder {
 public:
  AttentionEncoder(const Attention& attention, const TargetTraits& target)
      : attention_(attention),
        target_(target),
        sums_(core::computes_in(attention.dtype)),
        in_place_(target.streams && are_in_place()),
        tile_(choose_tile()),
        sketch_(target, grid()) {}

  Program run(std::span<uint64_t> words) {
    add_globals();
    if (in_place_) {
      attend(mode_of(kQ), mode_of(kK), mode_of(kV),
             attention_.is_masked() ? mode_of(kMask) : Operand{});
    } else {
      attend_in_steps();
    }
    return sketch_.finish(words);
  }

 private:
  static constexpr int kQ = KernelAttention::kQ, kK = KernelAttention::kK, kV = KernelAttention::kV,
                       kMask = KernelAttention::kMask, kResult = KernelAttention::kResult;

  // Tiles of equal size, but for the last, in whole units where they are several.
  static int64_t balanced(int64_t size, int64_t most, int64_t unit) {
    const int64_t tiles = core::ceil_div(size, most);
    if (tiles == 1) return size;
    return std::min(core::round_up(core::ceil_div(size, tiles), unit), most);
  }

  struct Tile {
    int64_t rows, keys;
  };
  // One way through an operand: two dims of it, and how much of them a tile or step has.
  struct Side {
    const AttentionDim& dim;
    int64_t tile;
    bool ends_short() const { return dim.size % tile != 0; }
    uint32_t last() const {
      return static_cast<uint32_t>(dim.size - (core::ceil_div(dim.size, tile) - 1) * tile);
    }
  };

  const AttentionDim& first_dim(int operand) const {
    return operand == kK || operand == kV ? attention_.keys : attention_.rows;
  }
  const AttentionDim& second_dim(int operand) const {
    if (operand == kQ || operand == kK) return attention_.depth;
    return operand == kMask ? attention_.keys : attention_.columns;
  }
  DType dtype_of(int operand) const {
    return operand == kMask ? attention_.mask : attention_.dtype;
  }

  // How an instruction reads or writes a stream that lies so; none where it cannot.
  std::optional<Operand> lies(int operand) const {
    const int64_t element = core::byte_size(dtype_of(operand));
    const AttentionDim &outer = first_dim(operand), &inner = second_dim(operand);
    const int64_t row = outer.strides[operand], column = inner.strides[operand];
    const auto as = [&](Mode mode, int64_t stride) -> std::optional<Operand> {
      if (stride <= 0 || stride > std::numeric_limits<uint32_t>::max()) return std::nullopt;
      return Operand{mode, 0, 0, static_cast<uint32_t>(stride)};
    };
    const bool adjacent = inner.size == 1 || column == element;
    if (operand == kMask && adjacent && row == 0) return Operand{.mode = Mode::stream};
    if (adjacent) {
      const auto rows = as(Mode::rows, outer.size == 1 ? inner.size * element : row);
      if (rows) return rows;
    }
    if (operand != kResult && (outer.size == 1 || row == element))
      return as(Mode::columns, inner.size == 1 ? outer.size * element : column);
    return std::nullopt;
  }
  bool are_in_place() const {
    return lies(kQ) && lies(kK) && lies(kV) && (!attention_.is_masked() || lies(kMask));
  }

  // Rows that vectors and panels of products divide, or what local memory has room for.
  Tile choose_tile() const {
    constexpr int64_t kRows = 64, kUnit = 16;
    const int64_t rows = balanced(attention_.rows.size, kRows, kUnit);
    if (in_place_) return {rows, attention_.keys.size};
    const Memory memory = target_.memory(Space::ub);
    const auto fits = [&](const Tile& tile) {
      int64_t bytes = 0;
      const auto add = [&](int64_t elements, DType dtype) {
        bytes += elements * core::byte_size(dtype) + memory.align;
      };
      add(tile.rows * attention_.depth.size, attention_.dtype);
      add(tile.keys * attention_.depth.size, attention_.dtype);
      add(tile.keys * attention_.columns.size, attention_.dtype);
      add(tile.rows * (attention_.columns.size + 2), sums_);
      if (attention_.is_masked()) add(tile.rows * tile.keys, attention_.mask);
      if (sums_ != attention_.dtype) add(tile.rows * attention_.columns.size, attention_.dtype);
      return bytes <= memory.bytes - memory.reserve;
    };
    Tile tile{rows, std::min<int64_t>(kRows, attention_.keys.size)};
    while (!fits(tile) && (tile.rows > 1 || tile.keys > 1)) {
      int64_t& longer = tile.rows > tile.keys ? tile.rows : tile.keys;
      longer = (longer + 1) / 2;
    }
    if (!fits(tile)) {
      core::fail(
          core::ErrorCode::unsupported,
          "not even one row of an attention fits the local memory of " + std::string(target_.name));
    }
    return tile;
  }

  std::vector<int64_t> grid() const {
    std::vector<int64_t> tiles;
    for (int d = 0; d < attention_.batch_rank; ++d) tiles.push_back(attention_.batch[d].size);
    tiles.push_back(core::ceil_div(attention_.rows.size, tile_.rows));
    return tiles;
  }

  // Every operand, used or not: a caller passes them all.
  void add_globals() {
    for (int g = 0; g < attention_.global_count; ++g) {
      Global global;
      for (int operand = 0; operand < KernelAttention::kOperands; ++operand) {
        if (attention_.operand[operand] == g) include(global, operand);
      }
      sketch_.add_global(global);
    }
  }
  void include(Global& global, int operand) const {
    core::ByteRange range{.high = core::byte_size(dtype_of(operand))};
    const auto add = [&](const AttentionDim& dim) { range.repeat(dim.size, dim.strides[operand]); };
    for (int d = 0; d < attention_.batch_rank; ++d) add(attention_.batch[d]);
    add(first_dim(operand));
    add(second_dim(operand));
    vm::include(range, dtype_of(operand), global);
    if (operand == kResult) global.written = 1;
  }

  Operand stream(int operand) {
    std::vector<int64_t> strides;
    for (int d = 0; d < attention_.batch_rank; ++d)
      strides.push_back(attention_.batch[d].strides[operand]);
    strides.push_back(attention_.rows.strides[operand] * tile_.rows);
    return sketch_.stream(attention_.operand[operand], 0, std::move(strides),
                          attention_.keys.strides[operand] * tile_.keys);
  }
  Operand mode_of(int operand) {
    Operand made = *lies(operand);
    made.index = stream(operand).index;
    return made;
  }

  // Of an instruction whose extents of these numbers, if not 0, are rows of q and of k.
  struct Tails {
    uint8_t split = 0;
    uint32_t tail = 0;
    std::vector<Tail> more;
  };
  Tails tails(int rows_extent, int keys_extent) const {
    Tails made;
    const Side rows{attention_.rows, tile_.rows}, keys{attention_.keys, tile_.keys};
    if (rows_extent != 0 && rows.ends_short()) {
      made.split = static_cast<uint8_t>(rows_extent);
      made.tail = rows.last();
    }
    if (keys_extent != 0 && keys.ends_short()) {
      made.more.push_back({.extent = static_cast<uint8_t>(keys_extent),
                           .axis = static_cast<uint8_t>(kFirstLoopAxis),
                           .value = keys.last()});
    }
    return made;
  }

  // Between a slot and an operand in memory.
  void move(Insn insn, int operand, const Operand& slot) {
    const AttentionDim &outer = first_dim(operand), &inner = second_dim(operand);
    const auto tile = [&](const AttentionDim& dim) {
      if (&dim == &attention_.rows) return tile_.rows;
      return &dim == &attention_.keys ? tile_.keys : dim.size;
    };
    const int rows_extent = &outer == &attention_.rows ? 1 : 0;
    const int keys_extent = &outer == &attention_.keys ? 1 : &inner == &attention_.keys ? 2 : 0;
    Tails tails_here = tails(rows_extent, keys_extent);
    Instruction fixed{.insn = insn, .dtype = dtype_of(operand)};
    fixed.size = static_cast<uint32_t>(tile(outer) * tile(inner));
    fixed.split = tails_here.split;
    fixed.tail = tails_here.tail;
    std::vector<ViewDim> view = {{tile(outer), outer.strides[operand]},
                                 {tile(inner), inner.strides[operand]}};
    std::vector<Operand> operands = {slot, stream(operand)};
    if (operand == kResult) std::swap(operands[0], operands[1]);
    sketch_.append(fixed, std::move(operands), std::move(view), std::move(tails_here.more));
  }

  Instruction instruction(bool carries) const {
    const Insn insn = !attention_.is_masked()             ? Insn::attend
                      : attention_.mask == DType::boolean ? Insn::attend_masked
                                                          : Insn::attend_biased;
    MatrixAux aux{.loop = {}, .source = attention_.dtype};
    if (carries) aux.loop = 0;
    return {.insn = insn,
            .dtype = sums_,
            .aux = aux.code(sums_),
            .m = static_cast<uint32_t>(tile_.rows),
            .size = static_cast<uint32_t>(tile_.keys),
            .n = static_cast<uint32_t>(attention_.columns.size)};
  }
  AttentionWords attention_words() const {
    return {.depth = static_cast<uint32_t>(attention_.depth.size),
            .causal = attention_.causal ? 1u : 0u,
            .scale = attention_.scale,
            .fill = attention_.mask == DType::boolean ? attention_.fill : 0,
            .last = attention_.causal ? attention_.last : 0};
  }
  void append(const Operand& d, const Operand& q, const Operand& k, const Operand& v,
              const Operand& mask, bool carries) {
    const int m = static_cast<int>(Split::m), size = static_cast<int>(Split::size);
    Tails tails_here = tails(m, carries ? size : 0);
    Instruction insn = instruction(carries);
    insn.split = tails_here.split;
    insn.tail = tails_here.tail;
    std::vector<Operand> operands = {d, q, k, v};
    if (attention_.is_masked()) operands.push_back(mask);
    sketch_.append_attention(insn, std::move(operands), attention_words(),
                             std::move(tails_here.more));
  }

  // All of a tile at once; straight to memory, where that holds rows of what is added up.
  void attend(const Operand& q, const Operand& k, const Operand& v, const Operand& mask) {
    if (sums_ == attention_.dtype && lies(kResult)) {
      return append(mode_of(kResult), q, k, v, mask, false);
    }
    const Operand d = sketch_.slot(tile_.rows * attention_.columns.size, sums_);
    append(d, q, k, v, mask, false);
    store(d);
  }

  void attend_in_steps() {
    const int64_t depth = attention_.depth.size, columns = attention_.columns.size;
    const DType dtype = attention_.dtype;
    const Operand q = sketch_.slot(tile_.rows * depth, dtype);
    const Operand k = sketch_.slot(tile_.keys * depth, dtype);
    const Operand v = sketch_.slot(tile_.keys * columns, dtype);
    const Operand mask =
        attention_.is_masked() ? sketch_.slot(tile_.rows * tile_.keys, attention_.mask) : Operand{};
    const Operand d = sketch_.slot(tile_.rows * (columns + 2), sums_);
    move(Insn::view_load, kQ, q);
    sketch_.begin_loop(core::ceil_div(attention_.keys.size, tile_.keys));
    move(Insn::view_load, kK, k);
    move(Insn::view_load, kV, v);
    if (attention_.is_masked()) move(Insn::view_load, kMask, mask);
    append(d, q, k, v, mask, true);
    sketch_.end_loop();
    store(d);
  }

  void store(Operand from) {
    if (sums_ != attention_.dtype) {
      const int64_t elements = tile_.rows * attention_.columns.size;
      const Operand rounded = sketch_.slot(elements, attention_.dtype);
      Instruction cast{.insn = Insn::cast,
                       .dtype = attention_.dtype,
                       .aux = static_cast<uint8_t>(sums_),
                       .size = static_cast<uint32_t>(elements)};
      const Side rows{attention_.rows, tile_.rows};
      if (rows.ends_short()) {
        cast.split = static_cast<uint8_t>(Split::size);
        cast.tail = static_cast<uint32_t>(rows.last() * attention_.columns.size);
      }
      sketch_.append(cast, {rounded, from});
      from = rounded;
    }
    move(Insn::view_store, kResult, from);
  }

  const Attention& attention_;
  const TargetTraits& target_;
  const DType sums_;
  const bool in_place_;
  const Tile tile_;
  ProgramSketch sketch_;
};

}  // namespace

Program encode_attention(const Attention& attention, const TargetTraits& target,
                         std::span<uint64_t> words) {
  return AttentionEncoder(attention, target).run(words);
}

}  // namespace dvm::vm
