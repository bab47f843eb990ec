// Convolutions on GPUs, and those of three dimensions everywhere: a work-item keeps a tile of
// results in registers (conv_tiles.cc; its text: conv_gpu_text.cc).
#include <algorithm>

#include "delegate_native/ops/conv_gpu_text.h"
#include "delegate_native/ops/conv_tiles.h"
#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/split_sums.h"

namespace quadra {
namespace {

int64_t TripsOf(const Conv& conv, int slices) {
  const Window& window = conv.window;
  return int64_t{conv.depth.kernel_y} * window.kernel_y *
         (int64_t{window.kernel_x} * (slices + 1) + 1);
}

void AddDepthNumbers(const Conv& conv, int planes, KernelDesc* kernel) {
  kernel->Int("kernel_z", conv.depth.kernel_y);
  kernel->Int("stride_z", conv.depth.stride_y);
  kernel->Int("dilation_z", conv.depth.dilation_y);
  kernel->Int("pad_z", conv.depth.pad_top);
  kernel->Int("step_z", conv.step_z);
  kernel->Int("first_z", conv.first_z);
  kernel->Int("src_d", conv.in.axis(0));
  kernel->Int("dst_d", conv.out.axis(0));
  kernel->Int("grid_d", conv.grid_d());
  kernel->Int("planes", planes);
}

// Weights that `parts` kernels take theirs from: made once for all, and let go with the last. They
// may be Winograd's, or made of integers.
Function<SharedFloats()> MadeOnce(const Function<SharedFloats()>& make, int parts) {
  struct Kept {
    SharedFloats floats;
    int left = 0;
  };
  return [make, parts, kept = std::make_shared<Kept>()] {
    if (kept->left == 0) {
      kept->floats = make();
      kept->left = parts;
    }
    return --kept->left == 0 ? std::move(kept->floats) : kept->floats;
  };
}

// The convolution by the inputs, or with the outputs, of a part alone, as far as its weights tell.
Conv OnlyPart(Conv conv, const Part& part) {
  const int all_c = conv.in.c, all_rows = conv.taps() * conv.out.c;
  const bool by_inputs = part.slices == Slices::kByInputs;
  const int first = by_inputs ? part.first * 4 : 0, first_o = part.first_out * 4;
  if (by_inputs) conv.in.c = std::min(conv.in.c - first, part.count * 4);
  if (part.outs > 0) conv.out.c = std::min(conv.out.c - first_o, part.outs * 4);
  const int some_c = conv.in.c, taps = conv.taps(), rows = taps * conv.out.c;
  if (part.before >= 0) conv.bias.clear();
  if (part.to != conv.dst) conv.bounds = Bounds();
  conv.weights = [first, first_row = taps * first_o, rows, all_rows, all_c, some_c,
                  matrices = conv.matrices, all = conv.weights] {
    const SharedFloats weights = all();
    std::vector<float> taken;
    for (int n = 0; n < matrices * rows; ++n) {
      const int row = first_row + n / rows * all_rows + n % rows;
      const float* from = weights->data() + std::ptrdiff_t{row} * all_c + first;
      taken.insert(taken.end(), from, from + some_c);
    }
    return Share(std::move(taken));
  };
  return conv;
}

void AddGpuPart(const KernelContext& context, const Conv& conv, Part part, KernelList* list) {
  const bool buffers = context.StorageOf(conv.in) == Storage::kBuffer &&
                       context.StorageOf(conv.out) == Storage::kBuffer;
  const bool pixel = conv.pointwise();
  const bool as_row = buffers && pixel && conv.plane_as_row;
  const int w = as_row ? conv.grid_w() * conv.grid_h() : conv.grid_w();
  const int h = as_row ? 1 : conv.grid_h();
  QuadTile tile = TileFor(*context.gpu, w, h, pixel, conv, part.count);
  const int blocks = CeilDiv(part.outs > 0 ? part.outs : conv.out.slices(), tile.slices);
  const int lanes = tile.slices * 4;
  if (conv.groups > 1) part.count = SlicesOfBlock(conv, lanes);
  const SerialTexts* const serial = CpuKernelsFor(*context.gpu).serial;
  // Results that are quantised are those of the CPU's integers, and so exact. Of a source that is
  // one slice floats cost no more: four products in half save as much as it takes to add them up.
  const bool half = context.plan_computes_half() && !conv.bounds.round() && !serial;
  tile.half = half && context.computes_half() && CeilDiv(part.count, 1 << tile.split_bits) > 1;
  // Two weights that lie side by side: halfs of buffers, of which OpenCL has types.
  const Dialect dialect = context.DialectOf();
  tile.pairs = dialect.language == Language::kOpenCl && dialect.image_units == 0 && !serial &&
               StoresHalf(context.precision);
  // A merged step that has no text for halfs would take what is rounded twice.
  tile.stores_half = half && (tile.half || conv.plain);
  // A picture's fourth channel is no number: it is left out.
  if (!serial && conv.in.c < 4 && conv.groups == 1) tile.channels = conv.in.c;
  // A store costs less than a test. What is added may lie in the same buffer as the result, where
  // it must not be read after that is written; images hold one of them.
  tile.repeats =
      pixel && !serial &&
      (context.StorageOf(conv.out) == Storage::kImage2d || (conv.plain && part.before < 0));
  const bool is_some = part.slices == Slices::kByInputs;
  const Conv own = is_some || part.outs > 0 ? OnlyPart(conv, part) : conv;
  part.round = own.bounds.round();
  KernelDesc& kernel = list->Add(conv.name);
  kernel.Read("src", conv.src);
  if (part.before >= 0) kernel.Read("before", part.before);
  kernel.Write("dst", part.to);
  const int in_c = part.count * 4;
  kernel.Constant("weights", 4, PackedFloats(own, lanes, in_c),
                  [own, lanes, in_c] { return PackConvWeights(own, lanes, in_c); });
  if (!conv.bias.empty()) {
    kernel.Constant("bias", BiasOf(own, CeilDiv(conv.out.slices(), tile.slices) * lanes));
  }
  if (pixel) own.bounds.AddNumbers(&kernel);
  else AddConvNumbers(own, &kernel);
  if (conv.groups > 1) AddGroupNumbers(conv, lanes, &kernel);
  if (is_some) {
    kernel.Int("first_s", part.first);
    kernel.Int("part_s", part.count);
  }
  if (part.outs > 0) kernel.Int("first_o", part.first_out);
  kernel.Int("grid_w", w);
  kernel.Int("grid_h", h);
  kernel.Int("blocks", blocks);
  const int planes = conv.out.b / conv.out.axis(0) * conv.grid_d();
  if (conv.deep()) AddDepthNumbers(conv, planes, &kernel);
  kernel.body = QuadBody(tile, conv, part, pixel, serial);
  kernel.trips = TripsOf(conv, CeilDiv(part.count, 1 << tile.split_bits));
  kernel.Grid(CeilDiv(w, tile.pixels), h, blocks * (conv.deep() ? planes : conv.out.b));
  if (tile.split_bits > 0) AddSplit(tile.split_bits, tile.pixels * tile.slices, &kernel);
  else SetGroup(*context.gpu, &kernel);
}

// How many input slices one kernel may take.
int SlicesAtOnce(const KernelContext& context, const Conv& conv) {
  const int slices = conv.in.slices();
  const int lanes = 4 * 4;  // output channels are filled up to a tile's
  const int64_t floats = PackedFloats(conv, lanes, 4) + AlignUp(conv.out.c, lanes);
  const int64_t by_bytes =
      context.gpu->max_buffer_bytes / (floats * (StoresHalf(context.precision) ? 2 : 4));
  const int64_t taps = std::max(1, conv.taps());
  const int64_t by_trips = kMostTrips / taps - 2;
  return static_cast<int>(std::min<int64_t>(slices, std::min(by_bytes, by_trips)));
}

// How many output slices one kernel makes, where weights are read as an image of one row, which has
// an end: 0 means all. A product of few pixels reads each weight so seldom that it does not matter.
int OutputsAtOnce(const KernelContext& context, const Conv& conv) {
  constexpr int kLeastPixels = 16, kMostParts = 8;
  const Dialect dialect = context.DialectOf();
  const int slices = conv.out.slices();
  const int64_t texels =
      int64_t{4} * std::max(1, conv.taps()) * conv.matrices * conv.in.slices();  // of a slice
  const int64_t row = dialect.max_row_texels - slices - 1;  // behind them lie the biases
  if (dialect.image_units == 0 || conv.groups > 1 || texels * slices <= row ||
      conv.grid_w() * conv.grid_h() < kLeastPixels) {
    return 0;
  }
  const int most =
      static_cast<int>(std::max<int64_t>(0, row) / texels) / 2 * 2;  // tiles have one or two
  return most * kMostParts < slices ? 0 : most;
}

}  // namespace

void AddGpuConv(const KernelContext& context, const Conv& whole, KernelList* list) {
  constexpr int kMostParts = 64;
  Conv conv = whole;
  const int slices = conv.in.slices(), most = SlicesAtOnce(context, conv);
  const int parts = most > 0 ? CeilDiv(slices, most) : 1;
  Part part;
  part.count = slices;
  part.to = conv.dst;
  if (conv.groups > 1) part.slices = Slices::kOfGroups;
  if (conv.groups > 1 || parts == 1 || parts > kMostParts) {
    const int all = conv.out.slices(), at_once = OutputsAtOnce(context, conv);
    if (at_once == 0) return AddGpuPart(context, conv, part, list);
    conv.weights = MadeOnce(conv.weights, CeilDiv(all, at_once));
    for (; part.first_out < all; part.first_out += at_once) {
      part.outs = std::min(at_once, all - part.first_out);
      AddGpuPart(context, conv, part, list);
    }
    return;
  }
  part.slices = Slices::kByInputs;
  const int each = CeilDiv(slices, parts);
  conv.weights = MadeOnce(conv.weights, CeilDiv(slices, each));
  for (part.first = 0; part.first < slices; part.first += each) {
    const bool last = part.first + each >= slices;
    part.count = std::min(each, slices - part.first);
    part.to = last ? conv.dst : list->AddScratch(conv.out);
    AddGpuPart(context, conv, part, list);
    part.before = part.to;
  }
}

}  // namespace quadra
