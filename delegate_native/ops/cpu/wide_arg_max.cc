// ARG_MAX and ARG_MIN along channels.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/cpu/wide_kernels.h"

namespace quadra {
namespace {

// Four pixels of floats are one vector of sixteen lanes; the last ones go the other way. $better is
// how a number `v` beats `most`.
constexpr const char* kQuadsAlongChannels = QUADRA_TEXT(R"(
int first = ((s / dst_s * dst_h + y) * dst_w + x) * dst_c + s % dst_s * 4;
int plane = src_w * src_h, b = first / plane, p = first - b * plane;
if (p + 4 <= plane) {
LANES from = src_lanes + (b * src_s * plane + p) * 4;
vec16 v = quads_at(from), most = v.s000044448888cccc;
ivec4 four = ivec4(0, 1, 2, 3);
ivec16 places = 0, place = ivec16(four, four, four, four), better;
for (int i = 0; i < src_s; ++i, place += 4) {
v = quads_at(from + i * plane * 4);
better = ($better) & (place < src_c);
most = better ? v : most;
places = better ? place : places;
}
v = most.s1032547698badcfe; place = places.s1032547698badcfe;
better = ($better) | ((v == most) & (place < places));
most = better ? v : most; places = better ? place : places;
v = most.s23016745ab89efcd; place = places.s23016745ab89efcd;
better = ($better) | ((v == most) & (place < places));
places = better ? place : places;
write_dst(places.s048c, x, y, s);
continue;
}
)");
// A work-item makes a pixel's results of neighbours in the source.
constexpr const char* kAllSlices = QUADRA_TEXT(R"(
int x = GLOBAL_X, y = GLOBAL_Y, b0 = GLOBAL_Z;
if (x >= dst_w || y >= dst_h || b0 >= dst_b) { return; }
for (int s = b0 * dst_s; s < (b0 + 1) * dst_s; ++s) {
$quads$body}
)");

}  // namespace

void MakeWideArgMax(const Shape& out, bool is_float, bool least, const std::string& body,
                    KernelDesc* kernel) {
  std::string quads;
  if (is_float && out.c >= 4) {
    Text text(kQuadsAlongChannels);
    text.Set("better", "(v ${least:>,<} most) | ((v == v) & (most != most))");
    quads = text.Set("least", least);
  }
  kernel->body = Text(kAllSlices).Set("quads", quads).Set("body", body);
  kernel->Grid(out.w, out.h, out.b);
}

}  // namespace quadra
