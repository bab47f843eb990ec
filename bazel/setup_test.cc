// Headers, flatc and compiler flags are what the native code counts on.
#include <CL/cl.h>

#include "bazel/setup_test_generated.h"
#include "gtest/gtest.h"

namespace {

#if __cplusplus < 201703L || defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "the flags of .bazelrc did not reach the compiler"
#endif

TEST(Setup, SchemaRoundTrips) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(quadra::setup::CreateProbe(builder, 42));
  EXPECT_EQ(quadra::setup::GetProbe(builder.GetBufferPointer())->answer(), 42);
}

TEST(Setup, OpenClHeadersAreVersion3) { EXPECT_EQ(CL_TARGET_OPENCL_VERSION, 300); }

}  // namespace
