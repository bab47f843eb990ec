// Graphs as the planner gets them: inputs brought in, outputs brought out, tensors copied, and
// every value computed twice.
#include <algorithm>
#include <string>

#include "delegate_native/passes/passes.h"
#include "gtest/gtest.h"

namespace quadra {
namespace {

Graph GraphOf(const std::string& text) {
  Graph graph;
  const Status status = Parse(text, &graph);
  EXPECT_TRUE(status.ok()) << status.message();
  return graph;
}

// "copy dequantize ..."
std::string OpsOf(const Graph& graph) {
  std::string ops;
  for (const Node& node : graph.nodes) ops += (ops.empty() ? "" : " ") + node.op;
  return ops;
}

void ExpectWhole(const Graph& graph) {
  const Status status = Verify(graph);
  EXPECT_TRUE(status.ok()) << status.message();
  for (ValueId id : graph.inputs) EXPECT_TRUE(graph.value(id).dense);
  for (ValueId id : graph.outputs) EXPECT_TRUE(graph.value(id).dense);
}

const char kQuantized[] = R"(input %0 "bytes" int8 [1,2,2,3]
%1 [1,2,2,3] = dequantize(%0) {scale: 0.5, zero: 1.0} from 0
%2 [1,2,2,3] = sqrt(%1) from 1
%3 int8 [1,2,2,3] = quantize(%2) {scale: 0.5, inverse: 2.0, zero: 1.0, low: -9.0, high: 9.0} from 1
)";

TEST(Borders, AreTheNodesThatMakeFloatsOfBytesAndBytesOfFloats) {
  Graph graph = GraphOf(std::string(kQuantized) + "output %3\n");
  AddBorders(&graph);
  ExpectWhole(graph);
  EXPECT_EQ(OpsOf(graph), "dequantize sqrt quantize");
  const Value &in = graph.value(graph.inputs[0]), &out = graph.value(graph.outputs[0]);
  EXPECT_EQ(in.name, "bytes");
  EXPECT_EQ(in.element, Element::kInt8);
  EXPECT_EQ(out.element, Element::kInt32);  // the host narrows it
}

TEST(Borders, AreNodesOfTheirOwnWhereBytesAreReadOrGivenTwice) {
  Graph graph = GraphOf(std::string(kQuantized) + "output %3\noutput %3\noutput %0\n");
  AddBorders(&graph);
  ExpectWhole(graph);
  EXPECT_EQ(OpsOf(graph), "copy dequantize sqrt quantize copy copy copy");
  EXPECT_EQ(graph.value(graph.inputs[0]).name, "input_0");
}

TEST(Borders, StayApartFromATensorThatIsCopied) {
  Graph graph = GraphOf(std::string(kQuantized) + "output %3\n");
  graph.tensors = {{7, 2}, {8, 3}};
  AddBorders(&graph);
  CopyTensors(&graph);
  ExpectWhole(graph);
  EXPECT_EQ(OpsOf(graph), "dequantize sqrt copy quantize copy copy");
  EXPECT_EQ(graph.value(graph.nodes[2].outputs[0]).copy_of, 8);
  EXPECT_EQ(graph.value(graph.nodes[4].outputs[0]).copy_of, 9);
  EXPECT_EQ(graph.nodes[2].sources, std::vector<int>{1});
}

TEST(ComputeTwice, ComparesEachValueWithThePlainOnesOfTheSameOperands) {
  Graph graph = GraphOf(std::string(kQuantized) + "output %3\n");
  AddBorders(&graph);
  std::vector<Check> checks;
  ComputeTwice(&graph, &checks);
  graph.outputs.clear();  // nothing writes them
  ExpectWhole(graph);
  EXPECT_EQ(OpsOf(graph), "dequantize copy dequantize copy sqrt copy sqrt copy quantize quantize");
  ASSERT_EQ(checks.size(), 3u);
  const int nodes[] = {0, 4, 8};
  for (size_t i = 0; i < checks.size(); ++i) {
    const size_t first = static_cast<size_t>(nodes[i]), second = first + (i < 2 ? 2 : 1);
    EXPECT_EQ(checks[i].node, nodes[i]);
    EXPECT_EQ(graph.nodes[first].inputs, graph.nodes[second].inputs);
    EXPECT_FALSE(graph.nodes[first].plain);
    EXPECT_TRUE(graph.nodes[second].plain);
    for (size_t side = 0; side < 2; ++side) {
      const size_t copy = (side == 0 ? first : second) + (i < 2 ? 1 : 0);
      const ValueId id = graph.nodes[copy].outputs[0];
      EXPECT_EQ(graph.value(id).copy_of, static_cast<int>(2 * i + side + 1));
    }
  }
  // The next node reads what the plain kernels made, and the grid says how far bytes may be off.
  EXPECT_EQ(graph.nodes[4].inputs, graph.nodes[2].outputs);
  EXPECT_EQ(checks[2].step, 0.5f);
  EXPECT_TRUE(checks[2].jumps);
  EXPECT_FALSE(checks[1].jumps);
  EXPECT_TRUE(graph.nodes[8].sources.empty());
}

TEST(ComputeTwice, KnowsTheOpsWhoseResultsJump) {
  for (const char* op : {"floor", "ceil", "round", "sign"}) {
    Graph graph = GraphOf(std::string("input %0 [1,1,1,3]\n%1 [1,1,1,3] = ") + op +
                          "(%0) from 0\noutput %1\n");
    AddBorders(&graph);
    std::vector<Check> checks;
    ComputeTwice(&graph, &checks);
    ASSERT_EQ(checks.size(), 3u);
    EXPECT_TRUE(checks[1].jumps) << op;
    EXPECT_FALSE(checks[0].jumps || checks[2].jumps) << op;
  }
}

}  // namespace
}  // namespace quadra
