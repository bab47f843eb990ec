// The prelude's part for OpenCL kernels of wide vectors.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/prelude.h"

namespace quadra {

// For the kernels that are shaped for CPUs. OUTLINED is a body that is compiled once and called:
// PoCL compiles a kernel three times. Wide vectors must be asked for by name, or such a function
// falls back to half of them.
const char* const kOpenClWide = QUADRA_TEXT(R"(
typedef float16 vec16;
typedef int16 ivec16;
typedef uint16 uvec16;
#define OUTLINED static
#ifdef __has_attribute
#if __has_attribute(min_vector_width)
#undef OUTLINED
#define OUTLINED __attribute__((noinline, min_vector_width(512))) static
#endif
#endif
)");

// Wide kernels (OpenCL only) read single channels, quads and four quads at once from any place, so
// these take pointers; "LANES" is what NAME_lanes is.
const char* const kOpenClLanes = QUADRA_TEXT(R"(
#define LANES __global const float*
#define lane_at(p) (*(p))
typedef float4 __attribute__((aligned(4))) quad_anywhere;
typedef float16 __attribute__((aligned(4))) quads_anywhere;
#define quad_at(p) (*(__global const quad_anywhere*)(p))
#define quads_at(p) (*(__global const quads_anywhere*)(p))
#define OUT_LANES __global float*
#define put_quads(v, p) (*(__global quads_anywhere*)(p) = (v))
)");

const char* const kOpenClHalfLanes = QUADRA_TEXT(R"(
#define LANES __global const half*
#define lane_at(p) vload_half(0, p)
#define quad_at(p) vload_half4(0, p)
#define quads_at(p) vload_half16(0, p)
#define OUT_LANES __global half*
#define put_quads(v, p) vstore_half16(v, 0, p)
)");

// The functions of one pixel, for the four that a kernel writes at once.
const PreludePart kWideParts[] = {
    {"four_of(", QUADRA_TEXT("static inline vec16 four_of(vec4 v) { return vec16(v, v, v, v); }\n"),
     ""},
    {"wide_above(",
     QUADRA_TEXT(
         "static inline vec16 wide_above(vec16 v, vec16 low) { return v < low ? low : v; }\n"),
     ""},
    {"wide_below(",
     QUADRA_TEXT(
         "static inline vec16 wide_below(vec16 v, vec16 high) { return v > high ? high : v; }\n"),
     ""},
    {"wide_bounded(",
     QUADRA_TEXT(R"(static inline vec16 wide_bounded(vec16 v, float low, float high) {
  v = v < low ? low : v;
  return v > high ? high : v;
}
)"),
     ""},
    {"wide_requantize(",
     QUADRA_TEXT(
         R"(static inline vec16 wide_requantize(vec16 v, float inverse, float scale, float low, float high) {
  return requantize_of(vec16, v);
}
)"),
     ""},
    {"wide_with_zeros_from(",
     QUADRA_TEXT(R"(static inline vec16 wide_with_zeros_from(vec16 v, int n) {
  return vec16(with_zeros_from(v.s0123, n), with_zeros_from(v.s4567, n),
               with_zeros_from(v.s89ab, n), with_zeros_from(v.scdef, n));
}
)"),
     ""},
    {nullptr, nullptr, nullptr},
};

}  // namespace quadra
