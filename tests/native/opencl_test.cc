// The OpenCL backend on whatever device this machine has, with plans made by hand.
#include <cstring>
#include <thread>

#include "delegate_native/runtime/opencl/cl_context.h"
#include "delegate_native/runtime/opencl/cl_executable.h"
#include "delegate_native/runtime/opencl/cl_programs.h"
#include "delegate_native/runtime/opencl/opencl_backend.h"
#include "gtest/gtest.h"

namespace quadra {
namespace {

constexpr int kCount = 256;
constexpr int kBytes = kCount * 4;
constexpr int kPlace = 1024;  // in the arena and among the constants: not at the start

const char kScale[] = R"(
__kernel void scale(__global const float* in, __global float* out, float by) {
  out[get_global_id(0)] = in[get_global_id(0)] * by;
}
)";
const char kAdd[] = R"(
__kernel void add(__global const float* in, __constant float* table, __global float* out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = in[i] + table[i % 4];
}
)";

struct PlanText {
  std::string scale = kScale;
  int local = 16;
  bool one_program = false;
  std::vector<ProgramBinary> binaries;
};

// out[i] = in[i] * 2 + {1, 10, 100, 1000}[i % 4], with the product in an arena.
class HandMadePlan {
 public:
  explicit HandMadePlan(const PlanText& text = PlanText()) {
    const float table[] = {1, 10, 100, 1000};
    std::vector<uint8_t> data(kPlace + sizeof(table));
    memcpy(&data[kPlace], table, sizeof(table));
    const std::vector<flatbuffers::Offset<fb::Buffer>> buffers = {
        fb::CreateBufferDirect(b_, fb::BufferKind_Io, kBytes),
        fb::CreateBufferDirect(b_, fb::BufferKind_Arena, kPlace + kBytes),
        fb::CreateBufferDirect(b_, fb::BufferKind_Constant, data.size(), &data),
        fb::CreateBufferDirect(b_, fb::BufferKind_Io, kBytes)};
    const std::vector<fb::Region> regions = {
        {0, 0, kBytes}, {1, kPlace, kBytes}, {2, kPlace, 16}, {3, 0, kBytes}};
    const std::vector<flatbuffers::Offset<fb::Tensor>> tensors = {
        fb::CreateTensorDirect(b_, "in", nullptr, 0, 0, kBytes),
        fb::CreateTensorDirect(b_, "out", nullptr, 3, 0, kBytes)};
    const std::vector<flatbuffers::Offset<fb::Kernel>> kernels = {
        fb::CreateKernelDirect(b_, "scale", "scale", text.scale.c_str()),
        fb::CreateKernelDirect(b_, "add", "add", kAdd)};
    std::vector<flatbuffers::Offset<fb::Program>> programs;
    if (text.one_program) {
      programs = {Program(kernels, text.binaries, 0)};
    } else {
      for (const auto& kernel : kernels) {
        programs.push_back(Program({kernel}, text.binaries, programs.size()));
      }
    }
    const std::vector<fb::Arg> scale = {Memory(0), Memory(1), {fb::ArgKind_Float, false, fb::View_Memory, 0, 0, 2.0f}};
    const std::vector<fb::Arg> add = {
        Memory(1), Memory(2), Memory(3), {fb::ArgKind_Int, false, fb::View_Memory, 0, kCount, 0.0f}};
    const std::vector<flatbuffers::Offset<fb::Dispatch>> dispatches = {
        Dispatch("scale", 0, scale, text.local),
        Dispatch("add", text.one_program ? 0 : 1, add, 16)};
    const std::vector<flatbuffers::Offset<fb::Io>> inputs = {fb::CreateIoDirect(b_, 0)};
    const std::vector<flatbuffers::Offset<fb::Io>> outputs = {fb::CreateIoDirect(b_, 1)};
    fb::FinishPlanBuffer(
        b_, fb::CreatePlanDirect(b_, 1, "test", "opencl", "test", "test", "f32", &buffers, &regions, &tensors,
                                 &programs, &dispatches, &inputs, &outputs));
  }

