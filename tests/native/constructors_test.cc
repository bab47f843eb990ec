#include "delegate_native/kernel/constructors.h"

#include "gtest/gtest.h"

namespace quadra {
namespace {

TEST(WithCasts, WritesConstructorsAsOpenClDoes) {
  EXPECT_EQ(WithCasts("v = vec4(a, b.xy, 1.0f);"), "v = ((vec4)(a, b.xy, 1.0f));");
  EXPECT_EQ(WithCasts("ivec16(0) + uvec16(1)"), "((ivec16)(0)) + ((uvec16)(1))");
  EXPECT_EQ(WithCasts("num4(num(0))"), "((num4)(((num)(0))))");
  EXPECT_EQ(WithCasts("float(int(f(x)) + (y))"), "((float)(((int)(f(x))) + (y)))");
}

TEST(WithCasts, LeavesOtherWordsAlone) {
  for (const char* text :
       {"to_float(v)", "convert_float4(v)", "vec4 f(vec4 v, int (x))", "(float)(x)", "my_vec4(x)",
        "vector(x)", "if (a) for (int i = 0;;) f();", "vec(x)", ")("}) {
    EXPECT_EQ(WithCasts(text), text);
  }
}

}  // namespace
}  // namespace quadra
