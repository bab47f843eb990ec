#include "delegate_native/runtime/opencl/pocl/cl_common_entry.h"
#include "gtest/gtest.h"

namespace quadra {
namespace {

struct Sample {
  std::string entry;
  std::vector<std::string> parameters;
};

std::unique_ptr<const ClNumberedEntry> EntryOf(const std::vector<Sample>& samples) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::Kernel>> offsets;
  for (const Sample& sample : samples) {
    offsets.push_back(fb::CreateKernel(builder, builder.CreateString(sample.entry), 0, 0,
                                       builder.CreateVectorOfStrings(sample.parameters)));
  }
  builder.Finish(fb::CreateProgramDirect(builder, "", &offsets));
  const auto* program = flatbuffers::GetRoot<fb::Program>(builder.GetBufferPointer());
  std::vector<const fb::Kernel*> kernels;
  for (const fb::Kernel* kernel : *program->kernels()) kernels.push_back(kernel);
  return MakeCommonEntry(kernels);
}

TEST(CommonEntry, HasRoomForTheLongestListOfEachKind) {
  const auto common = EntryOf({{"one", {"__global const float*", "int", "int"}},
                               {"two", {"__global float*", "__global float*", "float"}}});
  EXPECT_EQ(common->buffers(), 2);
  EXPECT_EQ(common->numbers(), 2);
  EXPECT_EQ(common->NumberOf("two"), 1);
}

TEST(CommonEntry, CallsEachBodyWithItsOwnTypes) {
  const auto common = EntryOf({{"one", {"__global const vec4*", "float", "int"}}});
  EXPECT_NE(common->source().find("case 0: one_body((__global const vec4*)buffer_0, "
                                  "as_float(given.number[0]), given.number[1], x, y, z); break;"),
            std::string::npos)
      << common->source();
}

TEST(CommonEntry, IsNoneWhenABodyCannotBeCalled) {
  EXPECT_EQ(EntryOf({{"one", {"int"}}, {"two", {}}}), nullptr);
}

}  // namespace
}  // namespace quadra
