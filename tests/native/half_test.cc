#include "delegate_native/base/half.h"

#include <cmath>
#include <limits>

#include "delegate_native/base/hash.h"
#include "gtest/gtest.h"

namespace quadra {
namespace {

TEST(Half, EveryHalfSurvivesTheWayThroughFloat) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const float value = HalfToFloat(static_cast<uint16_t>(half));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
    } else {
      ASSERT_EQ(FloatToHalf(value), half);
    }
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(HalfToFloat(0x3c00), 1.0f);
  EXPECT_EQ(HalfToFloat(0xc000), -2.0f);
  EXPECT_EQ(HalfToFloat(0x7bff), 65504.0f);
  EXPECT_EQ(HalfToFloat(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(HalfToFloat(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(HalfToFloat(0x8000)));
}

TEST(Half, RoundsToTheNearestEven) {
  const float step = std::ldexp(1.0f, -10);  // between halfs from 1 on
  EXPECT_EQ(FloatToHalf(1 + step * 0.5f), 0x3c00);
  EXPECT_EQ(FloatToHalf(1 + step * 1.5f), 0x3c02);
  EXPECT_EQ(FloatToHalf(1 + step * 0.51f), 0x3c01);
  EXPECT_EQ(FloatToHalf(std::ldexp(1.5f, -24)), 0x0002);  // among subnormals, too
  EXPECT_EQ(FloatToHalf(std::ldexp(0.5f, -24)), 0x0000);
}

TEST(Half, TooLargeBecomesInfinity) {
  EXPECT_EQ(FloatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(-1e30f), 0xfc00);
}

TEST(Hash, IsFnv1aAndGoesOnFromASeed) {
  EXPECT_EQ(Hash("", 0), 0xcbf29ce484222325ull);
  EXPECT_EQ(Hash("foobar", 6), 0x85944171f73967e8ull);
  EXPECT_EQ(Hash("bar", 3, Hash("foo", 3)), Hash("foobar", 6));
}

}  // namespace
}  // namespace quadra
