// What the builder accepts and refuses, and every rule of the verifier with its message.
#include <gtest/gtest.h>

#include <functional>

#include "core/graph/graph.h"
#include "core/ops/elementwise.h"
#include "core/reference/reference.h"

namespace dvm::core {
namespace {

struct Fixture : testing::Test {
  Graph graph;
  Dim s = graph.dims().symbol("s0"), t = graph.dims().symbol("s1");
  Dim big = graph.dims().symbol("n", 2, 64);
  Dim c(int64_t value) { return graph.dims().constant(value); }
  Loc loc = make_loc("model.py", 3);
  Value x = graph.input({DType::f32, {s, c(4)}}, loc);
  Value half = graph.input({DType::f16, {s, c(4)}}, loc);
  Value flag = graph.input({DType::boolean, {s, c(4)}}, loc);
  Value count = graph.input({DType::i32, {s, c(4)}}, loc);
  Value row = graph.input({DType::f32, {c(4)}}, loc);
  Value cube = graph.input({DType::f32, {s, c(4), t}}, loc);
  Value two = graph.constant(DType::f32, Scalar::of_float(2), loc);

  // The code's Python class and the message.
  std::string refusal(const std::function<void()>& build) {
    const int before = graph.size();
    try {
      build();
    } catch (const Error& e) {
      EXPECT_EQ(graph.size(), before) << "a refused node was added";
      EXPECT_TRUE(!e.loc() || e.loc() == loc);
      return std::string(error_info(e.code()).python_class) + " " + e.message();
    }
    return "accepted";
  }
  std::string operation(Op op, std::vector<Value> inputs) {
    return refusal([&] { graph.elementwise(op, inputs, loc); });
  }
  std::string broadcast(Value v, Shape shape) {
    return refusal([&] { graph.broadcast(v, shape, loc); });
  }
};
using Builder = Fixture;
using Verifier = Fixture;

TEST_F(Builder, InfersTypes) {
  const Value y = graph.elementwise(Op::add, std::vector{x, x});
  EXPECT_EQ(graph.type(y), graph.type(x));
  const Value less = graph.elementwise(Op::lt, std::vector{x, y});
  EXPECT_EQ(graph.type(less), (Type{DType::boolean, {s, c(4)}}));
  const Value chosen = graph.elementwise(Op::select, std::vector{less, half, half});
  EXPECT_EQ(graph.type(chosen), graph.type(half));
  EXPECT_EQ(graph.type(graph.cast(less, DType::f64)), (Type{DType::f64, {s, c(4)}}));
  EXPECT_EQ(graph.type(graph.reduce(Op::sum, cube, {1, 2})), (Type{DType::f32, {s, c(1), c(1)}}));
  EXPECT_EQ(graph.type(graph.transpose(cube, {2, 0, 1})), (Type{DType::f32, {t, s, c(4)}}));
  EXPECT_EQ(graph.type(graph.reshape(x, {s * 4})), (Type{DType::f32, {s * 4}}));
  EXPECT_EQ(graph.type(graph.slice(x, {c(0), c(1)}, {1, 2}, {s, c(2)})).shape, (Shape{s, c(2)}));
  EXPECT_EQ(graph.type(graph.dim_value(DType::i64, s * t)), (Type{DType::i64, {}}));
  const std::vector<Value> expected{x, half, flag, count, row, cube};
  EXPECT_EQ(graph.inputs(), expected);
  verify(graph);
}

TEST_F(Builder, ConstantsAreRoundedOrRefused) {
  EXPECT_EQ(graph.node(graph.constant(DType::f32, Scalar::of_float(0.1))).attrs.value.as_float(),
            0.1f);
  const std::string refused = "DtypeError constant: the value is not one of ";
  EXPECT_EQ(refusal([&] { graph.constant(DType::i32, Scalar::of_int(int64_t{1} << 31)); }),
            refused + "i32");
  EXPECT_EQ(refusal([&] { graph.constant(DType::boolean, Scalar::of_int(2)); }), refused + "bool");
}

TEST_F(Builder, ElementwiseRules) {
  EXPECT_EQ(operation(Op::add, {x, x}), "accepted");
  EXPECT_EQ(operation(Op::add, {flag, flag}), "accepted");
  EXPECT_EQ(operation(Op::add, {x}), "GraphError add: takes 2 operands, got 1");
  EXPECT_EQ(operation(Op::add, {x, 99}), "GraphError add: operand %99 does not exist");
  EXPECT_EQ(operation(Op::add, {x, -1}), "GraphError add: operand %-1 does not exist");
  EXPECT_EQ(operation(Op::add, {x, row}), "ShapeError add: operands have shapes [s0, 4] and [4]");
  EXPECT_EQ(operation(Op::add, {x, half}), "DtypeError add: operands are f32 and f16");
  EXPECT_EQ(operation(Op::sub, {flag, flag}), "DtypeError sub: does not take bool operands");
  EXPECT_EQ(operation(Op::div, {count, count}), "DtypeError div: does not take i32 operands");
  EXPECT_EQ(operation(Op::exp, {count}), "DtypeError exp: does not take i32 operands");
  EXPECT_EQ(operation(Op::select, {x, x, x}), "DtypeError select: the condition is f32, not bool");
  EXPECT_EQ(operation(Op::select, {flag, x, half}), "DtypeError select: operands are f32 and f16");
  EXPECT_EQ(operation(Op::eq, {x, count}), "DtypeError eq: operands are f32 and i32");
  EXPECT_EQ(operation(Op::cast, {x}), "GraphError cast needs its own builder");
  EXPECT_EQ(operation(Op::sum, {x}), "GraphError sum needs its own builder");
}

// Each row's dtype column holds for every dtype.
TEST_F(Builder, ElementwiseDtypesFollowTheTable) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const Value v = graph.input({static_cast<DType>(d), {s}});
    for (size_t i = 0; i < all_ops().size(); ++i) {
      const ElementwiseInfo* row_of = elementwise_info(static_cast<Op>(i));
      if (!row_of) continue;
      const std::vector<Value> operands(static_cast<size_t>(row_of->arity), v);
      EXPECT_EQ(operation(static_cast<Op>(i), operands) == "accepted",
                allows(row_of->operands, static_cast<DType>(d)))
          << row_of->name << " " << kDTypes[d].text;
    }
  }
}

