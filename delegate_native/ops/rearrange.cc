// Reshapes, transposes, slices and rolls of a tensor after each other, in one kernel
// (passes/merge_moves.cc): windows of an image, heads of a product. The result's numbers in their
// dense order count along `sizes`, the last one fastest; a step along each of these is so many
// numbers of the source (`steps`), whose number `first` is the result's first one.
// Steps of sizes that are `turned` by the axis n lead along that (0: they are the source's). The
// axes follow each other in `turns`: a shift, and behind a count as many parts of the axis, a size
// and a step of the source each. Where steps and shift lead beyond its end, it begins again.
#include "delegate_native/base/status.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/index_map.h"

namespace quadra {
namespace {

struct Turn {
  int shift, size = 1;
  std::vector<int> sizes, steps;  // of its parts, the fastest one last
};

// The axes of `turns`; false: they break off, or have sizes that are none.
bool ReadTurns(const Node& node, std::vector<Turn>* turns) {
  if (!node.attributes.Has("turns")) return true;
  const std::vector<int>& numbers = node.attributes.Ints("turns");
  for (size_t at = 0; at < numbers.size();) {
    if (numbers.size() - at < 2) return false;
    Turn turn;
    turn.shift = numbers[at++];
    const int parts = numbers[at++];
    if (parts < 1 || numbers.size() - at < 2 * static_cast<size_t>(parts)) return false;
    for (int i = 0; i < parts; ++i) {
      const int size = numbers[at++], step = numbers[at++];
      if (size < 1 || step < 1 || turn.size > INT32_MAX / size) return false;
      turn.size *= size;
      turn.sizes.push_back(size);
      turn.steps.push_back(step);
    }
    if (turn.shift < 0 || turn.shift >= turn.size) return false;
    turns->push_back(std::move(turn));
  }
  return true;
}

// The axis that turns size i, counted from 1; 0: none.
size_t TurnOf(const Node& node, size_t i) {
  if (!node.attributes.Has("turned")) return 0;
  const std::vector<int>& turned = node.attributes.Ints("turned");
  return i < turned.size() ? static_cast<size_t>(turned[i]) : 0;
}

Status InferShape(Graph* graph, const Node& node) {
  const std::vector<int>& sizes = node.attributes.Ints("sizes");
  const std::vector<int>& steps = node.attributes.Ints("steps");
  int64_t count = 1, last = node.attributes.Int("first");
  std::vector<Turn> turns;
  bool fits = sizes.size() == steps.size() && !sizes.empty() && last >= 0;
  fits = fits && ReadTurns(node, &turns);
  std::vector<int64_t> along(turns.size(), 0);  // the last place of each axis, unless it turns
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    const size_t turn = TurnOf(node, i);
    fits = sizes[i] > 0 && steps[i] > 0 && count < INT32_MAX && turn <= turns.size();
    if (!fits) break;
    count *= sizes[i];
    int64_t& end = turn > 0 ? along[turn - 1] : last;
    end += int64_t{sizes[i] - 1} * steps[i];
    fits = end < (turn > 0 ? turns[turn - 1].size : INT32_MAX);
  }
  for (const Turn& turn : turns) {
    for (size_t i = 0; fits && i < turn.sizes.size(); ++i) {
      last += int64_t{turn.sizes[i] - 1} * turn.steps[i];
      fits = last < INT32_MAX;
    }
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
$for(i, turns) int along_$i = shift_$i;
$counts$turning$if(channels)
at_c = number % src_c;
number /= src_c;
$end
at_x = number % src_w;
number /= src_w;
at_y = number % src_h;
at_b = number / src_h;
)");

constexpr const char* kCount = QUADRA_TEXT(R"($into += rest % size_$i * step_$i; rest /= size_$i;
)");
constexpr const char* kLastCount = QUADRA_TEXT(R"($into += rest * step_$i;
)");
// Shift and steps are less than the axis each.
constexpr const char* kTurn = QUADRA_TEXT(R"(if (along_$i >= around_$i) { along_$i -= around_$i; }
$for(k, last) number += along_$i % part_${i}_$k * go_${i}_$k; along_$i /= part_${i}_$k;
number += along_$i * go_${i}_$last;
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape &from = graph.shape(node.inputs[0]), &to = graph.shape(node.outputs[0]);
  std::vector<int> sizes = node.attributes.Ints("sizes"), steps = node.attributes.Ints("steps");
  std::vector<Turn> turns;
  (void)ReadTurns(node, &turns);  // shape inference has
  int begin = node.attributes.Int("first");
  // Calls fn with each step of the source but that of the last size.
  const auto for_steps = [&](const auto& fn) {
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
      if (TurnOf(node, i) == 0) fn(&steps[i]);
    }
    for (Turn& turn : turns) {
      for (int& step : turn.steps) fn(&step);
    }
  };
  // Whether all that moves together is as many numbers or a multiple of them.
  const auto moves = [&](int numbers) {
    bool fits = steps.back() == 1 && TurnOf(node, steps.size() - 1) == 0 &&
                sizes.back() % numbers == 0 && begin % numbers == 0;
    for_steps([&](const int* step) { fits &= *step % numbers == 0; });
    return fits && from.c % numbers == 0 && to.c % numbers == 0;
  };
  const bool pixels = from.c == to.c && sizes.back() == from.c && sizes.size() > 1 && moves(from.c);
  if (pixels) {
    for_steps([&](int* step) { *step /= from.c; });
    sizes.pop_back();
    steps.pop_back();
    begin /= from.c;
  }
  const int last = static_cast<int>(sizes.size()) - 1;
  std::string counts, turning;
  for (int i = 0; i <= last; ++i) {
    const size_t turn = TurnOf(node, static_cast<size_t>(last - i));
    Text count(i < last ? kCount : kLastCount);
    count.Set("into", turn > 0 ? Format("along_%d", static_cast<int>(turn) - 1) : "number");
    counts += count.Set("i", i).str();
  }
  for (size_t i = 0; i < turns.size(); ++i) {
    const int parts = static_cast<int>(turns[i].sizes.size());
    turning += Text(kTurn).Set("i", static_cast<int>(i)).Set("last", parts - 1).str();
  }
  Text address(kAddress);
  address.Set("channels", !pixels).Set("turns", static_cast<int>(turns.size()));
  const std::string text = address.Set("counts", counts).Set("turning", turning);
  IndexMap map;
  map.address = text;
  map.keeps_channels = pixels || moves(4);
  KernelDesc& desc =
      AddIndexMap(context, "rearrange", map, node.inputs[0], from, node.outputs[0], to, list);
  desc.Int("begin", begin);
  for (int i = 0; i <= last; ++i) {
    const size_t axis = static_cast<size_t>(last - i);
    if (i < last) desc.Int(Format("size_%d", i), sizes[axis]);
    desc.Int(Format("step_%d", i), steps[axis]);
  }
  for (int i = 0; i < static_cast<int>(turns.size()); ++i) {
    const Turn& turn = turns[static_cast<size_t>(i)];
    desc.Int(Format("shift_%d", i), turn.shift);
    desc.Int(Format("around_%d", i), turn.size);
    const int parts = static_cast<int>(turn.sizes.size());
    for (int k = 0; k < parts; ++k) {
      const size_t part = static_cast<size_t>(parts - 1 - k);
      if (k + 1 < parts) desc.Int(Format("part_%d_%d", i, k), turn.sizes[part]);
      desc.Int(Format("go_%d_%d", i, k), turn.steps[part]);
    }
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
