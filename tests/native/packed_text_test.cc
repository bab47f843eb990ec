#include "delegate_native/kernel/packed_text.h"

#include <cstring>

#include "delegate_native/base/names.h"
#include "delegate_native/base/status.h"
#include "delegate_native/runtime/opencl/cl_api.h"
#include "delegate_native/tflite/op_names.h"
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

TEST(PackedText, ListsNames) {
  const std::string names = UnpackedNames(QUADRA_NAMES("STABLEHLO_TANH\n\nINVALID_VALUE\n"));
  const char* const expected[] = {"STABLEHLO_TANH", "", "INVALID_VALUE", "", ""};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(NameAt(names, i), expected[i]) << i;
  EXPECT_EQ(NameAt(names, -1), "");
}

TEST(PackedText, NamesOpsByCode) {
  EXPECT_EQ(OpName(0, nullptr), "ADD");
  EXPECT_EQ(OpName(32, nullptr), "CUSTOM");
  EXPECT_EQ(OpName(32, "Mine"), "Mine");
  EXPECT_EQ(OpName(206, nullptr), "STABLEHLO_COMPOSITE");
  EXPECT_EQ(OpName(-1, nullptr), "OP_-1");
  EXPECT_EQ(OpName(300, nullptr), "OP_300");
}

TEST(PackedText, NamesOpenClErrorsByCode) {
  EXPECT_EQ(ClErrorName(CL_DEVICE_NOT_FOUND), "CL_DEVICE_NOT_FOUND");
  EXPECT_EQ(ClErrorName(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
            "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST");
  EXPECT_EQ(ClErrorName(CL_INVALID_VALUE), "CL_INVALID_VALUE");
  EXPECT_EQ(ClErrorName(CL_INVALID_DEVICE), "CL_INVALID_DEVICE");
  EXPECT_EQ(ClErrorName(CL_INVALID_COMMAND_QUEUE), "CL_INVALID_COMMAND_QUEUE");
  EXPECT_EQ(ClErrorName(CL_INVALID_BINARY), "CL_INVALID_BINARY");
  EXPECT_EQ(ClErrorName(CL_INVALID_WORK_ITEM_SIZE), "CL_INVALID_WORK_ITEM_SIZE");
  EXPECT_EQ(ClErrorName(CL_INVALID_EVENT), "CL_INVALID_EVENT");
  EXPECT_EQ(ClErrorName(CL_INVALID_BUFFER_SIZE), "CL_INVALID_BUFFER_SIZE");
  EXPECT_EQ(ClErrorName(CL_INVALID_COMPILER_OPTIONS), "CL_INVALID_COMPILER_OPTIONS");
  EXPECT_EQ(ClErrorName(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
  EXPECT_EQ(ClErrorName(-20), "error -20");
  EXPECT_EQ(ClErrorName(-9999), "error -9999");
  EXPECT_EQ(ClErrorName(7), "error 7");
}

}  // namespace
}  // namespace quadra
