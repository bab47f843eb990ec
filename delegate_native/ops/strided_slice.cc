// STRIDED_SLICE: numpy's x[begin:end:stride, …] over any axes, any non-zero strides, bounds
// clamped; masks leave bounds open, drop an axis, insert one, or stand for "all axes in between".
#include <algorithm>
#include <utility>

#include "delegate_native/base/status.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/folding.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/index_map.h"
#include "delegate_native/ops/reshape.h"
#include "delegate_native/ops/slice.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(4, 4));
  const TfLiteStridedSliceParams* params;
  QUADRA_RETURN_IF_ERROR(importer->GetParams(&params));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "begin", &attributes));
  QUADRA_RETURN_IF_ERROR(importer->Sizes(2, "end", &attributes));
  QUADRA_RETURN_IF_ERROR(importer->Sizes(3, "strides", &attributes));
  const auto set = [&](const char* name, int mask) {
    if (mask) attributes.SetInt(name, mask);
  };
  set("begin_mask", params->begin_mask);
  set("end_mask", params->end_mask);
  set("ellipsis_mask", params->ellipsis_mask);
  set("new_axis_mask", params->new_axis_mask);
  set("shrink_axis_mask", params->shrink_axis_mask);
  set("offset", params->offset);
  return importer->AddNode("strided_slice", {src}, std::move(attributes));
}

struct Slicing {
  SlicePlaces places;
  Shape taken;            // shape after slicing, all axes kept
  std::vector<int> dims;  // of the result: axes dropped and inserted
};

// One axis of size n by the i-th begin, end and stride. `count` is how many elements it keeps. With
// the attribute "counts" the end says so itself, or is -1: all that are left.
Status SliceAxis(const Attributes& a, size_t i, int n, int* start, int* stride, int* count) {
  const int bit = 1 << i;
  *stride = a.Ints("strides")[i];
  if (*stride == 0) return InvalidModel("stride %zu is 0", i);
  const int64_t least = *stride > 0 ? 0 : -1;
  const int64_t most = *stride > 0 ? n : n - 1;
  const auto clamp = [&](int64_t at) {
    return std::min(std::max(at < 0 ? at + n : at, least), most);
  };
  const int64_t begin =
      a.Int("begin_mask", 0) & bit ? (*stride > 0 ? least : most) : clamp(a.Ints("begin")[i]);
  *start = static_cast<int>(begin);
  if (a.Int("shrink_axis_mask", 0) & bit) {
    if (begin < 0 || begin >= n) {
      return InvalidModel("index %d of an axis of %d is out of range", a.Ints("begin")[i], n);
    }
    *stride = *count = 1;
    return Status();
  }
  const int last = a.Ints("end")[i], first = a.Ints("begin")[i];
  int64_t end = *stride > 0 ? most : least;
  if (a.Int("counts", 0)) {
    if (first < 0 || last < -1 || last > int64_t{n} - first) {
      return InvalidModel("it takes %d elements from %d on of an axis of %d", last, first, n);
    }
    if (last >= 0) end = begin + last;
  } else if (!(a.Int("end_mask", 0) & bit)) {
    end = clamp(last + (a.Int("offset", 0) ? begin : int64_t{0}));
  }
  const int64_t span = *stride > 0 ? end - begin : begin - end;
  const int64_t step = *stride > 0 ? *stride : -int64_t{*stride};
  *count = span <= 0 ? 0 : static_cast<int>((span + step - 1) / step);
  if (*count == 0) return Unsupported("its result is empty along an axis of %d", n);
  return Status();
}

