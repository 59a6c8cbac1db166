// Random modules: a data type of trees, functions over them that call each other, and a tree.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/module.h"
#include "core/reference/reference.h"

namespace dvm::test {

struct ModuleCase {
  core::Module module;
  std::vector<core::Array> inputs;  // a tree, and an array of as many elements as its leaves have
};

// The graphs are text, for that is how a person writes them. Every function takes a tree and an
// array of n elements and gives an array of n elements and a tree; it calls functions on subtrees.
class ModuleGenerator {
 public:
  explicit ModuleGenerator(uint64_t seed) : random_(seed) {}

  ModuleCase run() {
    elements_ = std::vector<int64_t>{0, 1, 3, 17, 1030}[pick(5)];
    const size_t constructors = 2 + pick(2);
    for (size_t k = 0; k < constructors; ++k) shapes_.push_back(k == 0 ? leaf_fields() : fields());
    functions_ = 1 + pick(3);
    std::string text = "module v1 {\n  data Tree = ";
    for (size_t k = 0; k < constructors; ++k) text += (k ? " | " : "") + constructor(k);
    text += "\n  closure Step = (f64[?]) -> (f64[?])\n";
    for (size_t f = 0; f < functions_; ++f) text += function(f);
    text += step("grow", "exp") + step("turn", "neg");
    text += "  graph v1 {\n    %0 = input Tree\n    %1 = input f64[n]\n" +
            std::string(
                "    %2 = invoke(%0, %1) f64[n] {callee = \"f0\", results = 2}\n"
                "    %3 = result(%2) Tree {index = 1}\n"
                "    %4 = abs(%2) f64[n]\n    return %4, %3\n") +
            "  }\n}\n";
    ModuleCase made{core::parse_module(text), {}};
    made.inputs.push_back(tree(static_cast<int>(2 + pick(4))));
    made.inputs.push_back(array());
    return made;
  }

 private:
  size_t pick(size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random_); }

  std::vector<bool> leaf_fields() { return std::vector<bool>(1 + pick(2), false); }
  // Whether each is a tree.
  std::vector<bool> fields() {
    std::vector<bool> of(1 + pick(3));
    for (size_t k = 0; k < of.size(); ++k) of[k] = k == 0 || pick(2) == 0;
    return of;
  }
  std::string constructor(size_t k) const {
    std::string text = "C" + std::to_string(k) + "(";
    for (size_t i = 0; i < shapes_[k].size(); ++i) {
      text += (i ? ", x" : "x") + std::to_string(i) + (shapes_[k][i] ? ": Tree" : ": f64[?]");
    }
    return text + ")";
  }

  // A function to be a value, with an array.
  static std::string step(const std::string& name, const std::string& op) {
    return "  function " + name +
           " = graph v1 {\n    %0 = input f64[n]\n    %1 = input f64[n]\n"
           "    %2 = tanh(%1) f64[n]\n    %3 = " +
           (op == "exp" ? "exp" : "neg") +
           "(%2) f64[n]\n    %4 = minimum(%3, %0) f64[n]\n    return %4\n  }\n";
  }

  std::string function(size_t f) {
    std::string text = "  function f" + std::to_string(f) +
                       " = graph v1 {\n    %0 = input Tree\n    %1 = input f64[n]\n"
                       "    %2 = match(%0, %1) f64[n] {results = 2}";
    for (size_t k = 0; k < shapes_.size(); ++k) text += body(k);
    return text + "\n    %3 = result(%2) Tree {index = 1}\n    return %2, %3\n  }\n";
  }

  // Of a case: subtrees through functions, one after the other, arrays into what these give.
  std::string body(size_t k) {
    const std::vector<bool>& of = shapes_[k];
    std::string text = " case C" + std::to_string(k) + " {\n";
    int next = 0;
    const auto value = [&](const std::string& rest) {
      text += "      %" + std::to_string(next) + " = " + rest + "\n";
      return "%" + std::to_string(next++);
    };
    std::vector<std::string> given;
    for (const bool is_tree : of) given.push_back(value(is_tree ? "input Tree" : "input f64[n]"));
    std::string sum = value("input f64[n]");
    std::vector<std::string> rebuilt = given;
    for (size_t i = 0; i < of.size(); ++i) {
      if (of[i]) {
        const std::string made =
            value("invoke(" + given[i] + ", " + sum + ") f64[n] {callee = \"f" +
                  std::to_string(pick(functions_)) + "\", results = 2}");
        if (pick(2) == 0) rebuilt[i] = value("result(" + made + ") Tree {index = 1}");
        sum = value("mul(" + made + ", " + (pick(2) ? sum : made) + ") f64[n]");
        sum = value("tanh(" + sum + ") f64[n]");
      } else {
        rebuilt[i] = value("sub(" + sum + ", " + given[i] + ") f64[n]");
        sum = value("maximum(" + sum + ", " + given[i] + ") f64[n]");
      }
    }
    if (pick(3) == 0) {
      const std::string made = value("closure(" + sum + ") Step {callee = \"" +
                                     std::string(pick(2) ? "grow" : "turn") + "\"}");
      sum = value("apply(" + made + ", " + sum + ") f64[n]");
    }
    std::string fields;
    for (const std::string& field : rebuilt) fields += (fields.empty() ? "" : ", ") + field;
    const std::string tree =
        pick(3) == 0 && k > 0 && of[0]
            ? given[0]
            : value("construct(" + fields + ") Tree {tag = \"C" + std::to_string(k) + "\"}");
    return text + "      return " + sum + ", " + tree + "\n    }";
  }

  core::Array array() {
    core::Array made = core::make_array(core::DType::f64, {elements_});
    for (double& element : core::elements<double>(made)) {
      element = std::normal_distribution<double>()(random_);
    }
    return made;
  }
  core::Array tree(int depth) {
    const size_t k = depth == 0 ? 0 : pick(shapes_.size());
    std::vector<core::Array> fields;
    for (const bool is_tree : shapes_[k]) fields.push_back(is_tree ? tree(depth - 1) : array());
    return core::make_object("C" + std::to_string(k), std::move(fields));
  }

  std::mt19937_64 random_;
  int64_t elements_ = 0;
  size_t functions_ = 1;
  std::vector<std::vector<bool>> shapes_;  // of each constructor
};

inline ModuleCase generate_module(uint64_t seed) { return ModuleGenerator(seed).run(); }

}  // namespace dvm::test