  const fb::Plan* get() const { return fb::GetPlan(b_.GetBufferPointer()); }

 private:
  static fb::Arg Memory(int region) { return {fb::ArgKind_Buffer, false, fb::View_Memory, region, 0, 0.0f}; }

  flatbuffers::Offset<fb::Program> Program(const std::vector<flatbuffers::Offset<fb::Kernel>>& kernels,
                                           const std::vector<ProgramBinary>& binaries, size_t index) {
    const std::vector<uint8_t>* binary = index < binaries.size() ? &binaries[index].bytes : nullptr;
    return fb::CreateProgramDirect(b_, "", &kernels, "-cl-std=CL1.2", 0, binary);
  }

  flatbuffers::Offset<fb::Dispatch> Dispatch(const char* name, int program,
                                             const std::vector<fb::Arg>& args, int local) {
    const std::vector<int> global = {kCount, 1, 1}, group = {local, 1, 1};
    const auto args_offset = b_.CreateVectorOfStructs(args);
    return fb::CreateDispatch(b_, b_.CreateString(name), b_.CreateString(name), program,
                              b_.CreateString(name), args_offset, b_.CreateVector(global),
                              b_.CreateVector(group));
  }

  flatbuffers::FlatBufferBuilder b_;
};

std::vector<float> Ramp(float from) {
  std::vector<float> ramp(kCount);
  for (int i = 0; i < kCount; ++i) ramp[static_cast<size_t>(i)] = from + static_cast<float>(i);
  return ramp;
}

void ExpectRight(const std::vector<float>& in, const std::vector<float>& out) {
  const float table[] = {1, 10, 100, 1000};
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] * 2 + table[i % 4]) << i;
}

void RunAndCheck(Executable* executable, float from, std::vector<float>* us = nullptr) {
  const std::vector<float> in = Ramp(from);
  std::vector<float> out(kCount, -1.0f);
  const Status status = executable->Run({in.data()}, {out.data()}, us);
  ASSERT_TRUE(status.ok()) << status.message();
  ExpectRight(in, out);
}

class OpenCl : public testing::Test {
 protected:
  void SetUp() override {
    const Status status = MakeClContext("", &context_);
    if (!status.ok()) GTEST_SKIP() << status.message();
  }

  Status Load(const fb::Plan* plan, std::unique_ptr<ClExecutable>* executable) {
    *executable = std::make_unique<ClExecutable>(context_, plan);
    QUADRA_RETURN_IF_ERROR((*executable)->MakeMemory());
    ClKernelPrograms programs;
    auto made_by = std::make_shared<ClPrograms>(context_);
    QUADRA_RETURN_IF_ERROR(made_by->Build(*plan, &programs, &from_binary_));
    return (*executable)->MakeKernels(std::move(programs), std::move(made_by));
  }