TEST_F(Builder, BroadcastNeedsEqualSizesOrAPossibleOne) {
  EXPECT_EQ(broadcast(two, {s, t, c(7)}), "accepted");
  EXPECT_EQ(broadcast(row, {t, s, c(4)}), "accepted");
  EXPECT_EQ(broadcast(x, {bcast(s, t), c(4)}), "accepted");
  EXPECT_EQ(broadcast(x, {t, c(4)}), "accepted");  // s0 may be 1
  EXPECT_EQ(broadcast(x, {c(5), c(4)}), "accepted");
  EXPECT_EQ(broadcast(row, {c(5)}), "ShapeError broadcast: shape [4] does not broadcast to [5]");
  EXPECT_EQ(broadcast(row, {s}), "ShapeError broadcast: shape [4] does not broadcast to [s0]");
  EXPECT_EQ(broadcast(x, {c(4)}), "ShapeError broadcast: shape [s0, 4] does not broadcast to [4]");
  const Value never_one = graph.input({DType::f32, {big}});
  EXPECT_EQ(broadcast(never_one, {big}), "accepted");
  EXPECT_EQ(broadcast(never_one, {bcast(t, bcast(big, s))}), "accepted");
  EXPECT_EQ(broadcast(never_one, {s}),
            "ShapeError broadcast: shape [n] does not broadcast to [s0]");
}

TEST_F(Builder, ReductionRules) {
  const auto reduce = [&](Op op, Value v, std::vector<int> axes) {
    return refusal([&] { graph.reduce(op, v, axes, loc); });
  };
  EXPECT_EQ(reduce(Op::max, flag, {0}), "accepted");
  EXPECT_EQ(reduce(Op::sum, cube, {}), "GraphError sum: needs at least one axis");
  EXPECT_EQ(reduce(Op::sum, cube, {0, 2}), "GraphError sum: axes [0, 2] are not neighbours");
  EXPECT_EQ(reduce(Op::sum, cube, {1, 0}), "GraphError sum: axes [1, 0] are not neighbours");
  EXPECT_EQ(reduce(Op::sum, cube, {1, 1}), "GraphError sum: axes [1, 1] are not neighbours");
  EXPECT_EQ(reduce(Op::sum, cube, {3}), "GraphError sum: axes [3] of a tensor of rank 3");
  EXPECT_EQ(reduce(Op::max, cube, {-1}), "GraphError max: axes [-1] of a tensor of rank 3");
  EXPECT_EQ(reduce(Op::sum, two, {0}), "GraphError sum: axes [0] of a tensor of rank 0");
  EXPECT_EQ(reduce(Op::sum, flag, {0}), "DtypeError sum: does not take bool operands");
  EXPECT_EQ(reduce(Op::add, x, {0}), "GraphError add is no reduction");
}

