// What every backend does, with plans made by hand.
#include <algorithm>
#include <thread>

#include "delegate_native/base/lean/clock.h"
#include "tests/native/backends.h"
#include "tests/native/hand_made_plan.h"

namespace quadra {
namespace {

class BackendTest : public OnEveryBackend {
 protected:
  PlanText Text() const { return PlanText(GetParam().name); }

  Status Load(const HandMadePlan& plan, std::unique_ptr<Executable>* executable) {
    times_ = LoadTimes();
    return backend_->Load(plan.get(), {}, plan.binaries(), executable, &times_);
  }

  // Loads a plan with these binaries and texts that the backend has not seen; checks its results.
  void LoadAnewAndCheck(PlanText text, int from_binary) {
    static int texts_seen = 0;
    const std::string note = Format("// %d\n", ++texts_seen);
    text.scale += note;
    text.add += note;
    const HandMadePlan plan(text);
    std::unique_ptr<Executable> executable;
    const Status status = Load(plan, &executable);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(times_.binaries.loaded, from_binary);
    RunAndCheck(executable.get(), 3);
  }

  // As the driver gives them.
  std::vector<ProgramBinary> Binaries() {
    const HandMadePlan plan(Text());
    std::unique_ptr<Executable> executable;
    EXPECT_TRUE(Load(plan, &executable).ok());
    return executable->Binaries();
  }

