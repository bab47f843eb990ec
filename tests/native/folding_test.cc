// Nodes whose operands are constants become constants: tables of positions, masks, sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "delegate_native/ops/op.h"

namespace quadra {
namespace {

// The graph, whose last value is its output, after its shapes are known.
Graph Inferred(const std::string& text) {
  Graph graph;
  Status status = Parse(text, &graph);
  EXPECT_TRUE(status.ok()) << status.message();
  graph.outputs = {static_cast<ValueId>(graph.values.size()) - 1};
  status = InferShapes(&graph);
  EXPECT_TRUE(status.ok()) << status.message();
  return graph;
}

std::vector<float> Floats(const std::string& text) {
  const Graph graph = Inferred(text);
  EXPECT_TRUE(graph.nodes.empty());
  const ConstantData& made = graph.value(graph.outputs[0]).constant;
  return made && IsFloat(made->element()) ? *made->floats() : std::vector<float>();
}

std::vector<int32_t> Ints(const std::string& text) {
  const Graph graph = Inferred(text);
  EXPECT_TRUE(graph.nodes.empty());
  const ConstantData& made = graph.value(graph.outputs[0]).constant;
  return made && !IsFloat(made->element()) ? made->ints() : std::vector<int32_t>();
}

size_t NodesOf(const std::string& text) { return Inferred(text).nodes.size(); }

using F = std::vector<float>;
using I = std::vector<int32_t>;

TEST(Folding, BroadcastsElementwise) {
  EXPECT_EQ(Floats("const %0 [2,1] = {1, 2}\nconst %1 [3] = {10, 20, 30}\n%2 [1] = add(%0, %1)\n"),
            (F{11, 21, 31, 12, 22, 32}));
  EXPECT_EQ(Floats("const %0 [4] = {0.5, -0.5, 7, 2}\nconst %1 [1] = {2}\n%2 [1] = pow(%0, %1)\n"),
            (F{0.25f, 0.25f, 49, 4}));
  EXPECT_EQ(Floats("const %0 [3] = {-2, 0.5, 9}\n%1 [1] = clamp(%0) {low: 0.0, high: 6.0}\n"),
            (F{0, 0.5f, 6}));
}

TEST(Folding, RoundsFunctionsOnce) {
  const F made = Floats("const %0 [2] = {1, 100}\n%1 [1] = sin(%0)\n");
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0], static_cast<float>(std::sin(1.0)));
  EXPECT_EQ(made[1], static_cast<float>(std::sin(100.0)));
}

// As the CPU: a quotient of floats that is rounded up to a whole number is that number.
TEST(Folding, FloorsQuotientsOfFloatsAndOfInts) {
  EXPECT_EQ(
      Floats("const %0 [2] = {9.9, -7}\nconst %1 [2] = {3.3, 2}\n%2 [1] = floor_div(%0, %1)\n"),
      (F{3, -4}));
  EXPECT_EQ(Ints("const %0 int32 [2] = {7, -7}\nconst %1 int32 [2] = {2, 2}\n"
                 "%2 int32 [1] = floor_div(%0, %1)\n"),
            (I{3, -4}));
  EXPECT_EQ(
      Ints("const %0 int32 [2] = {7, -7}\nconst %1 int32 [1] = {2}\n%2 int32 [1] = div(%0, %1)\n"),
      (I{3, -3}));
}

TEST(Folding, CastsAsTheCpuDoes) {
  EXPECT_EQ(Ints("const %0 [4] = {-inf, 1e20, 2.9, -2.9}\n%1 int32 [1] = to_int(%0)\n"),
            (I{INT32_MIN, INT32_MAX, 2, -2}));
}

// NaN is left to the GPU, and so are sums that an int32 has no room for.
TEST(Folding, LeavesWhatHasARuleOfItsOwn) {
  EXPECT_EQ(NodesOf("const %0 [2] = {-1, 1}\n%1 [1] = log(%0)\n"), 1u);
  EXPECT_EQ(NodesOf("const %0 int32 [1] = {2147483647}\n%1 int32 [1] = add(%0, %0)\n"), 1u);
  EXPECT_EQ(NodesOf("const %0 int32 [1] = {0}\n%1 int32 [1] = div(%0, %0)\n"), 1u);
}

