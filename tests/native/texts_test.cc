// The library's texts are what the sources say. (A text that bazel/pack_texts.py misses is an error
// of the linker.)
#include "delegate_native/base/texts.h"

#include <gtest/gtest.h>

#include <string>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/dialect.h"
#include "delegate_native/tflite/op_names.h"

namespace quadra {
namespace {

TEST(Texts, ReachFromTheFirstToTheLast) {
  EXPECT_EQ(OpName(0, nullptr), "ADD");
  EXPECT_EQ(OpName(208, nullptr), "STABLEHLO_CBRT");
  const std::string prelude = Prelude(Dialect(), "");
  EXPECT_NE(prelude.find("#define"), std::string::npos);
  for (char c : prelude) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
}

TEST(Texts, AreNamedByHash) {
  EXPECT_EQ(TextHash(""), 0x811c9dc5u);
  EXPECT_EQ(TextHash("foobar"), 0xbf9cf968u);  // of the authors' own table
}

}  // namespace
}  // namespace quadra
