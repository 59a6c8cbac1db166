// The guard tree: a prefix tree over the signatures of the arguments, so that shared checks of
// several paths run once and the first difference ends the search. Published leaves never change.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capture/signature.h"

namespace dvm::capture {

template <typename Leaf>
class GuardTree {
 public:
  // The leaves whose arguments have these signatures, newest last; empty when there are none.
  std::span<const std::unique_ptr<Leaf>> find(std::span<const Signature> signatures) const {
    const Node* node = &root_;
    for (const Signature signature : signatures) {
      node = node->child(signature);
      if (node == nullptr) return {};
    }
    return node->leaves;
  }

  Leaf& insert(std::span<const Signature> signatures, std::unique_ptr<Leaf> leaf) {
    Node* node = &root_;
    for (const Signature signature : signatures) {
      Node* next = const_cast<Node*>(node->child(signature));
      if (next == nullptr) {
        node->edges.push_back({signature, std::make_unique<Node>()});
        next = node->edges.back().child.get();
      }
      node = next;
    }
    node->leaves.push_back(std::move(leaf));
    return *node->leaves.back();
  }

  // In the order of insertion per node: argument by argument.
  template <typename Visit>
  void visit(Visit&& visit_leaf) const {
    root_.visit(visit_leaf);
  }

 private:
  struct Node;
  struct Edge {
    Signature signature;
    std::unique_ptr<Node> child;
  };
  struct Node {
    std::vector<Edge> edges;
    std::vector<std::unique_ptr<Leaf>> leaves;

    const Node* child(Signature signature) const {
      for (const Edge& edge : edges) {
        if (edge.signature == signature) return edge.child.get();
      }
      return nullptr;
    }
    template <typename Visit>
    void visit(Visit&& visit_leaf) const {
      for (const auto& leaf : leaves) visit_leaf(*leaf);
      for (const Edge& edge : edges) edge.child->visit(visit_leaf);
    }
  };
  Node root_;
};

}  // namespace dvm::capture