  std::shared_ptr<ClContext> context_;
  int from_binary_ = 0;
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

TEST_F(OpenCl, MeasuresEachDispatchWhenAsked) {
  const HandMadePlan plan;
  std::unique_ptr<ClExecutable> executable;
  ASSERT_TRUE(Load(plan.get(), &executable).ok());
  std::vector<float> us = {1, 2, 3};
  RunAndCheck(executable.get(), 5, &us);
  ASSERT_EQ(us.size(), 2u);
  EXPECT_GT(us[0], 0.0f);
  EXPECT_GT(us[1], 0.0f);
  RunAndCheck(executable.get(), 6);
}

TEST_F(OpenCl, BuildsNothingTwice) {
  const HandMadePlan plan, same;
  ClPrograms programs(context_);
  ClKernelPrograms first, second;
  ASSERT_TRUE(programs.Build(*plan.get(), &first, &from_binary_).ok());
  ASSERT_TRUE(programs.Build(*same.get(), &second, &from_binary_).ok());
  EXPECT_EQ(first.size(), 2u);
  EXPECT_EQ(first, second);
  EXPECT_NE(first["scale"], first["add"]);
}

TEST_F(OpenCl, AKernelThatAnotherPlanHadServesInAProgramOfSeveral) {
  PlanText together;
  together.one_program = true;
  const HandMadePlan plan, joined(together);
  ClPrograms programs(context_);
  ClKernelPrograms first, second;
  ASSERT_TRUE(programs.Build(*plan.get(), &first, &from_binary_).ok());
  ASSERT_TRUE(programs.Build(*joined.get(), &second, &from_binary_).ok());
  EXPECT_EQ(first, second);
}

TEST_F(OpenCl, WhatTheDriverCompiledIsNotCompiledAgain) {
  for (const bool one_program : {false, true}) {
    PlanText text;
    text.one_program = one_program;
    const HandMadePlan plan(text);
    std::unique_ptr<ClExecutable> first, second;
    ASSERT_TRUE(Load(plan.get(), &first).ok());
    EXPECT_EQ(from_binary_, 0);
    text.binaries = first->Binaries();
    ASSERT_EQ(text.binaries.size(), one_program ? 1u : 2u);
    EXPECT_GT(text.binaries[0].bytes.size(), 0u);
    const HandMadePlan again(text);
    ASSERT_TRUE(Load(again.get(), &second).ok());
    EXPECT_EQ(from_binary_, static_cast<int>(text.binaries.size()));
    RunAndCheck(second.get(), 3);
    from_binary_ = 0;
  }
}

TEST_F(OpenCl, ADamagedBinaryIsCompiledAnew) {
  PlanText text;
  text.binaries = {{{1, 2, 3, 4}, 0}};  // and none for the other
  const HandMadePlan plan(text);
  std::unique_ptr<ClExecutable> executable;
  ASSERT_TRUE(Load(plan.get(), &executable).ok());
  EXPECT_EQ(from_binary_, 0);
  RunAndCheck(executable.get(), 5);
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

TEST_F(OpenCl, TheWrongNumberOfInputsIsAnError) {
  const HandMadePlan plan;
  std::unique_ptr<ClExecutable> executable;
  ASSERT_TRUE(Load(plan.get(), &executable).ok());
  EXPECT_EQ(executable->Run({}, {}, nullptr).code(), Code::kInternal);
}

TEST_F(OpenCl, OneBackendServesThreadsAndOutlivesItsOwner) {
  std::shared_ptr<Backend> backend, same;
  ASSERT_TRUE(MakeOpenClBackend("", &backend).ok());
  ASSERT_TRUE(MakeOpenClBackend("", &same).ok());
  EXPECT_EQ(backend, same);
  const HandMadePlan plan;
  std::unique_ptr<Executable> executables[2];
  LoadTimes times;
  for (auto& executable : executables) {
    ASSERT_TRUE(backend->Load(plan.get(), &executable, &times).ok());
  }
  backend.reset();
  same.reset();
  std::vector<std::thread> threads;
  for (auto& executable : executables) {
    threads.emplace_back([&executable] {
      for (int run = 0; run < 50; ++run) RunAndCheck(executable.get(), static_cast<float>(run));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(OpenClLibrary, AMissingOneIsAnErrorThatNamesIt) {
  std::shared_ptr<Backend> backend;
  const Status status = MakeOpenClBackend("/nowhere/libOpenCL.so", &backend);
  EXPECT_EQ(status.code(), Code::kDeviceFailed);
  EXPECT_NE(status.message().find("/nowhere/libOpenCL.so"), std::string::npos);
  EXPECT_NE(status.message().find("opencl_library"), std::string::npos);
}

TEST(OpenClLibrary, AnotherLibraryIsAnErrorThatNamesWhatItLacks) {
  std::shared_ptr<Backend> backend;
  const Status status = MakeOpenClBackend("libm.so.6", &backend);
  EXPECT_NE(status.message().find("libm.so.6 lacks clBuildProgram, "), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace quadra
