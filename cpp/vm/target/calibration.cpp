#include "vm/target/calibration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "core/error.h"

namespace dvm::vm {

namespace {

constexpr std::string_view kTitle = "dvm calibration v1", kMachine = "machine ";
constexpr size_t kLongestLine = 512;

[[noreturn]] void fail_at(int line, const std::string& message) {
  core::fail(core::ErrorCode::text_syntax,
             "calibration, line " + std::to_string(line) + ": " + message);
}

// Takes the next line off the text.
std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// The shortest text that reads back the same.
std::string shortest_text(double value) {
  std::array<char, 32> room;
  const auto result = std::to_chars(room.data(), room.data() + room.size(), value);
  return {room.data(), result.ptr};
}

}  // namespace

void for_each_cost(CostTable& table, const std::function<void(const CostEntry&, double&)>& f) {
  constexpr double kLeast = 0, kMost = 1000;
#define DVM_COST_CLASS(name, b1, b2, b4, b8, f16, f32, f64, synopsis)               \
  for (int column = 0; column < kCostColumns; ++column) {                           \
    f({std::string(#name ".") + kCostColumnNames[column], kLeast, kMost, synopsis}, \
      table.element_ns[static_cast<size_t>(CostClass::name)][column]);              \
  }
#define DVM_COST(name, value, least, most, synopsis) f({#name, least, most, synopsis}, table.name);
#include "vm/target/cost.def"
#undef DVM_COST
#undef DVM_COST_CLASS
}

std::string print(const Calibration& calibration) {
  std::string text(kTitle);
  text += "\n" + std::string(kMachine) + calibration.machine + "\n";
  CostTable table = calibration.table;
  for_each_cost(table, [&](const CostEntry& entry, const double& value) {
    text += entry.name + " " + shortest_text(value) + "\n";
  });
  return text;
}

Calibration parse_calibration(std::string_view text) {
  int line_number = 1;
  if (const std::string_view title = take_line(text); title != kTitle) {
    const bool other = title.starts_with(kTitle.substr(0, kTitle.size() - 1));
    core::fail(other ? core::ErrorCode::text_version : core::ErrorCode::text_syntax,
               "calibration, line 1: '" + std::string(title.substr(0, 40)) + "' is not '" +
                   std::string(kTitle) + "'");
  }
  Calibration result;
  ++line_number;
  std::string_view machine = take_line(text);
  if (!machine.starts_with(kMachine) || machine.size() > kLongestLine) {
    fail_at(line_number, "the machine is not named");
  }
  machine.remove_prefix(kMachine.size());
  if (machine.empty() || machine.front() == ' ' || machine.back() == ' ') {
    fail_at(line_number, "the machine is not named");
  }
  result.machine = machine;

  struct Known {
    CostEntry entry;
    double* value;
    bool given = false;
  };
  std::unordered_map<std::string, Known> constants;
  for_each_cost(result.table, [&](const CostEntry& entry, double& value) {
    constants.emplace(entry.name, Known{entry, &value});
  });
  while (!text.empty()) {
    ++line_number;
    const std::string_view line = take_line(text);
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) fail_at(line_number, "not a name and a number");
    const std::string name(line.substr(0, std::min(space, kLongestLine)));
    const auto found = constants.find(name);
    if (found == constants.end()) fail_at(line_number, "no constant is named '" + name + "'");
    auto& [entry, value, given] = found->second;
    if (given) fail_at(line_number, name + " stands there twice");
    const std::string_view digits = line.substr(space + 1);
    const auto [stop, error] = std::from_chars(digits.begin(), digits.end(), *value);
    if (error != std::errc() || stop != digits.end() || !std::isfinite(*value)) {
      fail_at(line_number, "'" + std::string(digits.substr(0, 40)) + "' is not a number");
    }
    if (*value < entry.least || *value > entry.most) {
      fail_at(line_number, name + " is not in [" + shortest_text(entry.least) + ", " +
                               shortest_text(entry.most) + "]");
    }
    given = true;
  }
  return result;
}

}  // namespace dvm::vm
