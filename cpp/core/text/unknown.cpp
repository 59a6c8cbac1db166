#include "core/text/unknown.h"

#include <algorithm>
#include <numeric>

namespace dvm::core {

namespace {

constexpr size_t kMostListed = 24;
// Letters that a name shares with the beginning of another one, as "mul" does with "multiply".
constexpr size_t kLeastBeginning = 3;

// Letters to insert, remove or replace until one is the other (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t before = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = before + (a[i] == b[j] ? 0 : 1);
      before = row[j + 1];
      row[j + 1] = std::min({replaced, before + 1, row[j] + 1});
    }
  }
  return row.back();
}

bool begins_alike(std::string_view a, std::string_view b) {
  return std::min(a.size(), b.size()) >= kLeastBeginning && (a.starts_with(b) || b.starts_with(a));
}

// The one that was probably meant, or null.
const std::string* closest(std::string_view given, const std::vector<std::string>& valid) {
  const std::string* found = nullptr;
  size_t least = std::max<size_t>(1, given.size() / 3) + 1;
  for (const std::string& name : valid) {
    const size_t letters = distance(given, name);
    if (letters < least) found = &name, least = letters;
  }
  if (found != nullptr) return found;
  const auto alike = std::ranges::find_if(
      valid, [&](const std::string& name) { return begins_alike(given, name); });
  return alike == valid.end() ? nullptr : &*alike;
}

}  // namespace

std::string unknown(std::string_view what, std::string_view given,
                    const std::vector<std::string>& valid) {
  std::string text = "unknown " + std::string(what) + " '" + std::string(given) + "'";
  if (const std::string* meant = closest(given, valid))
    return text + "; did you mean '" + *meant + "'?";
  if (valid.size() > kMostListed) return text;
  text += "; there are ";
  for (const std::string& name : valid) text += (&name == valid.data() ? "" : ", ") + name;
  return text;
}

}  // namespace dvm::core
