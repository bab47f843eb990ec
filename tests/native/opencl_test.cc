// The OpenCL backend on whatever device this machine has, with plans made by hand: what other
// backends do not have. What they all do is in backend_test.cc.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "delegate_native/runtime/opencl/cl_context.h"
#include "delegate_native/runtime/opencl/cl_executable.h"
#include "delegate_native/runtime/opencl/cl_programs.h"
#include "delegate_native/runtime/opencl/opencl_backend.h"
#include "tests/native/hand_made_plan.h"

namespace {

thread_local bool no_threads_left = false;
thread_local int threads_refused = 0;

}  // namespace

// Instead of the C library's.
extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
  if (no_threads_left) return ++threads_refused, EAGAIN;
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, work, argument);
}

namespace quadra {
namespace {

class OpenCl : public testing::Test {
 protected:
  void SetUp() override {
    const Status status = MakeClContext("", nullptr, &context_);
    if (!status.ok()) GTEST_SKIP() << status.message();
  }

  Status Load(const fb::Plan* plan, std::unique_ptr<ClExecutable>* executable,
              const fb::Binaries* kept = nullptr) {
    *executable = std::make_unique<ClExecutable>(context_, plan);
    Refusal refused;
    QUADRA_RETURN_IF_ERROR((*executable)->MakeMemory({}, &refused));
    ClKernelPrograms programs;
    auto made_by = std::make_shared<ClPrograms>(context_);
    QUADRA_RETURN_IF_ERROR(made_by->Build(*plan, kept, &programs, &binaries_));
    return (*executable)->MakeKernels(std::move(programs), std::move(made_by), &refused);
  }

  std::shared_ptr<ClContext> context_;
  BinaryCount binaries_;
};

TEST_F(OpenCl, KnowsItsDevice) {
  const GpuInfo& info = context_->info;
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.opencl_version.empty());
  EXPECT_GT(info.max_work_group_size, 0);
  EXPECT_GE(info.buffer_alignment_bytes, 16);
  EXPECT_GE(info.vector_width, 4);
  GpuInfo again;
  EXPECT_TRUE(ParseGpuInfo(ToJson(info), &again).ok());
  EXPECT_EQ(ToJson(again), ToJson(info));
}

TEST_F(OpenCl, RunsAPlanOnTheCallersMemoryAndOnItsOwn) {
  for (const bool shares : {context_->info.shares_host_memory, false}) {
    for (const bool one_program : {false, true}) {
      context_->info.shares_host_memory = shares;
      PlanText text;
      text.one_program = one_program;
      const HandMadePlan plan(text);
      std::unique_ptr<ClExecutable> executable;
      const Status status = Load(plan.get(), &executable);
      ASSERT_TRUE(status.ok()) << status.message();
      std::vector<std::vector<float>> ins, outs;  // all kept: each run gets memory of its own
      for (int run = 0; run < 3; ++run) {
        ins.push_back(Ramp(static_cast<float>(run)));
        outs.emplace_back(kCount, -1.0f);
        ASSERT_TRUE(executable->Run({ins.back().data()}, {outs.back().data()}, nullptr).ok());
        ExpectRight(ins.back(), outs.back());
      }
    }
  }
}

// How many of this process's mappings may be of huge pages.
int HugeMappings() {
  std::ifstream smaps("/proc/self/smaps");
  int count = 0;
  for (std::string line; std::getline(smaps, line);) {
    count += line.rfind("VmFlags:", 0) == 0 && line.find(" hg") != std::string::npos;
  }
  return count;
}

TEST_F(OpenCl, AsksForHugePagesWhereKernelsWorkOnTheHostsMemory) {
  if (!context_->info.shares_host_memory) GTEST_SKIP() << "the device has memory of its own";
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) GTEST_SKIP() << "there are none";
  const int before = HugeMappings();
  for (const int more : {0, 1}) {
    PlanText text;
    text.spare_bytes = more ? uint64_t{4} << 20 : 0;
    const HandMadePlan plan(text);
    std::unique_ptr<ClExecutable> executable;
    const Status status = Load(plan.get(), &executable);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(HugeMappings(), before + more);
    const std::vector<float> in = Ramp(1.0f);
    std::vector<float> out(kCount, -1.0f);
    ASSERT_TRUE(executable->Run({in.data()}, {out.data()}, nullptr).ok());
    ExpectRight(in, out);
  }
  EXPECT_EQ(HugeMappings(), before);
}

TEST_F(OpenCl, BuildsNothingTwice) {
  const HandMadePlan plan, same;
  ClPrograms programs(context_);
  ClKernelPrograms first, second;
  ASSERT_TRUE(programs.Build(*plan.get(), plan.binaries(), &first, &binaries_).ok());
  ASSERT_TRUE(programs.Build(*same.get(), same.binaries(), &second, &binaries_).ok());
  EXPECT_EQ(first.size(), 2u);
  EXPECT_EQ(first, second);
  EXPECT_NE(first["scale"], first["add"]);
}

TEST_F(OpenCl, CompilesByItselfWhereNoThreadIsLeft) {
  const HandMadePlan plan;
  ClPrograms programs(context_);
  ClKernelPrograms built;
  no_threads_left = true;
  const Status status = programs.Build(*plan.get(), plan.binaries(), &built, &binaries_);
  no_threads_left = false;
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(built.size(), 2u);
  EXPECT_EQ(threads_refused > 0, std::thread::hardware_concurrency() > 1);
}

