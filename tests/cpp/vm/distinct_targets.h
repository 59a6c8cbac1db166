// The targets that differ in more than their names: what runs on one runs on all that are alike.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "vm/target/target.h"

namespace dvm::vm {

inline bool alike(TargetTraits a, const TargetTraits& b) {
  a.name = b.name, a.id = b.id;
  return a == b;
}

inline std::vector<TargetTraits> distinct_targets() {
  std::vector<TargetTraits> found;
  for (const TargetTraits& row : all_targets()) {
    const auto same = [&](const TargetTraits& other) { return alike(row, other); };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(row);
  }
  return found;
}

inline std::vector<std::string> distinct_target_names() {
  std::vector<std::string> names;
  for (const TargetTraits& row : distinct_targets()) names.emplace_back(row.name);
  return names;
}

}  // namespace dvm::vm