TEST(Folding, LeavesLargeResults) {
  const std::string row = "const %0 [1024,1] = splat(1)\nconst %1 [";
  EXPECT_EQ(NodesOf(row + "64] = splat(1)\n%2 [1] = add(%0, %1)\n"), 0u);
  EXPECT_EQ(NodesOf(row + "65] = splat(1)\n%2 [1] = add(%0, %1)\n"), 1u);
  // No more than what it reads, up to a million.
  EXPECT_EQ(NodesOf("const %0 [1024,1024] = splat(1)\n%1 [1] = neg(%0)\n"), 0u);
  EXPECT_EQ(NodesOf("const %0 [1024,1025] = splat(1)\n%1 [1] = neg(%0)\n"), 1u);
}

TEST(Folding, MovesNumbers) {
  const std::string six = "const %0 [2,3] = {1, 2, 3, 4, 5, 6}\n";
  EXPECT_EQ(Floats(six + "%1 [1] = transpose(%0) {order: 1 0}\n"), (F{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(Floats(six + "%1 [1] = strided_slice(%0) {begin: 1 2, end: -9 -9, strides: -1 -2}\n"),
            (F{6, 4, 3, 1}));
  EXPECT_EQ(Floats(six + "const %1 [2,1] = {7, 8}\n%2 [1] = concat(%0, %1) {axis: 3}\n"),
            (F{1, 2, 3, 7, 4, 5, 6, 8}));
  EXPECT_EQ(Floats(six + "%1 [1] = tile(%0) {shape: 2 2 3}\n"),
            (F{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Floats("const %0 [2,1] = {1, 2}\n%1 [1] = tile(%0) {counts: 1 3}\n"),
            (F{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(NodesOf(six + "%1 [1] = tile(%0) {counts: 1 2}\n"), 1u);
  EXPECT_EQ(
      Floats(six +
             "const %1 int32 [2] = {1, 0}\n%2 [1] = gather(%0, %1) {axis: 1, batch_dims: 0}\n"),
      (F{2, 1, 5, 4}));
  EXPECT_EQ(Floats(six + "const %1 int32 [2,1] = {1, 0}\n"
                         "%2 [1] = gather(%0, %1) {axis: 1, batch_dims: 1}\n"),
            (F{2, 4}));
  EXPECT_EQ(
      Floats(six + "const %1 int32 [3,2] = {1, 2, 0, 0, 9, -1}\n%2 [1] = gather_nd(%0, %1)\n"),
      (F{6, 1, 4}));
}

TEST(Folding, Pads) {
  EXPECT_EQ(Floats("const %0 [1,2] = {1, 2}\n"
                   "%1 [1] = pad(%0) {amounts: 1 0 0 2, axes: 2, value: 9.0}\n"),
            (F{9, 9, 9, 9, 1, 2, 9, 9}));
  EXPECT_EQ(Ints("const %0 int32 [1] = {5}\n"
                 "%1 int32 [1] = pad(%0) {amounts: 2 1, axes: 1, int_value: 7}\n"),
            (I{7, 7, 5, 7}));
}

TEST(Folding, SelectsAndCompares) {
  EXPECT_EQ(Floats("const %0 [3] = {1, 2, 3}\nconst %1 [1] = {2}\n%2 bool [1] = less(%0, %1)\n"
                   "%3 [1] = select(%2, %0, %1)\n"),
            (F{1, 2, 2}));
}

TEST(Folding, MultipliesFewPixels) {
  const std::string graph =
      "const %0 [2,2] = {1, 2, 3, 4}\nconst %1 [3,1,1,2] = {1, 0, 0, 1, 1, 1}\n"
      "const %2 [3] = {0.5, 0, 0}\n";
  EXPECT_EQ(Floats(graph + "%3 [1] = conv2d(%0, %1, %2) {stride: 1 1, padding: valid, rank: 2}\n"),
            (F{1.5f, 2, 3, 3.5f, 4, 7}));
}

}  // namespace
}  // namespace quadra
