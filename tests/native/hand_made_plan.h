// A plan made by hand, in either language, and what it must give.
#ifndef QUADRA_TESTS_NATIVE_HAND_MADE_PLAN_H_
#define QUADRA_TESTS_NATIVE_HAND_MADE_PLAN_H_

#include <cstring>
#include <string>
#include <vector>

#include "delegate_native/base/hash.h"
#include "delegate_native/plan/binaries.h"
#include "delegate_native/runtime/backend.h"
#include "gtest/gtest.h"

namespace quadra {

constexpr int kCount = 256;
constexpr int kBytes = kCount * 4;
constexpr int kPlace = 1024;  // in the arena and among the constants: not at the start

const char kOpenClScale[] = R"(
__kernel void scale(__global const float* in, __global float* out, float by) {
  out[get_global_id(0)] = in[get_global_id(0)] * by;
}
)";
const char kOpenClAdd[] = R"(
__kernel void add(__global const float* in, __constant float* table, __global float* out, int n) {
  int i = get_global_id(0);
  if (i < n) out[i] = in[i] + table[i % 4];
}
)";

const char kGlesScale[] = R"(#version 310 es
precision highp float;
layout(local_size_x = 16) in;
layout(std430, binding = 0) readonly buffer in_block { float in_data[]; };
layout(std430, binding = 1) writeonly buffer out_block { float out_data[]; };
layout(std140, binding = 0) uniform numbers { highp float by; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  out_data[i] = in_data[i] * by;
}
)";
const char kGlesAdd[] = R"(#version 310 es
precision highp float;
layout(local_size_x = 16) in;
layout(std430, binding = 0) readonly buffer in_block { float in_data[]; };
layout(std430, binding = 1) readonly buffer table_block { float table_data[]; };
layout(std430, binding = 2) writeonly buffer out_block { float out_data[]; };
layout(std140, binding = 0) uniform numbers { highp int n; };
void main() {
  int i = int(gl_GlobalInvocationID.x);
  if (i < n) out_data[i] = in_data[i] + table_data[i % 4];
}
)";

struct PlanText {
  explicit PlanText(const std::string& language = "opencl")
      : api(language),
        scale(api == "gles" ? kGlesScale : kOpenClScale),
        add(api == "gles" ? kGlesAdd : kOpenClAdd) {}

  std::string api, scale, add;
  int local = 16;  // OpenCL: of `scale`
  bool one_program = false;
  uint64_t spare_bytes = 0;  // of the arena, behind what kernels use
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
        fb::CreateBufferDirect(b_, fb::BufferKind_Arena, kPlace + kBytes + text.spare_bytes),
        fb::CreateBufferDirect(b_, fb::BufferKind_Constant, data.size(), &data),
        fb::CreateBufferDirect(b_, fb::BufferKind_Io, kBytes)};
    const std::vector<fb::Region> regions = {
        {0, 0, kBytes}, {1, kPlace, kBytes}, {2, kPlace, 16}, {3, 0, kBytes}};
    const std::vector<flatbuffers::Offset<fb::Tensor>> tensors = {
        fb::CreateTensorDirect(b_, "in", nullptr, 0, 0, kBytes),
        fb::CreateTensorDirect(b_, "out", nullptr, 3, 0, kBytes)};
    const std::vector<flatbuffers::Offset<fb::Kernel>> kernels = {
        fb::CreateKernelDirect(b_, "scale", "scale", text.scale.c_str()),
        fb::CreateKernelDirect(b_, "add", "add", text.add.c_str())};
    std::vector<flatbuffers::Offset<fb::Program>> programs;
    if (text.one_program) {
      programs = {Program(kernels, text, 0)};
    } else {
      for (const auto& kernel : kernels) {
        programs.push_back(Program({kernel}, text, programs.size()));
      }
    }
    const std::vector<fb::Arg> scale = {Memory(0), Memory(1), Number(fb::ArgKind_Float, 0, 2.0f)};
    const std::vector<fb::Arg> add = {Memory(1), Memory(2), Memory(3),
                                      Number(fb::ArgKind_Int, kCount, 0.0f)};
    const std::vector<flatbuffers::Offset<fb::Dispatch>> dispatches = {
        Dispatch("scale", 0, scale, text.local),
        Dispatch("add", text.one_program ? 0 : 1, add, 16)};
    const std::vector<flatbuffers::Offset<fb::Io>> inputs = {fb::CreateIoDirect(b_, 0)};
    const std::vector<flatbuffers::Offset<fb::Io>> outputs = {fb::CreateIoDirect(b_, 1)};
    fb::FinishPlanBuffer(
        b_, fb::CreatePlanDirect(b_, 1, "test", text.api.c_str(), "test", "test", "f32", &buffers,
                                 &regions, &tensors, &programs, &dispatches, &inputs, &outputs));
    binaries_ = PackBinaries(*get(), text.binaries);
  }

  const fb::Plan* get() const { return fb::GetPlan(b_.GetBufferPointer()); }
  const fb::Binaries* binaries() const {
    return flatbuffers::GetRoot<fb::Binaries>(binaries_.data());
  }

 private:
  static fb::Arg Memory(int region) {
    return {fb::ArgKind_Buffer, false, fb::View_Memory, region, 0, 0.0f};
  }
  static fb::Arg Number(fb::ArgKind kind, int i, float f) {
    return {kind, false, fb::View_Memory, 0, i, f};
  }

  flatbuffers::Offset<fb::Program> Program(
      const std::vector<flatbuffers::Offset<fb::Kernel>>& kernels, const PlanText& text,
      size_t index) {
    const std::string all = text.scale + text.add + std::to_string(index);
    return fb::CreateProgramDirect(b_, "", &kernels, "-cl-std=CL1.2", Hash(all.data(), all.size()));
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
  std::vector<uint8_t> binaries_;
};

inline std::vector<float> Ramp(float from) {
  std::vector<float> ramp(kCount);
  for (int i = 0; i < kCount; ++i) ramp[static_cast<size_t>(i)] = from + static_cast<float>(i);
  return ramp;
}

inline void ExpectRight(const std::vector<float>& in, const std::vector<float>& out) {
  const float table[] = {1, 10, 100, 1000};
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[i] * 2 + table[i % 4]) << i;
}

inline void RunAndCheck(Executable* executable, float from, RunTimes* times = nullptr) {
  const std::vector<float> in = Ramp(from);
  std::vector<float> out(kCount, -1.0f);
  const Status status = executable->Run({in.data()}, {out.data()}, times);
  ASSERT_TRUE(status.ok()) << status.message();
  ExpectRight(in, out);
}

}  // namespace quadra

#endif  // QUADRA_TESTS_NATIVE_HAND_MADE_PLAN_H_