TEST_F(OpenCl, AKernelThatAnotherPlanHadServesInAProgramOfSeveral) {
  PlanText together;
  together.one_program = true;
  const HandMadePlan plan, joined(together);
  ClPrograms programs(context_);
  ClKernelPrograms first, second;
  ASSERT_TRUE(programs.Build(*plan.get(), plan.binaries(), &first, &binaries_).ok());
  ASSERT_TRUE(programs.Build(*joined.get(), joined.binaries(), &second, &binaries_).ok());
  EXPECT_EQ(first, second);
}

TEST_F(OpenCl, AProgramOfOtherPlansKernelsIsKeptInAllTheirBinaries) {
  PlanText text;
  text.one_program = true;
  const HandMadePlan plan, joined(text);
  {
    ClPrograms programs(context_);
    ClKernelPrograms apart, together;
    ASSERT_TRUE(programs.Build(*plan.get(), plan.binaries(), &apart, &binaries_).ok());
    ASSERT_TRUE(programs.Build(*joined.get(), joined.binaries(), &together, &binaries_).ok());
    programs.AddBinaries(*joined.get()->programs()->Get(0), together, &text.binaries);
  }
  ASSERT_EQ(text.binaries.size(), 2u);
  binaries_ = BinaryCount();
  const HandMadePlan again(text);
  std::unique_ptr<ClExecutable> executable;
  ASSERT_TRUE(Load(again.get(), &executable, again.binaries()).ok());
  EXPECT_EQ(binaries_.loaded, 2);
  EXPECT_EQ(binaries_.compiled, 0);
  RunAndCheck(executable.get(), 3);
}

TEST_F(OpenCl, WhatTheDriverCompiledIsNotCompiledAgain) {
  for (const bool one_program : {false, true}) {
    PlanText text;
    text.one_program = one_program;
    const HandMadePlan plan(text);
    std::unique_ptr<ClExecutable> first, second;
    ASSERT_TRUE(Load(plan.get(), &first).ok());
    EXPECT_EQ(binaries_.loaded, 0);
    text.binaries = first->Binaries();
    ASSERT_EQ(text.binaries.size(), one_program ? 1u : 2u);
    EXPECT_GT(text.binaries[0].bytes.size(), 0u);
    const HandMadePlan again(text);
    ASSERT_TRUE(Load(again.get(), &second, again.binaries()).ok());
    EXPECT_EQ(binaries_.loaded, static_cast<int>(text.binaries.size()));
    RunAndCheck(second.get(), 3);
    binaries_ = BinaryCount();
  }
}

TEST_F(OpenCl, ABrokenKernelIsAnErrorWithTheDriversLog) {
  PlanText text;
  text.scale = "__kernel void scale(__global float* a) { a[0] = no_such_name; }";
  const HandMadePlan plan(text);
  std::unique_ptr<ClExecutable> executable;
  const Status status = Load(plan.get(), &executable);
  EXPECT_EQ(status.code(), Code::kDeviceFailed);
  EXPECT_NE(status.message().find("compile scale: CL_BUILD_PROGRAM_FAILURE"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("no_such_name"), std::string::npos) << status.message();
}

TEST_F(OpenCl, AMissingEntryPointIsAnErrorThatNamesIt) {
  PlanText text;
  text.scale = "__kernel void other(__global float* a) { a[0] = 0.0f; }";
  const HandMadePlan plan(text);
  std::unique_ptr<ClExecutable> executable;
  const Status status = Load(plan.get(), &executable);
  EXPECT_NE(status.message().find("find the kernel scale"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("CL_INVALID_KERNEL_NAME"), std::string::npos) << status.message();
}

TEST_F(OpenCl, AGroupThatIsTooLargeIsAnErrorBeforeTheLaunch) {
  PlanText text;
  text.local = 1 << 20;
  const HandMadePlan plan(text);
  std::unique_ptr<ClExecutable> executable;
  const Status status = Load(plan.get(), &executable);
  EXPECT_EQ(status.code(), Code::kDeviceFailed);
  EXPECT_NE(status.message().find("scale: groups of 1048576 x 1 x 1"), std::string::npos)
      << status.message();
}

TEST_F(OpenCl, ABufferBeyondTheDevicesLimitIsAnError) {
  const HandMadePlan plan;
  context_->info.max_buffer_bytes = 8;
  std::unique_ptr<ClExecutable> executable;
  const Status status = Load(plan.get(), &executable);
  EXPECT_NE(status.message().find("the device allows 8"), std::string::npos) << status.message();
}

TEST(OpenClLibrary, AMissingOneIsAnErrorThatNamesIt) {
  std::shared_ptr<Backend> backend;
  const Status status = MakeOpenClBackend("/nowhere/libOpenCL.so", {}, &backend);
  EXPECT_EQ(status.code(), Code::kDeviceFailed);
  EXPECT_NE(status.message().find("/nowhere/libOpenCL.so"), std::string::npos);
  EXPECT_NE(status.message().find("opencl_library"), std::string::npos);
}

TEST(OpenClLibrary, AnotherLibraryIsAnErrorThatNamesWhatItLacks) {
  std::shared_ptr<Backend> backend;
  const Status status = MakeOpenClBackend("libm.so.6", {}, &backend);
  EXPECT_NE(status.message().find("libm.so.6 lacks clBuildProgram, "), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace quadra
