#include "capture/path/same_steps.h"

#include "capture/path/literals.h"

namespace dvm::capture {

namespace {

bool same_object(StepOf known, int32_t a, StepOf fresh, int32_t b) {
  if (a < 0 || b < 0) return a == b;
  return same_literal(known.path.object(a), fresh.path.object(b));
}

bool same_location(StepOf known, int32_t a, StepOf fresh, int32_t b) {
  if (a < 0 || b < 0) return a == b;
  return known.path.locations[static_cast<size_t>(a)] ==
         fresh.path.locations[static_cast<size_t>(b)];
}

}  // namespace

bool Renaming::same(const std::vector<int32_t>& known, const std::vector<int32_t>& fresh) const {
  if (known.size() != fresh.size()) return false;
  for (size_t i = 0; i < known.size(); ++i) {
    if (!same(known[i], fresh[i])) return false;
  }
  return true;
}

bool same_step(StepOf known, StepOf fresh, Renaming& renaming) {
  if (known.step.op != fresh.step.op) return false;
  const int32_t *a = known.operands(), *b = fresh.operands();
  const std::string_view letters = info(known.step.op).operands;
  const bool defines = letters.starts_with('d');
  for (const char letter : letters) {
    bool same = false;
    switch (letter) {
      case 'd':
        same = true;
        break;
      case 'r':
        same = renaming.same(*a, *b);
        break;
      case 'q':
        same = *a < 0 || *b < 0 ? *a == *b : renaming.same(*a, *b);
        break;
      case 'R':
        same = *a == *b;
        for (int32_t count = *a; same && count > 0; --count) same = renaming.same(*++a, *++b);
        break;
      case 'o':
      case 'w':
      case 'n':
      case 'K':
        same = same_object(known, *a, fresh, *b);
        break;
      case 'g':
        same = known.path.signatures[static_cast<size_t>(*a)] ==
               fresh.path.signatures[static_cast<size_t>(*b)];
        break;
      case 'l':
        same = same_location(known, *a, fresh, *b);
        break;
      case 'f':
        same = true;
        break;
      case 'N':
      case 'S':
        break;
      default:
        same = *a == *b;
    }
    if (!same) return false;
    ++a, ++b;
  }
  if (defines) renaming.bind(fresh.operands()[0], known.operands()[0]);
  return true;
}

bool same_question(StepOf known, StepOf fresh, const Renaming& renaming) {
  if (known.step.op != fresh.step.op || info(known.step.op).category != Category::choice) {
    return false;
  }
  const int32_t *a = known.operands(), *b = fresh.operands();
  for (const char letter : info(known.step.op).operands) {
    if (letter == 'r' && !renaming.same(*a, *b)) return false;
    ++a, ++b;
  }
  return true;
}

bool same_segment(const Segment& known, const Segment& fresh, const Renaming& renaming) {
  if (known.graph.size() != fresh.graph.size() || known.flags != fresh.flags ||
      !renaming.same(known.tensors, fresh.tensors) ||
      !renaming.same(known.scalars, fresh.scalars)) {
    return false;
  }
  core::Graph graph = known.graph;
  graph.outputs = fresh.graph.outputs;
  return core::equal(graph, fresh.graph);
}

}  // namespace dvm::capture
