#include "delegate_native/kernel/packed_text.h"

#include <cstring>

#include "delegate_native/base/status.h"
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
  const std::string every = Unpacked(KernelWords::kWords);
  EXPECT_EQ(every, KernelWords::kWords) << "what has no packed words stays as it is";
}

TEST(PackedText, TakesFewBytes) {
  EXPECT_LE(strlen(QUADRA_TEXT("for (int i = 0; i < ")), 2u);
  EXPECT_EQ(strlen(QUADRA_TEXT("for (int ")), 1u);
  EXPECT_LT(strlen(kLoop), 24u);
}

template <class List>
void ExpectEveryWord() {
  const auto& words = packing::kFound<List>;
  ASSERT_GT(words.count, packing::kOneByte) << "no word takes two bytes";
  for (int i = 0; i < words.count; ++i) {
    std::string packed(1, static_cast<char>(128 + i % 128));
    if (i >= packing::kOneByte) packed.insert(0, 1, static_cast<char>(i / 128));
    EXPECT_EQ(packing::UnpackerOf<List>()(packed),
              std::string(words.begin[i], static_cast<size_t>(words.Length(i))));
  }
}

TEST(PackedText, HasACodeForEveryWord) {
  ExpectEveryWord<KernelWords>();
  ExpectEveryWord<SentenceWords>();
}

TEST(PackedText, EndsAtWhatIsNoWord) {
  EXPECT_EQ(Unpacked("a\x08\xff z"), "a");
  EXPECT_EQ(Unpacked("a\x01"), "a");
}

TEST(PackedText, IsTheFormatOfAFailure) {
  const Status status = Unsupported("its input %d has rank %s; rank %lld", 7, "two", 8LL);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(status.message(), "its input 7 has rank two; rank 8");
  EXPECT_EQ(Internal("100 %%").message(), "100 %");
  EXPECT_LT(strlen(QUADRA_PACKED(SentenceWords,
                                 "its input %d has rank %d; ranks up to %d are supported")),
            20u);
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
