// MEAN: over any constant set of axes, kept as 1 or dropped. Axes may be negative or repeated; in
// the graph they are those of the four-dimensional shape.
#include "delegate_native/ops/mean.h"

#include <algorithm>

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/reduce.h"
#include "delegate_native/ops/reshape.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  const TfLiteReducerParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  std::vector<int> axes;
  QUADRA_RETURN_IF_ERROR(ReadAxes(*importer, 1, &axes));
  Attributes attributes;
  attributes.SetInts("axes", axes);
  attributes.SetInt("keep_dims", params->keep_dims);
  return importer->AddNode("mean", {src}, std::move(attributes));
}

constexpr const char* kRow = QUADRA_TEXT(R"(
  int first = s * $slices;
$for(i, slices)   int s$i = min(first + $i, dst_s * dst_b - 1);
)");

// Later layers often magnify a mean's rounding, so pixels are added as CPUs do it: one by one
// in a mean, `chunk` at a time in a pool. Such additions wait for each other: the more slices, the
// less is lost.
constexpr const char* kPixel = QUADRA_TEXT(R"($for(i, slices)
sum4_t sum$i = vec4(0.0f);
sum4_t some$i = vec4(0.0f);
$end
int left = chunk;
for (int b = 0; b < count_b; ++b) {
for (int j = 0; j < count_y; ++j) {
for (int k = 0; k < count_x; ++k) {
$for(i, slices) some$i += read_src(x + k, y + j, b * src_s + s$i);
left -= 1;
if (left == 0) {
left = chunk;
$for(i, slices)
sum$i += some$i;
some$i = vec4(0.0f);
$end
}
}
}
}
$for(i, slices)
vec4 v$i = (sum$i + some$i) / vec4(count);
if (s$i == first + $i) { write_dst(v$i, x, y, s$i); }
$end
)");

// Where channels are summed too. Axes that are not reduced have one element to sum.
constexpr const char* kChannels = QUADRA_TEXT(R"(
    sum4_t sum = vec4(0.0f);
    for (int b = 0; b < count_b; ++b) {
      for (int i = 0; i < src_s; ++i) {
        sum4_t part = vec4(0.0f);
        for (int j = 0; j < count_y; ++j) {
          for (int k = 0; k < count_x; ++k) {
            part += read_src(x + k, y + j, (s + b) * src_s + i);
          }
        }
        sum += part;
      }
    }
    write_dst(vec4((sum.x + sum.y + sum.z + sum.w) / count, 0.0f, 0.0f, 0.0f), x, y, s);
)");

// A part of a reduced axis, on the way to its mean: sums over `count_AXIS` pixels or slices,
// divided by that number.
constexpr const char* kPart = QUADRA_TEXT(R"(
    int b0 = s / dst_s;
    int i0 = (s - b0 * dst_s) * count_s;
    sum4_t sum = vec4(0.0f);
    for (int b = b0 * count_b; b < min(b0 * count_b + count_b, src_b); ++b) {
      for (int i = i0; i < min(i0 + count_s, src_s); ++i) {
        sum4_t part = vec4(0.0f);
        for (int j = y * count_y; j < min(y * count_y + count_y, src_h); ++j) {
          for (int k = x * count_x; k < min(x * count_x + count_x, src_w); ++k) {
            part += read_src(k, j, b * src_s + i);
          }
        }
        sum += part;
      }
    }
    write_dst(sum / vec4(count), x, y, s);
)");

int64_t TripsOf(const Shape& from, const Shape& to) {
  const int64_t slices = from.c == to.c ? 1 : from.slices();
  const auto along = [&](int axis) { return int64_t{from.axis(axis)} / to.axis(axis); };
  return along(0) * (slices * (along(1) * (along(2) + 1) + 1) + 1);
}

