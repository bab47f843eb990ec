// The cases of tests/passes/<pass>.txt, run on every backend: a graph gives the same numbers before
// and after its pass. Both are planned as they are, without the pipeline.
#include <algorithm>
#include <cmath>
#include <random>

#include "delegate_native/ops/op.h"
#include "delegate_native/passes/pipeline.h"
#include "delegate_native/plan/make_plan.h"
#include "tests/native/backends.h"
#include "tests/native/pass_cases.h"

namespace quadra {
namespace {

using Floats = std::vector<float>;

Floats RandomFloats(int64_t count, std::mt19937* generator) {
  std::uniform_real_distribution<float> between(-2.0f, 2.0f);
  Floats numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = between(*generator);
  return numbers;
}

// Constants of one number repeated, as the texts have them, would hide one that lies elsewhere.
// Single numbers stay: an epsilon is to be small.
void MakeConstantsRandom(Graph* graph, std::mt19937* generator) {
  for (Value& value : graph->values) {
    if (!value.constant || value.constant->size() == 1) continue;
    value.constant =
        std::make_shared<const Constant>(RandomFloats(value.shape.elements(), generator));
  }
}

class PassNumbers : public OnEveryBackend {
 protected:
  // The outputs of `graph`, planned for the backend's device.
  std::vector<Floats> Run(Graph graph, const std::vector<Floats>& inputs) {
    AddBorders(&graph);
    PlanBytes plan;
    std::unique_ptr<Executable> executable;
    LoadTimes times;
    Status status = MakePlan(graph, backend_->info(), PlanRequest(), &plan);
    if (status.ok())
      status = backend_->Load(fb::GetPlan(plan.data()), {}, nullptr, &executable, &times);
    std::vector<Floats> outputs;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const Floats& input : inputs) from.push_back(input.data());
    for (ValueId output : graph.outputs) {
      outputs.emplace_back(static_cast<size_t>(graph.shape(output).elements()), NAN);
    }
    for (Floats& output : outputs) to.push_back(output.data());
    if (status.ok()) status = executable->Run(from, to, nullptr);
    EXPECT_TRUE(status.ok()) << status.message() << "\n" << Print(graph);
    return outputs;
  }

  void Check(const Pass& pass, const Graph& before, std::mt19937* generator) {
    Graph after = before;
    for (int round = 0; round < 100 && pass.run(&after, nullptr) > 0; ++round) {
    }
    std::vector<Floats> inputs;
    for (ValueId input : before.inputs) {
      inputs.push_back(RandomFloats(before.shape(input).elements(), generator));
    }
    const std::vector<Floats> expected = Run(before, inputs), got = Run(after, inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) ExpectSame(got[i], expected[i]);
  }

  static void ExpectSame(const Floats& got, const Floats& expected) {
    ASSERT_EQ(got.size(), expected.size());
    float most = 0.0f;
    for (float number : expected) most = std::max(most, std::fabs(number));
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_LE(std::fabs(got[i] - expected[i]), 1e-5f * most) << got[i] << " and " << expected[i];
    }
  }
};

TEST_P(PassNumbers, AreTheSameBeforeAndAfter) {
  std::mt19937 generator(1);
  for (const Pass& pass : Pipeline()) {
    for (const PassCase& one : ReadPassCases(pass.name)) {
      SCOPED_TRACE(std::string(pass.name) + ": " + one.title);
      Graph graph;
      ASSERT_TRUE(Parse(one.before, &graph).ok());
      Check(pass, graph, &generator);
      MakeConstantsRandom(&graph, &generator);
      Check(pass, graph, &generator);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PassNumbers, EveryBackend(), NameOfBackend);

}  // namespace
}  // namespace quadra
