#include "vm/text/listing.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/text/unknown.h"
#include "vm/isa/program_builder.h"

namespace dvm::vm {

namespace {

// The value of pool bits; a double is exact for every floating dtype, NaN apart.
template <DType D>
Scalar value_of(uint64_t bits) {
  core::Storage<D> value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof(value));
  return core::scalar_of<D>(value);
}

template <DType D>
constexpr uint64_t kSign = uint64_t{1} << (8 * sizeof(core::Storage<D>) - 1);

// Decimal digits are added until the text reads back, by the very steps of the parser, to `bits`.
template <DType D>
std::string shortest(uint64_t bits) {
  const double value = value_of<D>(bits).as_float();
  char text[64];
  for (int digits = 1;; ++digits) {
    const auto [end, status] =
        std::to_chars(text, text + sizeof(text), value, std::chars_format::general, digits);
    double read = 0;
    std::from_chars(text, end, read);
    const bool last = digits == std::numeric_limits<double>::max_digits10;
    if (last || scalar_pool_bits(D, Scalar::of_float(read)) == bits) {
      return std::string(text, end);
    }
  }
}

}  // namespace

std::string listing_dtype(DType dtype) {
  std::string text(core::to_string(dtype));
  if (text[0] == 'f') text.insert(1, 1, 'p');
  return text;
}

std::optional<DType> listing_dtype_from_text(std::string_view text) {
  for (int d = 0; d < core::kDTypeCount; ++d) {
    if (listing_dtype(static_cast<DType>(d)) == text) return static_cast<DType>(d);
  }
  return std::nullopt;
}

DType parse_listing_dtype(core::TextLexer& in) {
  const std::string_view text = in.word("a dtype");
  const auto dtype = listing_dtype_from_text(text);
  if (!dtype) {
    std::vector<std::string> dtypes;
    for (int d = 0; d < core::kDTypeCount; ++d) {
      dtypes.push_back(listing_dtype(static_cast<DType>(d)));
    }
    in.error(core::unknown("dtype", text, dtypes));
  }
  return *dtype;
}

std::string listing_name(Insn insn) {
  std::string name(info(insn).name);
  if (!is_transfer(info(insn).format)) name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

std::optional<Insn> insn_from_listing_name(std::string_view name) {
  for (int i = 0; i < kInsnCount; ++i) {
    if (listing_name(static_cast<Insn>(i)) == name) return static_cast<Insn>(i);
  }
  return std::nullopt;
}

std::string listing_scalar(DType dtype, uint64_t bits) {
  return core::dispatch(dtype, [&]<DType D>() -> std::string {
    if constexpr (core::is_floating(D)) {
      if (!std::isnan(value_of<D>(bits).as_float())) return shortest<D>(bits);
      char text[32];
      const auto end = std::to_chars(text, text + sizeof(text), bits & ~kSign<D>, 16).ptr;
      return std::string(bits & kSign<D> ? "-nan(0x" : "nan(0x") + std::string(text, end) + ")";
    } else {
      return core::integer_text(D, value_of<D>(bits));
    }
  });
}

uint64_t parse_listing_scalar(core::TextLexer& in, DType dtype) {
  return core::dispatch(dtype, [&]<DType D>() -> uint64_t {
    if constexpr (core::is_floating(D)) {
      const bool negative = in.take("-");
      const uint64_t sign = negative ? kSign<D> : 0;
      if (in.take_word("nan")) {
        in.expect("(");
        const auto bits = static_cast<uint64_t>(in.integer(0, INT64_MAX));
        const bool fits = bits < kSign<D>;
        if (!fits || !std::isnan(value_of<D>(bits).as_float())) in.error("these bits are no NaN");
        in.expect(")");
        return bits | sign;
      }
      return scalar_pool_bits(D, Scalar::of_float(in.real())) ^ sign;
    } else if constexpr (D == DType::u64) {
      return in.natural();
    } else {
      using Limits = std::numeric_limits<core::Storage<D>>;
      const int64_t high = D == DType::boolean ? 1 : Limits::max();
      return scalar_pool_bits(D, Scalar::of_int(in.integer(Limits::min(), high)));
    }
  });
}

namespace {

constexpr std::string_view kBankNames = "axy";
static_assert(kBankNames.size() == kBanks);

}  // namespace

std::string listing_place(uint8_t place) {
  if (place >= kFirstOperand) return "o" + std::to_string(place - kFirstOperand);
  return std::string(1, kBankNames[static_cast<size_t>(place - kFirstBank)]);
}

std::optional<uint8_t> place_from_listing(std::string_view text) {
  for (int place = kFirstBank; place < kFirstOperand + kMaxChainOperands; ++place) {
    if (listing_place(static_cast<uint8_t>(place)) == text) return static_cast<uint8_t>(place);
  }
  return std::nullopt;
}

std::string listing_pipes(Pipe src, Pipe dst) {
  return std::string(to_string(src)) + "_" + std::string(to_string(dst));
}

std::optional<Sync> sync_from_listing_name(std::string_view name) {
  for (int src = 0; src < kPipeCount; ++src) {
    for (int dst = 0; dst < kPipeCount; ++dst) {
      Sync sync;
      sync.src = static_cast<Pipe>(src);
      sync.dst = static_cast<Pipe>(dst);
      if (listing_pipes(sync.src, sync.dst) + "_sync" == name) return sync;
    }
  }
  return std::nullopt;
}

std::string listing_axis(int axis) {
  return axis < kFirstLoopAxis ? std::to_string(axis)
                               : "loop" + std::to_string(axis - kFirstLoopAxis);
}

uint64_t stored_bytes(const Instruction& insn, const AxisSteps& steps, DType dtype) {
  uint64_t bytes = 0;
  for_each_ends(insn, [&](Ends at_end, Ends before_end) {
    auto times = static_cast<uint64_t>(operand_elements(insn, 0, at_end)) *
                 static_cast<uint64_t>(core::byte_size(dtype));
    for (size_t axis = 0; axis < steps.size(); ++axis) {
      const auto all = static_cast<uint64_t>(steps[axis]);
      times *= (at_end >> axis & 1) != 0 ? 1 : (before_end >> axis & 1) != 0 ? all - 1 : all;
    }
    bytes += times;
  });
  return bytes;
}

AxisSteps axis_steps(std::span<const int64_t> grid, std::span<const int64_t> loops,
                     std::span<const int> around) {
  AxisSteps steps;
  steps.fill(1);
  for (size_t d = 0; d < grid.size(); ++d) steps[grid.size() - 1 - d] = grid[d];
  for (const int loop : around) {
    steps[kFirstLoopAxis + static_cast<size_t>(loop)] = loops[static_cast<size_t>(loop)];
  }
  return steps;
}

}  // namespace dvm::vm