// Walks the specification: entry i of begin, end, strides is a new axis, the ellipsis, or a slice
// of the next input axis. Axes that it does not reach are kept whole.
Status MakeSlicing(const Value& in, const Attributes& a, Slicing* slicing) {
  const size_t entries = a.Ints("begin").size();
  const size_t ends = a.Ints("end").size(), strides = a.Ints("strides").size();
  if (ends != entries || strides != entries || entries > 8) {
    return InvalidModel("it has %zu begins, %zu ends and %zu strides", entries, ends, strides);
  }
  const int first = 4 - in.rank;
  int sliced = 0;  // entries that use up an input axis
  for (size_t i = 0; i < entries; ++i) {
    const int bit = 1 << i;
    sliced += !((a.Int("ellipsis_mask", 0) | a.Int("new_axis_mask", 0)) & bit);
  }
  if (sliced > in.rank) {
    return InvalidModel("it slices %d axes of rank %d", sliced, in.rank);
  }
  slicing->taken = in.shape;
  int axis = first;
  const auto keep = [&](int until) {
    for (; axis < until; ++axis) slicing->dims.push_back(in.shape.axis(axis));
  };
  bool open = false;
  for (size_t i = 0; i < entries; ++i) {
    const int bit = 1 << i;
    if (a.Int("ellipsis_mask", 0) & bit) {
      if (open) return InvalidModel("it has more than one ellipsis");
      open = true;
      int after = 0;
      for (size_t j = i + 1; j < entries; ++j) {
        after += !(a.Int("new_axis_mask", 0) & (1 << j));
      }
      // TFLite lets it swallow the axis of the next entry.
      if (axis >= 4 - after) return Unsupported("its ellipsis stands for no axis");
      keep(4 - after);
    } else if (a.Int("new_axis_mask", 0) & bit) {
      slicing->dims.push_back(1);
    } else {
      int count = 0;
      QUADRA_RETURN_IF_ERROR(SliceAxis(a, i, in.shape.axis(axis), slicing->places.start_of(axis),
                                       slicing->places.stride_of(axis), &count));
      slicing->taken.set_axis(axis, count);
      if (!(a.Int("shrink_axis_mask", 0) & bit)) slicing->dims.push_back(count);
      ++axis;
    }
  }
  keep(4);
  return Status();
}

Status InferShape(Graph* graph, const Node& node) {
  Slicing slicing;
  QUADRA_RETURN_IF_ERROR(MakeSlicing(graph->value(node.inputs[0]), node.attributes, &slicing));
  return SetDims(slicing.dims, &graph->value(node.outputs[0]));
}

constexpr const char* kRow = QUADRA_TEXT(R"(
  int slice = s % dst_s;
  int from_s = (s / dst_s * stride_b + start_b) * src_s;
  int from_y = y * stride_y + start_y;
  int first = slice * 4 * stride_c + start_c;
  int low = from_s + first / 4;
  int high = from_s + min(first / 4 + 1, src_s - 1);
)");

constexpr const char* kPixel = QUADRA_TEXT(R"(
    int from_x = x * stride_x + start_x;
    num4 v = read_src(from_x, from_y, low);
    if (stride_c == 1) {
      if (first % 4 != 0) { v = num_lanes_from(v, read_src(from_x, from_y, high), first % 4); }
    } else {
      for (int i = 0; i < 4; ++i) {
        int c = min(slice * 4 + i, dst_c - 1) * stride_c + start_c;
        v = num_with_lane(v, i, num_lane(read_src(from_x, from_y, from_s + c / 4), c % 4));
      }
    }
    write_dst(v, x, y, s);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  Slicing slicing;
  QUADRA_RETURN_IF_ERROR(MakeSlicing(graph.value(node.inputs[0]), node.attributes, &slicing));
  const int to = BeginReshape(graph, node, slicing.taken, list);
  AddSlice(context, slicing.places, node.inputs[0], graph.shape(node.inputs[0]), to, slicing.taken,
           list);
  FinishReshape(context, graph, node, to, slicing.taken, list);
  return Status();
}

// Where the outer axes say something, too.
void AddOuterSlice(const KernelContext& context, SlicePlaces places, int from,
                   const Shape& from_shape, int to, const Shape& to_shape, KernelList* list) {
  IndexMap map;
  map.keeps_channels = *places.stride_of(3) == 1 && *places.start_of(3) % 4 == 0;
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    if (*places.stride_of(axis) == 1 && *places.start_of(axis) == 0) continue;
    map.address +=
        Along(axis, axis - kFirstAxis, QUADRA_TEXT("$at = $at * stride_$i + start_$i;\n"));
  }
  KernelDesc& desc = AddIndexMap(context, "outer_slice", map, from, from_shape, to, to_shape, list);
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    desc.Int(Format("start_%d", axis - kFirstAxis), *places.start_of(axis));
    desc.Int(Format("stride_%d", axis - kFirstAxis), *places.stride_of(axis));
  }
}