// Cuts the longest reduced axis of `shape` into parts of `kPartLength` and replaces tensor and
// shape by their means; returns the length.
int AddPart(const KernelContext& context, const Shape& to_shape, int* from, Shape* shape,
            KernelList* list) {
  constexpr int kPartLength = 1024;
  const auto steps = [&](int axis) {
    if (shape->axis(axis) == to_shape.axis(axis)) return 1;
    return axis == 3 ? shape->slices() : shape->axis(axis);
  };
  int axis = 0;
  for (int a = 1; a < 4; ++a) axis = steps(a) > steps(axis) ? a : axis;
  const int length = std::min(steps(axis), kPartLength);
  Shape parts = *shape;
  parts.set_axis(axis, CeilDiv(steps(axis), length) * (axis == 3 ? 4 : 1));
  const int to = list->AddScratch(parts);
  KernelDesc& desc = list->Add("mean_part");
  desc.Read("src", *from);
  desc.Write("dst", to);
  const char* const names[] = {"count_b", "count_y", "count_x", "count_s"};
  for (int a = 0; a < 4; ++a) desc.Int(names[a], a == axis ? length : 1);
  desc.Float("count", static_cast<float>(length));
  desc.trips = length + 4;
  LoopOverResults(context, parts, "", kPart, &desc);
  *from = to;
  *shape = parts;
  return length;
}

// Means along the axes where `to` has 1; `count` is how many numbers make one.
void AddMean(const KernelContext& context, int from, const Shape& from_shape, int to,
             const Shape& to_shape, double count, int chunk, KernelList* list) {
  const bool channels = to_shape.c != from_shape.c;
  KernelDesc& desc = list->Add(channels ? "mean_channels" : "mean");
  desc.Read("src", from);
  desc.Write("dst", to);
  desc.Int("count_b", from_shape.b / to_shape.b);
  desc.Int("count_y", from_shape.h / to_shape.h);
  desc.Int("count_x", from_shape.w / to_shape.w);
  desc.Float("count", static_cast<float>(count));
  desc.trips = TripsOf(from_shape, to_shape);
  if (channels) {
    LoopOverResults(context, to_shape, "", kChannels, &desc);
  } else {
    desc.Int("chunk", chunk);
    const int slices = std::min(4, context.gpu->results_per_item());
    const std::string row = Text(kRow).Set("slices", slices);
    const std::string pixel = Text(kPixel).Set("slices", slices);
    LoopOverSlices(context, to_shape, slices, row.c_str(), pixel.c_str(), &desc);
  }
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape made = Reduced(in, node);
  const int to = BeginReshape(graph, node, made, list);
  if (in.axis(-1) > 1 || in.axis(-2) > 1) {
    AddReduction(context, Reduction::kMean, node.inputs[0], in, to, made, Element::kFloat32, list);
  } else {
    AddMeanKernels(context, node.inputs[0], in, to, made, /*chunk=*/1, list);
  }
  FinishReshape(context, graph, node, to, made, list);
  return Status();
}

}  // namespace

void AddMeanKernels(const KernelContext& context, int from, const Shape& from_shape, int to,
                    const Shape& to_shape, int chunk, KernelList* list) {
  constexpr int kWorthTwoSteps = 256;
  const int columns = from_shape.w / to_shape.w, rows = from_shape.h / to_shape.h;
  const bool once =
      !context.gpu->divides_reductions() || rows == 1 || rows * columns < kWorthTwoSteps;
  Shape row_means = from_shape;
  if (!once) row_means.w = to_shape.w;
  const auto ratio = [&](const Shape& from) {
    const int64_t whole = from.elements() / to_shape.elements();
    return static_cast<double>(whole);
  };
  double count = ratio(row_means);
  const int64_t most = context.gpu->most_trips();
  if (columns > most || TripsOf(row_means, to_shape) > most) {
    // The last part may be shorter, so that the number to divide by is no whole one.
    Shape shape = from_shape;
    count = ratio(from_shape);
    while (TripsOf(shape, to_shape) > most)
      count /= AddPart(context, to_shape, &from, &shape, list);
    AddMean(context, from, shape, to, to_shape, count, chunk, list);
    return;
  }
  if (once) {
    AddMean(context, from, from_shape, to, to_shape, count, chunk, list);
    return;
  }
  // A work-item for a whole image would leave a GPU idle: rows first. They are means already, for
  // sums could be too large for half storage.
  const int between = list->AddScratch(row_means);
  AddMean(context, from, from_shape, between, row_means, columns, chunk, list);
  AddMean(context, between, row_means, to, to_shape, count, chunk, list);
}

extern const Op kMeanOp;
const Op kMeanOp = {
    .name = "mean",
    .builtins = {kTfLiteBuiltinMean, -1},
    .max_version = 3,
    .params_bytes = sizeof(TfLiteReducerParams),
    .attributes = QUADRA_TEXT("axes"),
    .import = Import,
    .shape = InferReduced,
    .kernels = Kernels,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .copies = AlwaysCopies,
    .size_input = 1,
};

}  // namespace quadra