TEST_F(Builder, ViewRules) {
  const auto reshape = [&](Shape shape) { return refusal([&] { graph.reshape(x, shape, loc); }); };
  EXPECT_EQ(reshape({c(2), s, c(2)}), "accepted");
  EXPECT_EQ(reshape({t}), "accepted");  // known only at run time
  EXPECT_EQ(reshape({s * 4 + 1}), "ShapeError reshape: cannot reshape [s0, 4] into [4*s0 + 1]");
  EXPECT_EQ(refusal([&] { graph.reshape(row, {c(5)}, loc); }),
            "ShapeError reshape: cannot reshape [4] into [5]");
  const auto transpose = [&](std::vector<int> axes) {
    return refusal([&] { graph.transpose(x, axes, loc); });
  };
  EXPECT_EQ(transpose({0}),
            "GraphError transpose: axes [0] do not permute those of a tensor of rank 2");
  EXPECT_EQ(transpose({0, 0}),
            "GraphError transpose: axes [0, 0] do not permute those of a tensor of rank 2");
  EXPECT_EQ(refusal([&] { graph.transpose(two, {}, loc); }), "accepted");
  const auto slice = [&](int64_t start, int64_t step, int64_t n) {
    return refusal([&] { graph.slice(row, {c(start)}, {step}, {c(n)}, loc); });
  };
  EXPECT_EQ(slice(3, -1, 4), "accepted");
  EXPECT_EQ(slice(4, 1, 0), "accepted");
  EXPECT_EQ(slice(0, 0, 1), "GraphError slice: step 0 of axis 0");
  EXPECT_EQ(slice(-1, 1, 1), "ShapeError slice: start -1 is negative");
  EXPECT_EQ(slice(1, 1, 4),
            "ShapeError slice: axis 0 of [4] ends before 4 elements from 1 with step 1");
  EXPECT_EQ(slice(2, -1, 4),
            "ShapeError slice: axis 0 of [4] ends before 4 elements from 2 with step -1");
  EXPECT_EQ(slice(0, INT64_MAX, INT64_MAX),
            "ShapeError slice: axis 0 of [4] ends before 9223372036854775807 elements from 0 with "
            "step 9223372036854775807");
  EXPECT_EQ(refusal([&] { graph.slice(row, {}, {}, {}, loc); }),
            "GraphError slice: starts, steps and shape need one entry per axis of [4]");
}

TEST_F(Builder, SizesAreChecked) {
  const auto input = [&](Shape shape) {
    return refusal([&] { graph.input({DType::f32, shape}, loc); });
  };
  EXPECT_EQ(input({c(-1)}), "ShapeError input: size -1 is negative");
  EXPECT_EQ(input({Dim()}), "GraphError input: size is missing");
  EXPECT_EQ(input({graph.dims().overflow()}), "ShapeError input: size is out of range");
  EXPECT_EQ(input(Shape(9, s)), "GraphError input: rank 9 exceeds 8");
  EXPECT_EQ(input({c(int64_t{1} << 40), c(int64_t{1} << 40)}),
            "ShapeError input: shape [1099511627776, 1099511627776] has too many elements");
  EXPECT_EQ(input({c(int64_t{1} << 40), c(int64_t{1} << 40), c(0)}), "accepted");
  Graph other;
  EXPECT_EQ(input({other.dims().symbol("z")}),
            "GraphError input: size z belongs to another context");
  EXPECT_EQ(refusal([&] { graph.dim_value(DType::boolean, s, loc); }),
            "DtypeError dim: a size is no bool");
  EXPECT_EQ(refusal([&] {
              graph.call("", {}, {DType::f32, {}}, loc);
            }),
            "GraphError call: needs the attribute 'callee'");
  for (const char* with : {"neg", "gcd", "eq", "sum", ""}) {
    EXPECT_EQ(refusal([&] { graph.along(Op::scan, std::vector{x}, 0, with, loc); }),
              "DtypeError scan: '" + std::string(with) + "' makes no f32 of two");
  }
  EXPECT_EQ(refusal([&] {
              graph.along(Op::fold, std::vector{x, x}, 0, "sub", loc);
            }),
            "ShapeError fold: elements of shape [s0, 4] do not go on from [s0, 4]");
}

