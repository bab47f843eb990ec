// Graphs as the planner gets them: inputs brought in, outputs brought out, memory shared, tensors
// copied, and every value computed twice.
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

// With a node before and behind, so that no border is beside.
Graph Between(const std::string& in, const std::string& nodes, const std::string& out) {
  Graph graph = GraphOf("input %0 [" + in + "]\n%1 [" + in + "] = abs(%0)\n" + nodes + "%9 [" +
                        out + "] = abs(%8)\noutput %9\n");
  AddBorders(&graph);
  return graph;
}

bool FitsAll(const Graph&, const Node&) { return true; }

struct Place {
  int begin, run, gap;
};

// Of value %8, in the memory of a value with so many channels.
void ExpectView(const Graph& graph, Place place, int channels) {
  ASSERT_TRUE(graph.IsView(8));
  const Value& value = graph.value(8);
  EXPECT_EQ(value.view.begin, place.begin);
  EXPECT_EQ(value.view.run, place.run);
  EXPECT_EQ(value.view.gap, place.gap);
  const Value& memory = graph.value(value.memory_of);
  EXPECT_EQ(memory.memory_of, -1);
  EXPECT_EQ(ToString(memory.shape), Format("1,1,1,%d", channels));
}

TEST(ShareMemory, SeesHeadsInAPixel) {
  Graph graph = Between("1,1,1,48", "%8 [1,3,1,16] = reshape(%1) {shape: 1 3 1 16}\n", "1,3,1,16");
  EXPECT_EQ(ShareMemory(&graph, FitsAll), 1);
  ExpectWhole(graph);
  ExpectView(graph, {0, 0, 0}, 48);
  EXPECT_EQ(graph.value(8).memory_of, 1);
}

TEST(ShareMemory, SeesAPixelThatIsMadeOfHeads) {
  Graph graph = Between("1,1,3,16", "%8 [1,1,1,48] = reshape(%1) {shape: 48}\n", "1,1,1,48");
  EXPECT_EQ(ShareMemory(&graph, FitsAll), 1);
  EXPECT_EQ(graph.value(1).memory_of, 8);
  EXPECT_TRUE(graph.IsView(1) && !graph.IsView(8));
}

TEST(ShareMemory, AddsAPixelForHeadsOfBothShapes) {
  Graph graph = Between("1,1,3,16", "%8 [1,3,1,16] = reshape(%1) {shape: 1 3 1 16}\n", "1,3,1,16");
  EXPECT_EQ(ShareMemory(&graph, FitsAll), 1);
  ExpectWhole(graph);
  ExpectView(graph, {0, 0, 0}, 48);
  EXPECT_EQ(graph.value(1).memory_of, graph.value(8).memory_of);
}

TEST(ShareMemory, SeesPartsOfGroupsAndReshapesThem) {
  Graph graph = Between("1,1,1,240",
                        "%2 [1,1,3,80] = reshape(%1) {shape: 1 1 3 80}\n"
                        "%3 [1,1,3,48] = strided_slice(%2) {begin: 0 0 0 32, end: 1 1 3 80, "
                        "strides: 1 1 1 1}\n"
                        "%8 [1,9,1,16] = reshape(%3) {shape: 1 9 1 16}\n",
                        "1,9,1,16");
  EXPECT_EQ(ShareMemory(&graph, FitsAll), 3);
  ExpectWhole(graph);
  ExpectView(graph, {8, 12, 8}, 240);
}

TEST(ShareMemory, SeesPartsOfParts) {
  Graph graph = Between("1,1,1,240",
                        "%2 [1,1,3,80] = reshape(%1) {shape: 1 1 3 80}\n"
                        "%3 [1,1,3,40] = split(%2) {axis: 3, part: 1, parts: 2}\n"
                        "%8 [1,1,1,16] = strided_slice(%3) {begin: 0 0 2 4, end: 1 1 3 20, "
                        "strides: 1 1 1 1}\n",
                        "1,1,1,16");
  EXPECT_EQ(ShareMemory(&graph, FitsAll), 3);
  ExpectView(graph, {51, 0, 0}, 240);
}

TEST(ShareMemory, LeavesWhatItWouldHaveToMove) {
  for (const char* node :
       {"%8 [1,1,8,6] = reshape(%1) {shape: 1 1 8 6}\n",  // slices are cut
        "%8 [1,1,1,8] = strided_slice(%1) {begin: 0 0 0 2, end: 1 1 1 10, strides: 1 1 1 1}\n",
        "%8 [1,1,1,24] = strided_slice(%1) {begin: 0 0 0 0, end: 1 1 1 48, strides: 1 1 1 2}\n"}) {
    const std::string text = node;
    const std::string shape = text.substr(4, text.find(']') - 4);
    Graph graph = Between("1,1,1,48", text, shape);
    EXPECT_EQ(ShareMemory(&graph, FitsAll), 0) << node;
    EXPECT_FALSE(graph.IsView(8)) << node;
  }
}

TEST(ShareMemory, LeavesLargeTensorsAndThoseOfTheBorder) {
  Graph large =
      Between("1,1,1,8208", "%8 [1,1,2,4104] = reshape(%1) {shape: 2 4104}\n", "1,1,2,4104");
  EXPECT_EQ(ShareMemory(&large, FitsAll), 0);
  Graph graph =
      GraphOf("input %0 [1,1,3,16]\n%1 [1,3,1,16] = reshape(%0) {shape: 1 3 1 16}\noutput %1\n");
  AddBorders(&graph);
  EXPECT_EQ(ShareMemory(&graph, FitsAll), 0);
}

TEST(ShareMemory, LeavesTensorsWhoseKernelsCannotFindThem) {
  const std::string nodes = "%8 [1,3,1,16] = reshape(%1) {shape: 1 3 1 16}\n";
  for (const int refused : {1, 8}) {
    Graph graph = Between("1,1,3,16", nodes, "1,3,1,16");
    const size_t values = graph.values.size();
    const auto refuses = [&](const Graph& changed, const Node& node) {
      const bool is_its =
          node.op == "abs" && (node.inputs[0] == refused || node.outputs[0] == refused);
      return !is_its || !changed.IsView(refused);
    };
    EXPECT_EQ(ShareMemory(&graph, refuses), 0);
    EXPECT_FALSE(graph.IsView(1) || graph.IsView(8));
    EXPECT_EQ(graph.values.size(), values);
  }
}

TEST(ComputeTwice, LeavesNodesThatMoveNothing) {
  Graph graph = Between("1,1,1,48", "%8 [1,3,1,16] = reshape(%1) {shape: 1 3 1 16}\n", "1,3,1,16");
  ShareMemory(&graph, FitsAll);
  std::vector<Check> checks;
  ComputeTwice(&graph, &checks);
  EXPECT_EQ(OpsOf(graph),
            "copy copy copy copy abs copy abs copy reshape abs copy abs copy copy copy");
}

}  // namespace
}  // namespace quadra
