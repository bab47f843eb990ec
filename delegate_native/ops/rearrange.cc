// Reshapes, transposes and slices of a tensor after each other, in one kernel
// (passes/merge_moves.cc): windows of an image, heads of a product. The result's numbers in their
// dense order count along `sizes`, the last one fastest; a step along each of these is so many
// numbers of the source (`steps`), whose number `first` is the result's first one.
#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/index_map.h"

namespace quadra {
namespace {

Status InferShape(Graph* graph, const Node& node) {
  const std::vector<int>& sizes = node.attributes.Ints("sizes");
  const std::vector<int>& steps = node.attributes.Ints("steps");
  int64_t count = 1, last = node.attributes.Int("first");
  bool fits = sizes.size() == steps.size() && !sizes.empty() && last >= 0;
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] > 0 && steps[i] > 0 && count < INT32_MAX && last < INT32_MAX;
    count *= sizes[i];
    last += int64_t{sizes[i] - 1} * steps[i];
  }
  Value& out = graph->value(node.outputs[0]);
  QUADRA_RETURN_IF_ERROR(SetDims(node.attributes.Ints("shape"), &out));
  if (fits && last < graph->shape(node.inputs[0]).elements() && count == out.shape.elements()) {
    return Status();
  }
  return InvalidModel("its sizes and steps do not fit the shapes");
}

// The number of the result, or its pixel or slice, leads to that of the source, and this to its
// place. Axes are counted from the fastest one on.
constexpr const char* kAddress = QUADRA_TEXT(R"(at_p = 0;
at_q = 0;
int rest = (batch * dst_h + at_y) * dst_w + at_x;
$if(channels) rest = rest * dst_c + at_c;
int number = begin;
$for(i, last) number += rest % size_$i * step_$i; rest /= size_$i;
number += rest * step_$last;
$if(channels)
at_c = number % src_c;
number /= src_c;
$end
at_x = number % src_w;
number /= src_w;
at_y = number % src_h;
at_b = number / src_h;
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape &from = graph.shape(node.inputs[0]), &to = graph.shape(node.outputs[0]);
  std::vector<int> sizes = node.attributes.Ints("sizes"), steps = node.attributes.Ints("steps");
  int begin = node.attributes.Int("first");
  // Whether all that moves together is as many numbers or a multiple of them.
  const auto moves = [&](int numbers) {
    bool fits = steps.back() == 1 && sizes.back() % numbers == 0 && begin % numbers == 0;
    for (size_t i = 0; i + 1 < steps.size(); ++i) fits &= steps[i] % numbers == 0;
    return fits && from.c % numbers == 0 && to.c % numbers == 0;
  };
  const bool pixels = from.c == to.c && sizes.back() == from.c && sizes.size() > 1 && moves(from.c);
  if (pixels) {
    sizes.pop_back();
    steps.pop_back();
    begin /= from.c;
    for (int& step : steps) step /= from.c;
  }
  const int last = static_cast<int>(sizes.size()) - 1;
  const std::string address = Text(kAddress).Set("channels", !pixels).Set("last", last);
  IndexMap map;
  map.address = address;
  map.keeps_channels = pixels || moves(4);
  KernelDesc& desc =
      AddIndexMap(context, "rearrange", map, node.inputs[0], from, node.outputs[0], to, list);
  desc.Int("begin", begin);
  for (int i = 0; i <= last; ++i) {
    const size_t axis = static_cast<size_t>(last - i);
    if (i < last) desc.Int(Format("size_%d", i), sizes[axis]);
    desc.Int(Format("step_%d", i), steps[axis]);
  }
  return Status();
}

}  // namespace

extern const Op kRearrangeOp;
const Op kRearrangeOp = {
    .name = QUADRA_TEXT("rearrange"),
    .attributes = QUADRA_TEXT("first shape sizes steps"),
    .shape = InferShape,
    .kernels = Kernels,
    .max_rank = kMostRank,
    .moves = true,
};

}  // namespace quadra
