// The text form: what prints, parses; what is wrong is told with its line; nothing crashes.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "delegate_native/graph/graph.h"

namespace quadra {
namespace {

const char kEveryForm[] =
    R"(input %0 "image" [1,8,8,3]
input %7 [10]
const %1 "weights" [4,3,3,3] = splat(0.5)
const %2 [4] = {0, -1.5, inf, 0.1}
const %9 [] = {2}
%3 "conv \x22a\x22" [1,4,4,4] = conv2d(%0, %1, %2) {stride: 2 2, padding: same} -> clamp(_) {low: 0.0, high: inf} -> mul(%9, _) from 3 4
%4 [1,4,4,2], %5 [1,4,4,2] = split(%3) {axes: [], gains: [.], mode: "a b", end: -1}
output %4, %7
)";

std::string ErrorOf(const std::string& text) {
  Graph graph;
  const Status status = Parse(text, &graph);
  return status.ok() ? "" : status.message();
}

TEST(GraphText, ReadsBackWhatItPrints) {
  Graph graph;
  const Status status = Parse(kEveryForm, &graph);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(Verify(graph).ok()) << Verify(graph).message();
  EXPECT_EQ(Print(graph), kEveryForm);
}

TEST(GraphText, MeansWhatItSays) {
  Graph graph;
  ASSERT_TRUE(Parse(kEveryForm, &graph).ok());
  EXPECT_EQ(graph.value(7).rank, 1);
  EXPECT_EQ(graph.shape(7), (Shape{1, 1, 1, 10}));
  EXPECT_EQ(graph.value(9).rank, 0);
  EXPECT_EQ(graph.value(3).name, "conv \"a\"");
  EXPECT_EQ(graph.value(1).constant->size(), 108u);
  const Node& conv = graph.nodes[0];
  EXPECT_EQ(conv.attributes.Ints("stride"), (std::vector<int>{2, 2}));
  EXPECT_EQ(conv.attributes.Word("padding"), "same");
  ASSERT_EQ(conv.fused.size(), 2u);
  EXPECT_EQ(conv.fused[0].attributes.Float("high"), std::numeric_limits<float>::infinity());
  EXPECT_EQ(conv.fused[1].inputs, (std::vector<ValueId>{9}));
  EXPECT_EQ(conv.fused[1].operand, 1);
  EXPECT_EQ(conv.sources, (std::vector<int>{3, 4}));
  EXPECT_EQ(graph.outputs, (std::vector<ValueId>{4, 7}));
}

TEST(GraphText, KnowsElementsAndSixAxes) {
  const std::string text =
      "input %0 \"mask\" bool [2,1,3,4,5]\n"
      "const %1 int32 [3] = {-7, 0, 16777216}\n"
      "const %2 uint8 [2,2] = splat(255)\n"
      "%3 int64 [2,3,2,1,1,5] = f(%0, %1, %2)\n"
      "output %3\n";
  Graph graph;
  const Status status = Parse(text, &graph);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(graph.value(0).element, Element::kBool);
  EXPECT_EQ(graph.shape(0).b, 2);
  EXPECT_EQ(graph.shape(0).axis(-1), 2);
  EXPECT_EQ(graph.value(3).element, Element::kInt64);
  EXPECT_EQ(graph.value(3).rank, 6);
  EXPECT_EQ(graph.shape(3).b, 2 * 3 * 2);
  EXPECT_EQ(graph.value(2).constant->ints(), (std::vector<int32_t>(4, 255)));
  EXPECT_EQ(Print(graph), text);
}

TEST(GraphText, LargeConstantsPrintAsHashUnlessAllAreWanted) {
  Graph graph;
  ASSERT_TRUE(Parse("const %0 [5,5] = random(3)\noutput %0\n", &graph).ok());
  EXPECT_NE(Print(graph).find("= hash("), std::string::npos);
  const std::string all = Print(graph, /*all_constants=*/true);
  Graph again;
  ASSERT_TRUE(Parse(all, &again).ok());
  EXPECT_EQ(*again.value(0).constant->floats(), *graph.value(0).constant->floats());
  ASSERT_TRUE(Parse(Print(graph), &again).ok()) << "a hash stands for some numbers";
  EXPECT_EQ(again.value(0).constant->size(), 25u);
}

TEST(GraphText, FloatsKeepEveryBit) {
  std::mt19937 random(5);
  std::vector<float> data(2000);
  for (float& f : data) {
    const uint32_t bits = static_cast<uint32_t>(random());
    memcpy(&f, &bits, sizeof f);
    if (f != f) f = -0.0f;
  }
  Graph graph, again;
  graph.outputs = {graph.AddConstant("c", {1, 1, 1, 2000}, data)};
  ASSERT_TRUE(Parse(Print(graph, true), &again).ok());
  EXPECT_EQ(memcmp(again.value(0).constant->floats()->data(), data.data(), 8000), 0);
}

TEST(GraphText, ErrorsNameTheLine) {
  EXPECT_EQ(ErrorOf("input %0 [1,2]\n\n%1 [1,2] = clamp(%2)\noutput %1\n"),
            "graph text, line 3: %2 is used before it is declared");
  EXPECT_EQ(ErrorOf("input %0 [1,2\n"), "graph text, line 1: expected ',', found nothing");
  EXPECT_EQ(ErrorOf("input %0 [0]"), "graph text, line 1: a dimension is less than 1");
  EXPECT_EQ(ErrorOf("input %0 [1,1,1,1,1,1,1]"),
            "graph text, line 1: a shape has more than 6 dimensions");
  EXPECT_EQ(ErrorOf("input %0 [2]\n%0 [2] = f()"), "graph text, line 2: %0 is declared twice");
  EXPECT_EQ(ErrorOf("%0 [2] = f(%0)"), "graph text, line 1: %0 is used before it is declared");
  EXPECT_EQ(ErrorOf("const %0 [3] = {1, 2}"),
            "graph text, line 1: the constant has 2 numbers, its shape 3");
  EXPECT_EQ(ErrorOf("%0 [2] = f() extra"),
            "graph text, line 1: expected the end of the line, found 'extra'");
  EXPECT_EQ(ErrorOf("%0 [2] = f(_)"), "graph text, line 1: '_' stands only in merged steps");
  EXPECT_EQ(ErrorOf("%0 [2] = f() -> g()"), "graph text, line 1: the merged step g has no '_'");
  EXPECT_EQ(ErrorOf("%0 [2] = f() {a: 1, a: 2}"), "graph text, line 1: attribute a stands twice");
  EXPECT_EQ(ErrorOf("%0 [2] = f() {a: 99999999999}"),
            "graph text, line 1: an integer is too large");
  EXPECT_EQ(ErrorOf("%0 \"x"), "graph text, line 1: a quoted text has no end");
  EXPECT_EQ(ErrorOf("const %0 [9999,9999,99,99] = splat(1)"),
            "graph text, line 1: the constant is too large");
  EXPECT_EQ(ErrorOf("%999999999 [2] = f()"),
            "graph text, line 1: a value's number is out of range");
}

TEST(GraphText, DamagedTextNeverCrashes) {
  const std::string whole = kEveryForm;
  const std::string letters = "%[]{}(),:->_\"\\x=.0 19ainpu#\n";
  std::mt19937 random(7);
  int parsed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = whole;
    for (unsigned edits = 1 + random() % 3; edits > 0 && !text.empty(); --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = letters[random() % letters.size()]; break;
        case 1: text.insert(at, 1, letters[random() % letters.size()]); break;
        case 2: text.erase(at, 1 + random() % 8); break;
        case 3: text.resize(at); break;
      }
    }
    Graph graph;
    if (!Parse(text, &graph).ok()) continue;
    ++parsed;
    // Whatever parses also verifies, or says why not, and prints the same when read again.
    (void)Verify(graph).ok();
    Graph again;
    const std::string printed = Print(graph, true);
    ASSERT_TRUE(Parse(printed, &again).ok()) << text << "\n---\n" << printed;
    ASSERT_EQ(Print(again, true), printed);
  }
  EXPECT_GT(parsed, 100);
}

}  // namespace
}  // namespace quadra
