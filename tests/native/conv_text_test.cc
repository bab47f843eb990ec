#include "delegate_native/ops/conv_kernels.h"
#include "gtest/gtest.h"

namespace quadra {
namespace {

// Three output channels, two taps, five input channels; every weight tells where it belongs.
Conv NumberedConv() {
  Conv conv;
  conv.in = {1, 4, 4, 5};
  conv.out = {1, 4, 4, 3};
  conv.window.kernel_x = 2;
  conv.weights = [] {
    std::vector<float> weights;
    for (int i = 0; i < 3 * 2 * 5; ++i) weights.push_back(static_cast<float>(i + 1));
    return Share(std::move(weights));
  };
  return conv;
}

TEST(PackConvWeights, PutsChannelsSideBySideAndZerosInTheGaps) {
  const Conv conv = NumberedConv();
  const std::vector<float> packed = PackConvWeights(conv, 2, 8);
  ASSERT_EQ(packed.size(), 2u * 2 * 8 * 2);  // blocks of two lanes, taps, padded input channels
  for (int o = 0; o < 4; ++o) {
    for (int tap = 0; tap < 2; ++tap) {
      for (int i = 0; i < 8; ++i) {
        const float wanted = o < 3 && i < 5 ? static_cast<float>((o * 2 + tap) * 5 + i + 1) : 0.0f;
        const int at = (((o / 2) * 2 + tap) * 8 + i) * 2 + o % 2;
        EXPECT_EQ(packed[static_cast<size_t>(at)], wanted) << o << " " << tap << " " << i;
      }
    }
  }
}

TEST(PackConvWeights, HasARowWithoutATap) {
  Conv conv = NumberedConv();
  conv.window.kernel_x = 0;
  EXPECT_EQ(PackConvWeights(conv, 4, 8), std::vector<float>(8 * 4, 0.0f));
}

TEST(PackConvWeights, OfGroupsHasNoZeros) {
  Conv conv;
  conv.in = conv.out = {1, 4, 4, 16};
  conv.groups = 4;
  conv.weights = [] {
    std::vector<float> weights;
    for (int i = 0; i < 16 * 4; ++i) weights.push_back(static_cast<float>(i + 1));
    return Share(std::move(weights));
  };
  ASSERT_EQ(SlicesOfBlock(conv, 4), 1);
  const std::vector<float> packed = PackConvWeights(conv, 4, 4);
  ASSERT_EQ(packed.size(), 64u);
  for (int o = 0; o < 16; ++o) {
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(packed[static_cast<size_t>((o / 4 * 4 + i) * 4 + o % 4)],
                static_cast<float>(o * 4 + i + 1));
    }
  }
}

TEST(SlicesOfBlock, AreThoseOfTheGroupsThatItLiesIn) {
  Conv conv;
  conv.in = {1, 4, 4, 30};
  conv.out = {1, 4, 4, 35};
  conv.groups = 5;
  // Channels 12 to 15 lie in the second and the third group, whose inputs are channels 6 to 17.
  EXPECT_EQ(SlicesOfBlock(conv, 4), 4);
  EXPECT_EQ(SlicesOfBlock(conv, 64), 8);
}

// So many parts of the inputs, or of the outputs where weights are read as images.
TEST(AddGpuConv, MakesTheWeightsOfAllPartsOnce) {
  for (const bool by_inputs : {true, false}) {
    GpuInfo gpu;
    gpu.api = by_inputs ? Api::kOpenCl : Api::kGles;
    gpu.max_buffer_bytes = by_inputs ? 5120 : 1 << 20;
    gpu.reads_buffers_as_images = !by_inputs;
    gpu.max_image_buffer_width = 600;
    Conv conv;
    conv.in = conv.out = {1, 8, 8, 64};
    conv.src = 0;
    conv.dst = 1;
    int made = 0;
    conv.weights = [&made] {
      ++made;
      return Share(std::vector<float>(64 * 64, 1.0f));
    };
    KernelContext context;
    context.gpu = &gpu;
    KernelList list;
    list.first_scratch = 2;
    AddGpuConv(context, conv, &list);
    ASSERT_GT(list.kernels.size(), 1u);
    for (int turn = 1; turn < 3; ++turn) {
      size_t floats = 0;
      for (const KernelDesc& kernel : list.kernels) floats += kernel.constants[0].pack().size();
      EXPECT_EQ(floats, 64u * 64);
      EXPECT_EQ(made, turn);
    }
  }
}

TEST(BiasOf, IsZeroWhereThereIsNone) {
  Conv conv;
  conv.bias = {1.0f, 2.0f};
  EXPECT_EQ(BiasOf(conv, 4), (std::vector<float>{1.0f, 2.0f, 0.0f, 0.0f}));
}

}  // namespace
}  // namespace quadra