// Node by node as the builder would never write them.
TEST_F(Verifier, NamesTheBrokenRule) {
  const Value y = graph.elementwise(Op::add, std::vector{x, x}, loc);
  graph.outputs = {y};
  verify(graph);
  const std::string prefix = "GraphError %" + std::to_string(y) + " = add: ";
  const auto broken = [&](const std::function<void(Node&)>& edit) {
    Graph copy(graph.shared_dims());
    for (Value v = 0; v < graph.size(); ++v) {
      Node node = graph.node(v);
      if (v == y) edit(node);
      copy.append(std::move(node));
    }
    const std::string text = refusal([&] { verify(copy); });
    EXPECT_TRUE(text.starts_with(prefix)) << text;
    return text.size() > prefix.size() ? text.substr(prefix.size()) : text;
  };
  const std::string self = std::to_string(y);
  EXPECT_EQ(broken([&](Node& n) { n.inputs[1] = y; }),
            "operand %" + self + " is not defined before");
  EXPECT_EQ(broken([](Node& n) { n.inputs[0] = -1; }), "operand %-1 is not defined before");
  EXPECT_EQ(broken([](Node& n) { n.inputs.pop_back(); }), "takes 2 operands, got 1");
  EXPECT_EQ(broken([](Node& n) { n.type.dtype = DType::f64; }),
            "the type is f32[s0, 4], not f64[s0, 4]");
  EXPECT_EQ(broken([](Node& n) { n.type.shape.pop_back(); }),
            "the type is f32[s0, 4], not f32[s0]");
  EXPECT_EQ(broken([](Node& n) { n.type.shape[0] = Dim(); }), "size is missing");
  EXPECT_EQ(broken([&](Node& n) { n.inputs[1] = half; }), "operands are f32 and f16");
  EXPECT_EQ(broken([](Node& n) { n.attrs.value = Scalar::of_int(1); }), "has no attribute 'value'");
  EXPECT_EQ(broken([&](Node& n) { n.attrs.size = s; }), "has no attribute 'size'");
  EXPECT_EQ(broken([](Node& n) { n.attrs.axes = {0}; }), "has no attribute 'axes'");
  EXPECT_EQ(broken([&](Node& n) { n.attrs.starts = {s}; }), "has no attribute 'starts'");
  EXPECT_EQ(broken([](Node& n) { n.attrs.steps = {1}; }), "has no attribute 'steps'");
  EXPECT_EQ(broken([](Node& n) { n.attrs.callee = "f"; }), "has no attribute 'callee'");
  EXPECT_EQ(broken([](Node& n) { n.attrs.with = "add"; }), "has no attribute 'with'");
}

TEST_F(Verifier, ChecksSourcesAndOutputs) {
  const auto verified = [&](Node node) {
    Graph copy(graph.shared_dims());
    copy.append(std::move(node));
    return refusal([&] { verify(copy); });
  };
  Node node;
  node.op = Op::dim;
  EXPECT_EQ(verified(node), "GraphError %0 = dim: needs the attribute 'size'");
  node.op = Op::scalar;
  node.type.shape = {s};
  EXPECT_EQ(verified(node), "GraphError %0 = scalar: has rank 0, not shape [s0]");
  node = Node();
  node.op = Op::constant;
  node.attrs.value = Scalar::of_float(0.1);
  EXPECT_EQ(verified(node), "GraphError %0 = constant: the value is not one of f32");
  for (const Value v : {-1, graph.size()}) {
    Graph copy(graph);
    copy.outputs = {v};
    EXPECT_EQ(refusal([&] { verify(copy); }),
              "GraphError returned value %" + std::to_string(v) + " does not exist");
  }
}

TEST_F(Verifier, TensorConstantsAreSuppliedOnceTheyAreKnown) {
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  const auto tensor = [&](std::vector<int64_t> shape) {
    return own_tensor(DType::f32, std::move(shape), std::as_bytes(std::span(numbers)));
  };
  Graph named;
  const Shape shape = {named.dims().constant(3), named.dims().constant(2)};
  const Value w = named.tensor({DType::f32, shape}, "w");
  named.outputs = {w};
  EXPECT_EQ(refusal([&] { evaluate(named, {}); }),
            "UnsupportedError the graph has a constant 'w', which is not supplied");
  EXPECT_EQ(refusal([&] {
              named.supply(w, tensor({2, 3}));
            }),
            "ShapeError tensor: the values have another shape than [3, 2]");
  EXPECT_EQ(refusal([&] {
              named.supply(w, own_tensor(DType::i32, {3, 2}, {}));
            }),
            "DtypeError tensor: the values are i32, not f32");
  EXPECT_FALSE(named.node(w).attrs.values);
  const Graph before = named;
  // The transpose of memory in C order, as the host may lend it.
  TensorData lent = *tensor({2, 3});
  std::swap(lent.shape[0], lent.shape[1]);
  std::swap(lent.strides[0], lent.strides[1]);
  lent.owner = &lent;
  named.supply(w, Tensor(lent));
  EXPECT_TRUE(equal(named, before)) << "what a name stands for is no part of a Graph";
  const Array result = evaluate(named, {})[0];
  EXPECT_EQ(std::vector(elements<float>(result).begin(), elements<float>(result).end()),
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(refusal([&] { named.tensor(Tensor(lent)); }),
            "GraphError tensor: needs a name, for its memory is the host's");
  const Value own = named.tensor(tensor({6}));
  EXPECT_EQ(refusal([&] { named.supply(own, tensor({6})); }),
            "GraphError only tensor constants with a name are supplied");
}

TEST(Ops, NamesRoundTrip) {
  for (size_t i = 0; i < all_ops().size(); ++i) {
    EXPECT_EQ(op_from_text(all_ops()[i].name), static_cast<Op>(i));
  }
  EXPECT_EQ(op_from_text("no_such_op"), std::nullopt);
}

}  // namespace
}  // namespace dvm::core
