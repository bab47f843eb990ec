// Rotary position embedding, as passes/fuse_rope.cc finds it: channel i of the first half and
// channel i of the second are a point that is turned by an angle, whose cosines and sines are
// tensors, of a half's channels or of all. With an epsilon the numbers are those of a norm, times a
// factor of each channel (passes/fuse_rope_of_norm.cc).
#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/norm.h"

namespace quadra {
namespace {

constexpr const char* kPlace = QUADRA_TEXT(R"(
int batch = s / span;
int i = s - batch * span;
int first = batch * src_s;
)");
constexpr const char* kTurn = QUADRA_TEXT(R"(
$if(norm) int batch = first / src_s;
int to = first + i;
sum4_t a = read_src(x, y, to), b = read_src(x, y, to + span);
$if(norm)
a *= scale * read_factors(0, 0, i);
b *= scale * read_factors(0, 0, i + span);
$end
int at = batch * angles_b + i;
sum4_t c = read_cosines(x * angles_x, y * angles_y, at), d = read_sines(x * angles_x, y * angles_y, at);
write_dst(a * c - b * d, x, y, to);
$if(whole)
c = read_cosines(x * angles_x, y * angles_y, at + span);
d = read_sines(x * angles_x, y * angles_y, at + span);
$end
write_dst(b * c + a * d, x, y, to + span);
)");

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const Shape& shape = graph.shape(node.outputs[0]);
  const Shape& angles = graph.shape(node.inputs[1]);
  const int half = shape.slices() / 2;
  KernelDesc& desc = list->Add("rope");
  desc.Read("src", node.inputs[0]);
  desc.Read("cosines", node.inputs[1]);
  desc.Read("sines", node.inputs[2]);
  const bool norm = node.attributes.Has("epsilon");
  if (norm) desc.Read("factors", node.inputs[3]);
  desc.Write("dst", node.outputs[0]);
  desc.Int("span", half);
  desc.Int("angles_x", angles.w > 1);
  desc.Int("angles_y", angles.h > 1);
  desc.Int("angles_b", angles.b > 1 ? angles.slices() : 0);
  const std::string turn = Text(kTurn).Set("whole", angles.c == shape.c).Set("norm", norm);
  if (norm) {
    MakeNorm(context, shape, node.attributes, "span", turn.c_str(), &desc);
    return Status();
  }
  const std::string pixel = kPlace + turn;
  Loops loops;
  loops.limits[2] = "span * dst_b";
  loops.pixel = pixel.c_str();
  loops.work = 2;
  LoopOver(context, shape.w, shape.h, half * shape.b, loops, &desc);
  return Status();
}

}  // namespace

extern const Op kRopeOp;
const Op kRopeOp = {
    .name = "rope",
    .shape = SameShape,
    .kernels = Kernels,
};

}  // namespace quadra
