#include <array>
#include <cctype>
#include <cstring>

#include "fuzz/fuzz_main.h"

namespace dvm::fuzz {

namespace {

size_t below(Random& random, size_t end) { return end == 0 ? 0 : random() % end; }

constexpr std::array<int64_t, 16> kInteresting = {
    0,     1,     -1,        2,         7,          8,         255,       256,
    65535, 65536, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, 1 << 20};

bool is_token(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The token or single character around a random position: [begin, end).
std::pair<size_t, size_t> token_at(std::string_view text, Random& random) {
  const size_t at = below(random, text.size());
  size_t begin = at, end = at + 1;
  if (!is_token(text[at])) return {begin, end};
  while (begin > 0 && is_token(text[begin - 1])) --begin;
  while (end < text.size() && is_token(text[end])) ++end;
  return {begin, end};
}

void change_bytes(std::string& input, std::string_view other, Random& random) {
  const size_t at = below(random, input.size());
  const size_t length = 1 + below(random, 16);
  switch (below(random, 8)) {
    case 0:
      input[at] = static_cast<char>(input[at] ^ (1 << below(random, 8)));
      break;
    case 1:
      input[at] = static_cast<char>(random());
      break;
    case 2:
      input.erase(at, length);
      break;
    case 3:
      input.insert(at, input.substr(below(random, input.size()), length));
      break;
    case 4:
      input.resize(at);
      break;
    case 5:
      if (!other.empty()) input.insert(at, other.substr(below(random, other.size()), length * 4));
      break;
    case 6: {
      const int64_t value = kInteresting[below(random, kInteresting.size())];
      const size_t width = size_t{1} << below(random, 4), place = at / width * width;
      if (place + width <= input.size()) std::memcpy(input.data() + place, &value, width);
      break;
    }
    default: {
      const size_t from = below(random, input.size()) / 8 * 8, to = at / 8 * 8;
      if (std::max(from, to) + 8 <= input.size()) std::memmove(&input[to], &input[from], 8);
    }
  }
}

void change_tokens(std::string& input, std::string_view other, Random& random) {
  const auto [begin, end] = token_at(input, random);
  const std::string_view donor = below(random, 2) == 0 || other.empty() ? input : other;
  const auto [from, to] = token_at(donor, random);
  const std::string token(donor.substr(from, to - from));
  switch (below(random, 4)) {
    case 0:
      input.replace(begin, end - begin, token);
      break;
    case 1:
      input.insert(begin, token + " ");
      break;
    case 2:
      input.erase(begin, end - begin);
      break;
    default:
      input.replace(begin, end - begin,
                    std::to_string(kInteresting[below(random, kInteresting.size())]));
  }
}

}  // namespace

std::string mutate(std::string input, std::string_view other, Random& random) {
  for (size_t count = 1 + below(random, 2) * below(random, 4); count > 0 && !input.empty();
       --count) {
    (below(random, 2) == 0 ? change_bytes : change_tokens)(input, other, random);
  }
  return input;
}

}  // namespace dvm::fuzz
