#include <gtest/gtest.h>

#include <limits>

#include "delegate_native/graph/graph.h"

namespace quadra {
namespace {

class VerifyTest : public testing::Test {
 protected:
  void SetUp() override {
    const Status status = Parse(
        "input %0 [1,4,4,8]\n"
        "const %1 [8] = splat(1)\n"
        "%2 [1,4,4,8] = clamp(%0) {low: 0.0, high: inf}\n"
        "%3 [1,4,4,8] = add(%2, %0) -> mul(_, %1)\n"
        "output %3\n",
        &graph_);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(Verify(graph_).ok());
  }
  std::string Message() const { return Verify(graph_).message(); }

  Graph graph_;
};

TEST_F(VerifyTest, FindsTwoProducers) {
  graph_.nodes[1].outputs = {2};
  EXPECT_EQ(Message(), "node 1 (add): %2 has two producers");
  graph_.nodes[1].outputs = {0};
  EXPECT_EQ(Message(), "node 1 (add): %0 has two producers");
  graph_.nodes[1].outputs = {1};
  EXPECT_EQ(Message(), "node 1 (add): %1 has two producers");
}

TEST_F(VerifyTest, FindsUseBeforeDefinition) {
  std::swap(graph_.nodes[0], graph_.nodes[1]);
  EXPECT_EQ(Message(), "node 0 (add): %2 is used before it is computed");
}

TEST_F(VerifyTest, FindsOutputsThatNobodyComputes) {
  graph_.nodes.pop_back();
  EXPECT_EQ(Message(), "the graph's outputs: %3 is used before it is computed");
}

TEST_F(VerifyTest, FindsUnknownValues) {
  graph_.nodes[1].inputs[0] = 17;
  EXPECT_EQ(Message(), "node 1 (add): there is no value %17");
  graph_.nodes[1].inputs[0] = -1;
  EXPECT_EQ(Message(), "node 1 (add): there is no value %-1");
}

TEST_F(VerifyTest, FindsWrongShapes) {
  graph_.value(2).shape.h = 0;
  EXPECT_EQ(Message(), "node 0 (clamp): %2 has the empty shape 1,0,4,8");
  graph_.value(2).shape.h = 4;
  graph_.value(2).rank = 2;
  EXPECT_EQ(Message(), "node 0 (clamp): %2 has rank 2 and the shape 1,4,4,8");
}

TEST_F(VerifyTest, FindsConstantsOfTheWrongSize) {
  graph_.value(1).shape.c = 4;
  EXPECT_EQ(Message(), "node 1 (add): constant %1 of shape 1,1,1,4 has 8 numbers");
}

TEST_F(VerifyTest, FindsStepsThatCannotBeBroadcast) {
  const ValueId wide = graph_.AddConstant("", {1, 1, 1, 3}, {1, 2, 3}, 1);
  graph_.nodes[1].fused[0].inputs = {wide};
  EXPECT_EQ(Message(), "node 1 (add): step mul reads %4 of shape 1,1,1,3, the result is 1,4,4,8");
  graph_.nodes[1].fused[0].inputs = {1};
  graph_.nodes[1].fused[0].operand = 2;
  EXPECT_EQ(Message(), "node 1 (add): step mul takes the result as operand 2 of 2");
}

TEST_F(VerifyTest, ABrokenGraphStillPrints) {
  graph_.nodes[1].inputs[0] = 17;
  graph_.nodes[1].fused[0].operand = 9;
  graph_.outputs = {-4};
  EXPECT_NE(Print(graph_).find("add(%17, %0) -> mul(%1, _)"), std::string::npos) << Print(graph_);
}

TEST(Attributes, KeepTypeAndOrder) {
  Attributes a;
  a.SetInts("stride", {2, 1});
  a.SetFloat("low", 0.5f);
  a.SetWord("padding", "same");
  EXPECT_EQ(a.Ints("stride"), (std::vector<int>{2, 1}));
  EXPECT_EQ(a.Int("stride"), 2);
  EXPECT_EQ(a.Float("low"), 0.5f);
  EXPECT_EQ(a.Word("padding"), "same");
  EXPECT_EQ(a.Int("absent", 7), 7);
  EXPECT_FALSE(a.Has("absent"));
  Attributes b = a;
  EXPECT_TRUE(a == b);
  b.SetInt("stride", 3);
  EXPECT_FALSE(a == b);
  b.Remove("stride");
  EXPECT_FALSE(b.Has("stride"));
  EXPECT_EQ(b.all().size(), 2u);
}

TEST(AttributesDeathTest, WhatIsAbsentOrOfAnotherTypeIsNeverRead) {
  Attributes a;
  a.SetInt("low", 0);
  a.SetInts("axes", {});
  EXPECT_DEATH(a.Ints("absent"), "attribute 'absent'");
  EXPECT_DEATH((void)a.Word("absent"), "attribute 'absent'");
  EXPECT_DEATH((void)a.Float("low"), "attribute 'low'");
  EXPECT_DEATH((void)a.Int("axes"), "attribute 'axes'");
}

TEST(Graph, FindsProducersAndConsumers) {
  Graph g;
  const ValueId in = g.AddValue("in", {1, 2, 2, 4});
  const ValueId mid = g.AddValue("mid", {1, 2, 2, 4});
  const ValueId out = g.AddValue("out", {1, 2, 2, 4});
  g.inputs = {in};
  g.nodes = {{"clamp", {in}, {mid}, {}, {}, {0}}, {"add", {mid, mid}, {out}, {}, {}, {1}}};
  g.nodes[1].fused = {{"add", {in}, {}, 0}};
  g.outputs = {out};
  EXPECT_EQ(g.Producer(in), -1);
  EXPECT_EQ(g.Producer(out), 1);
  EXPECT_EQ(g.Consumers(mid), (std::vector<int>{1}));
  EXPECT_EQ(g.Consumers(in), (std::vector<int>{0, 1}));
  g.ReplaceUses(mid, in);
  EXPECT_EQ(g.nodes[1].inputs, (std::vector<ValueId>{in, in}));
  EXPECT_TRUE(g.IsOutput(out));
}

}  // namespace
}  // namespace quadra
