// Runs the cases of tests/passes/<pass>.txt: graphs before and after one pass, as text
// (pass_cases.h). Numbers of values and names do not count; model nodes ("from 1 2") count where
// "after" has them.
#include <gtest/gtest.h>

#include "delegate_native/passes/pipeline.h"
#include "tests/native/pass_cases.h"

namespace quadra {
namespace {

// The graph's text with values numbered in the order of their appearance.
std::string Normal(const Graph& graph, bool keep_sources) {
  Graph copy;
  std::vector<ValueId> new_id(graph.values.size(), -1);
  const auto renumber = [&](ValueId& id) {
    ValueId& to = new_id.at(static_cast<size_t>(id));
    if (to < 0) {
      to = copy.AddValue("", graph.shape(id), graph.value(id).rank);
      copy.value(to).constant = graph.value(id).constant;
    }
    id = to;
  };
  copy.inputs = graph.inputs;
  for (ValueId& id : copy.inputs) renumber(id);
  for (Node node : graph.nodes) {
    for (ValueId& id : node.inputs) renumber(id);
    for (FusedStep& step : node.fused) {
      for (ValueId& id : step.inputs) renumber(id);
    }
    for (ValueId& id : node.outputs) renumber(id);
    if (!keep_sources) node.sources.clear();
    copy.nodes.push_back(std::move(node));
  }
  copy.outputs = graph.outputs;
  for (ValueId& id : copy.outputs) renumber(id);
  return Print(copy, /*all_constants=*/true);
}

void Check(const Pass& pass, const PassCase& one) {
  SCOPED_TRACE(std::string(pass.name) + ": " + one.title);
  Graph graph;
  Status status = Parse(one.before, &graph);
  ASSERT_TRUE(status.ok()) << "before: " << status.message();
  status = Verify(graph);
  ASSERT_TRUE(status.ok()) << "before: " << status.message();
  Graph expected = graph;
  if (!one.stays) {
    status = Parse(one.after, &expected);
    ASSERT_TRUE(status.ok()) << "after: " << status.message();
  }
  int changes = 0;
  for (int changed = 1, round = 0; changed > 0 && round < 100; ++round, changes += changed) {
    changed = pass.run(&graph, nullptr);
  }
  status = Verify(graph);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(changes == 0, one.stays);
  const bool keep_sources = one.stays || one.after.find(" from ") != std::string::npos;
  EXPECT_EQ(Normal(graph, keep_sources), Normal(expected, keep_sources));
}

TEST(Passes, DoWhatTheirCasesShow) {
  for (const Pass& pass : Pipeline()) {
    const std::vector<PassCase> cases = ReadPassCases(pass.name);
    EXPECT_GE(cases.size(), 2u) << "tests/passes/" << pass.name << ".txt has too few cases";
    bool fires = false, stays = false;
    for (const PassCase& one : cases) {
      Check(pass, one);
      (one.stays ? stays : fires) = true;
    }
    EXPECT_TRUE(fires && stays) << pass.name << " needs cases where it fires and where it must not";
  }
}

TEST(Passes, RunInOrderAndLeaveAWholeGraph) {
  Graph graph;
  ASSERT_TRUE(
      Parse("input %0 [1,4,4,8]\n"
            "%1 [1,6,6,8] = pad(%0) {amounts: 0 0 1 1 1 1 0 0, axes: 4, value: 0.0} from 0\n"
            "const %2 [1,3,3,8] = splat(1)\n"
            "%3 [1,4,4,8] = depthwise_conv2d(%1, %2) {stride: 1 1, padding: valid} from 1\n"
            "const %4 [] = {2}\n"
            "%5 [1,4,4,8] = mul(%3, %4) from 2\n"
            "%6 [1,4,4,8] = clamp(%5) {low: 0.0, high: 6.0} from 3\n"
            "%7 [1,128] = reshape(%6) {shape: 1 128} from 4\n"
            "output %7\n",
            &graph)
          .ok());
  const Status status = RunPasses(&graph);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(graph.nodes.size(), 1u) << Print(graph);
  EXPECT_EQ(graph.nodes[0].sources, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(graph.nodes[0].fused.size(), 1u);
  EXPECT_EQ(graph.value(graph.nodes[0].inputs[1]).constant->front(), 2.0f);
}

TEST(Passes, AWrongGraphIsRefused) {
  Graph graph;
  graph.outputs = {0};
  EXPECT_FALSE(RunPasses(&graph).ok());
}

}  // namespace
}  // namespace quadra
