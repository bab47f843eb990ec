#include "delegate_native/kernel/packed_text.h"

#include <cstring>

#include "gtest/gtest.h"

namespace quadra {
namespace {

constexpr const char* kLoop =
    QUADRA_TEXT("for (int i = 0; i < rank; ++i) { read_src(x, y, i); }\n");

TEST(PackedText, UnpacksToTheLiteral) {
  EXPECT_EQ(Unpacked(kLoop), "for (int i = 0; i < rank; ++i) { read_src(x, y, i); }\n");
  EXPECT_EQ(Unpacked(QUADRA_TEXT("")), "");
  EXPECT_EQ(Unpacked(QUADRA_TEXT(R"(
#define at ~!@#$%^&*|"'\
  int
    
)")),
            "\n#define at ~!@#$%^&*|\"'\\\n  int\n    \n");
  const std::string every = Unpacked(packing::kWords);
  EXPECT_EQ(every, packing::kWords) << "what has no packed words stays as it is";
}

TEST(PackedText, TakesAByteForAWordTheLongestThatFits) {
  EXPECT_EQ(strlen(QUADRA_TEXT("for (int i = 0; i < ")), 1u);
  EXPECT_EQ(strlen(QUADRA_TEXT("for (int j")), 2u);
  EXPECT_LT(strlen(kLoop), 12u);
}

TEST(PackedText, HasAByteForEveryWord) {
  std::string all;
  for (int i = 0; i < packing::kFound.count; ++i) all += static_cast<char>(128 + i);
  std::string words = packing::kWords;
  for (size_t at; (at = words.find('|')) != std::string::npos;) words.erase(at, 1);
  EXPECT_EQ(Unpacked(all), words);
}

TEST(PackedText, IsJoinedAndFilledIn) {
  const std::string packed = QUADRA_TEXT("vec4 v$ = read_src($, y, @);\n");
  EXPECT_NE(packed.find('$'), std::string::npos);
  EXPECT_NE(packed.find('@'), std::string::npos);
  EXPECT_EQ(Unpacked(packed + "}\n" + packed),
            "vec4 v$ = read_src($, y, @);\n}\nvec4 v$ = read_src($, y, @);\n");
}

}  // namespace
}  // namespace quadra