  LoadTimes times_;
};

TEST_P(BackendTest, KnowsItsDevice) {
  const GpuInfo& info = backend_->info();
  EXPECT_STREQ(backend_->name(), GetParam().name);
  EXPECT_EQ(info.api == Api::kGles, Text().api == "gles");
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.device_name.empty());
  EXPECT_GT(info.max_work_group_size, 0);
  EXPECT_GE(info.buffer_alignment_bytes, 16);
  EXPECT_GE(info.vector_width, 4);
  GpuInfo again;
  EXPECT_TRUE(ParseGpuInfo(ToJson(info), &again).ok());
  EXPECT_EQ(ToJson(again), ToJson(info));
}

TEST_P(BackendTest, EachKernelIsLaunchedOnceWhateverPlanItIsIn) {
  PlanText text = Text();
  const std::string note = "// launched once\n";
  text.scale += note;
  text.add += note;
  const HandMadePlan plan(text);
  std::unique_ptr<Executable> first, second;
  Refusal refusal;
  // One that was compiled and never launched may still be refused.
  ASSERT_TRUE(Load(plan, &first).ok());
  ASSERT_TRUE(Load(plan, &second).ok());
  EXPECT_EQ(times_.binaries.compiled, 0);
  for (int wanted : {2, 0}) {
    int launched = 0;
    ASSERT_TRUE(second->LaunchFirst(&launched, &refusal).ok());
    EXPECT_EQ(launched, wanted);
  }
  int launched = 0;
  ASSERT_TRUE(first->LaunchFirst(&launched, &refusal).ok());
  EXPECT_EQ(launched, 0);
  RunAndCheck(first.get(), 3);
  RunAndCheck(second.get(), 4);
}

TEST_P(BackendTest, RunsSeveralPlansInTurn) {
  const HandMadePlan plan(Text()), same(Text());
  std::unique_ptr<Executable> one, two;
  ASSERT_TRUE(Load(plan, &one).ok());
  ASSERT_TRUE(Load(same, &two).ok());
  for (int run = 0; run < 3; ++run) {
    RunAndCheck(one.get(), static_cast<float>(run));
    RunAndCheck(two.get(), static_cast<float>(-run));
  }
  one.reset();
  RunAndCheck(two.get(), 7);
}

TEST_P(BackendTest, MeasuresEachDispatchWhenAsked) {
  const HandMadePlan plan(Text());
  std::unique_ptr<Executable> executable;
  ASSERT_TRUE(Load(plan, &executable).ok());
  RunTimes times;
  times.dispatches.resize(3);
  const int64_t before = NowNs();
  RunAndCheck(executable.get(), 5, &times);
  const int64_t after = NowNs();
  ASSERT_EQ(times.dispatches.size(), 2u);
  EXPECT_GT(times.dispatches[0].us + times.dispatches[1].us, 0.0f);
  const int64_t* at = times.at_ns;
  EXPECT_LE(before, at[RunTimes::kBegun]);
  EXPECT_TRUE(std::is_sorted(at, at + RunTimes::kMarks));
  EXPECT_LT(at[RunTimes::kWritten], at[RunTimes::kDone]);
  EXPECT_LE(at[RunTimes::kRead], after);
  // The drivers of this machine tell when. One dispatch after the other, before all are done.
  const int64_t slack = 1000000;  // the driver's clock is set by the first enqueuing, which lasts
  int64_t end = 0;
  for (const RunTimes::Dispatch& dispatch : times.dispatches) {
    EXPECT_TRUE(std::is_sorted(dispatch.at_ns, dispatch.at_ns + 4));
    EXPECT_LE(end, dispatch.at_ns[2]);
    end = dispatch.at_ns[3];
    EXPECT_NEAR(static_cast<float>(end - dispatch.at_ns[2]) * 1e-3f, dispatch.us, 0.01f);
  }
  EXPECT_LE(end, at[RunTimes::kDone] - at[RunTimes::kWritten] + slack);
  RunAndCheck(executable.get(), 6);
}

TEST_P(BackendTest, WhatTheDriverCompiledIsNotCompiledAgain) {
  PlanText text = Text();
  text.binaries = Binaries();
  ASSERT_EQ(text.binaries.size(), 2u);
  LoadAnewAndCheck(text, 2);
}

// It need not reach the driver, which may not survive it.
TEST_P(BackendTest, ABinaryOfAnotherProgramIsNotAsked) {
  PlanText text = Text(), other = Text();
  text.scale += "// of another fingerprint\n";
  other.binaries = {{{1, 2, 3, 4}, 5}, {{6, 7, 8}, 9}};
  const HandMadePlan plan(text), others(other);
  std::unique_ptr<Executable> executable;
  ASSERT_TRUE(backend_->Load(plan.get(), {}, others.binaries(), &executable, &times_).ok());
  EXPECT_EQ(times_.binaries.loaded, 0);
  EXPECT_EQ(times_.binaries.refused, 0);
  EXPECT_GE(times_.binaries.compiled, 1);
  RunAndCheck(executable.get(), 3);
}

TEST_P(BackendTest, ABinaryOfAnotherDriverIsCompiledAnew) {
  PlanText text = Text();
  text.binaries = Binaries();
  text.binaries[0] = {{1, 2, 3, 4}, text.binaries[0].format};
  LoadAnewAndCheck(text, 1);
  EXPECT_EQ(times_.binaries.refused, 1);
  EXPECT_EQ(times_.binaries.compiled, 1);
}

TEST_P(BackendTest, ABrokenKernelIsAnErrorWithTheDriversLog) {
  PlanText text = Text();
  const size_t at = text.scale.find("* by");
  text.scale.replace(at, 4, "* no_such_name");
  const HandMadePlan plan(text);
  std::unique_ptr<Executable> executable;
  const Status status = Load(plan, &executable);
  EXPECT_EQ(status.code(), Code::kDeviceFailed);
  EXPECT_NE(status.message().find("compile scale: "), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("no_such_name"), std::string::npos) << status.message();
  const HandMadePlan right(Text());
  ASSERT_TRUE(Load(right, &executable).ok()) << "the next plan works";
  RunAndCheck(executable.get(), 1);
}

TEST_P(BackendTest, TheWrongNumberOfInputsIsAnError) {
  const HandMadePlan plan(Text());
  std::unique_ptr<Executable> executable;
  ASSERT_TRUE(Load(plan, &executable).ok());
  EXPECT_EQ(executable->Run({}, {}, nullptr).code(), Code::kInternal);
  RunAndCheck(executable.get(), 2);
}

TEST_P(BackendTest, OneServesThreadsAndOutlivesItsOwner) {
  std::shared_ptr<Backend> same;
  ASSERT_TRUE(GetParam().make("", {}, &same).ok());
  EXPECT_EQ(backend_, same);
  const HandMadePlan plan(Text());
  std::unique_ptr<Executable> executables[2];
  for (auto& executable : executables) ASSERT_TRUE(Load(plan, &executable).ok());
  backend_.reset();
  same.reset();
  std::vector<std::thread> threads;
  for (auto& executable : executables) {
    threads.emplace_back([&executable] {
      for (int run = 0; run < 50; ++run) RunAndCheck(executable.get(), static_cast<float>(run));
      executable.reset();  // in another thread than it was made in
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(All, BackendTest, EveryBackend(), NameOfBackend);

// Both drivers in one process, in turn.
TEST(Backends, StandSideBySide) {
  std::shared_ptr<Backend> backends[2];
  const Status opened[] = {MakeOpenClBackend("", {}, &backends[0]),
                           MakeGlesBackend("", {}, &backends[1])};
  for (const Status& status : opened) {
    if (!status.ok()) GTEST_SKIP() << status.message();
  }
  const HandMadePlan plans[] = {HandMadePlan(PlanText("opencl")), HandMadePlan(PlanText("gles"))};
  std::unique_ptr<Executable> executables[2];
  LoadTimes times;
  for (int i : {0, 1})
    ASSERT_TRUE(backends[i]->Load(plans[i].get(), {}, nullptr, &executables[i], &times).ok());
  for (int run = 0; run < 6; ++run) {
    RunAndCheck(executables[run % 2].get(), static_cast<float>(run));
  }
}

}  // namespace
}  // namespace quadra