// SLICE: from a place on, so many along each axis; -1: to the end. A computed place makes it a
// dynamic_slice.
Status ImportSlice(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kAllElements));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(importer->Sizes(2, "end", &attributes));
  // In a composite, what follows from shapes is known only when these are.
  const bool is_inner = !importer->known()->subgraphs.empty();
  if (importer->HasInput(1) && !importer->IsConstant(1) && !is_inner) {
    ValueId begin;
    QUADRA_RETURN_IF_ERROR(importer->Operand(1, &begin, kInts | Only(Element::kInt64)));
    return importer->AddNode("dynamic_slice", {src, begin}, std::move(attributes));
  }
  QUADRA_RETURN_IF_ERROR(importer->Sizes(1, "begin", &attributes));
  attributes.SetInts("strides", std::vector<int>(static_cast<size_t>(importer->InputRank(0)), 1));
  attributes.SetInt("counts", 1);
  return importer->AddNode("strided_slice", {src}, std::move(attributes));
}

ConstantData Fold(const Graph& graph, const Node& node) {
  const Value& in = graph.value(node.inputs[0]);
  Slicing slicing;
  return MakeSlicing(in, node.attributes, &slicing).ok()
             ? FoldSlice(slicing.places, in, slicing.taken)
             : nullptr;
}

bool PartOf(const Graph& graph, const Node& node, SlicePlaces* places, Shape* taken) {
  Slicing slicing;
  const Value& in = graph.value(node.inputs[0]);
  if (!MakeSlicing(in, node.attributes, &slicing).ok()) return false;
  *places = slicing.places;
  *taken = slicing.taken;
  return true;
}

bool StepsByOne(const Node& node) {
  const std::vector<int>& strides = node.attributes.Ints("strides");
  return std::all_of(strides.begin(), strides.end(), [](int stride) { return stride == 1; });
}

}  // namespace

ConstantData FoldSlice(SlicePlaces places, const Value& from, const Shape& to_shape) {
  Steps steps = StepsOf(from.shape);
  int first = 0;
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    int& step = steps.of[axis - kFirstAxis];
    first += *places.start_of(axis) * step;
    step *= *places.stride_of(axis);
  }
  return Picked(*from.constant, PlacesOf(to_shape, steps, first));
}

void AddSlice(const KernelContext& context, SlicePlaces places, int from, const Shape& from_shape,
              int to, const Shape& to_shape, KernelList* list) {
  if (from_shape.axis(-1) > 1 || from_shape.axis(-2) > 1) {
    AddOuterSlice(context, places, from, from_shape, to, to_shape, list);
    return;
  }
  KernelDesc& desc = list->Add("strided_slice");
  desc.Read("src", from);
  desc.Write("dst", to);
  const char* const names[4][2] = {{"start_b", "stride_b"},
                                   {"start_y", "stride_y"},
                                   {"start_x", "stride_x"},
                                   {"start_c", "stride_c"}};
  for (int axis = 0; axis < 4; ++axis) {
    desc.Int(names[axis][0], *places.start_of(axis));
    desc.Int(names[axis][1], *places.stride_of(axis));
  }
  LoopOverResults(context, to_shape, kRow, kPixel, &desc);
}

extern const Op kSliceOp;
const Op kSliceOp = {
    .name = "slice",
    .builtins = {kTfLiteBuiltinSlice, -1},
    .max_version = 8,
    .import = ImportSlice,
    .max_rank = kMostRank,
    .moves = true,
    .size_input = 2,
};

extern const Op kStridedSliceOp;
const Op kStridedSliceOp = {
    .name = "strided_slice",
    .builtins = {kTfLiteBuiltinStridedSlice, -1},
    .max_version = 8,
    .params_bytes = sizeof(TfLiteStridedSliceParams),
    .attributes = QUADRA_TEXT("begin end strides"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .fold = Fold,
    .max_rank = kMostRank,
    .asks_for_rank = true,
    .copies = StepsByOne,
    .part = PartOf,
    .moves = true,
    .size_input = 2,
};

}  // namespace quadra
