#include "delegate_native/kernel/prelude.h"

namespace quadra {

const char kOpenClPrelude[] = R"(
#pragma OPENCL FP_CONTRACT ON
typedef float4 vec4;
typedef float8 vec8;
typedef float16 vec16;
typedef int2 ivec2;
typedef int4 ivec4;
typedef int8 ivec8;
typedef int16 ivec16;
typedef uint16 uvec16;
typedef float sum_t;
typedef float4 sum4_t;
typedef float place_t;
#define vec4(...) ((float4)(__VA_ARGS__))
#define vec8(...) ((float8)(__VA_ARGS__))
#define vec16(...) ((float16)(__VA_ARGS__))
#define ivec2(...) ((int2)(__VA_ARGS__))
#define ivec4(...) ((int4)(__VA_ARGS__))
#define ivec8(...) ((int8)(__VA_ARGS__))
#define ivec16(...) ((int16)(__VA_ARGS__))
#define uvec16(...) ((uint16)(__VA_ARGS__))
#define float(x) ((float)(x))
#define int(x) ((int)(x))
#define GLOBAL_X global_x
#define GLOBAL_Y global_y
#define GLOBAL_Z global_z
#define LOCAL_X ((int)get_local_id(0))
#define LOCAL_Y ((int)get_local_id(1))
#define LOCAL_Z ((int)get_local_id(2))
#define GROUP_X (global_x / (int)get_local_size(0))
#define GROUP_Y (global_y / (int)get_local_size(1))
#define GROUP_Z (global_z / (int)get_local_size(2))
#define GROUP_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define PIXEL_SAMPLER (CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST)
// A body that is compiled once and called: PoCL compiles a kernel three times. Wide vectors must be
// asked for by name, or such a function falls back to half of them.
#define OUTLINED static
#ifdef __has_attribute
#if __has_attribute(min_vector_width)
#undef OUTLINED
#define OUTLINED __attribute__((noinline, min_vector_width(512))) static
#endif
#endif
inline float lane(float4 v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
// As max and min, but NaN stays NaN: it is a finding, not a number to be hidden.
inline float4 above(float4 v, float4 low) { return v < low ? low : v; }
inline float4 below(float4 v, float4 high) { return v > high ? high : v; }
inline float4 with_lane(float4 v, int i, float f) {
  return (float4)(i == 0 ? f : v.x, i == 1 ? f : v.y, i == 2 ? f : v.z, i == 3 ? f : v.w);
}
inline float4 with_zeros_from(float4 v, int n) {
  return (float4)(v.x, n > 1 ? v.y : 0.0f, n > 2 ? v.z : 0.0f, n > 3 ? v.w : 0.0f);
}
inline float4 lanes_from(float4 a, float4 b, int n) {
  return n == 0 ? a : n == 1 ? (float4)(a.yzw, b.x) : n == 2 ? (float4)(a.zw, b.xy) :
         n == 3 ? (float4)(a.w, b.xyz) : b;
}
)";

// Wide kernels (OpenCL only) read single channels, quads and four quads at once from any place, so
// these take pointers; "LANES" is what NAME_lanes is.
const char kOpenClLanes[] = R"(
#define LANES __global const float*
#define lane_at(p) (*(p))
typedef float4 __attribute__((aligned(4))) quad_anywhere;
typedef float16 __attribute__((aligned(4))) quads_anywhere;
#define quad_at(p) (*(__global const quad_anywhere*)(p))
#define quads_at(p) (*(__global const quads_anywhere*)(p))
#define OUT_LANES __global float*
#define put_quads(v, p) (*(__global quads_anywhere*)(p) = (v))
)";

const char kOpenClHalfLanes[] = R"(
#define LANES __global const half*
#define lane_at(p) vload_half(0, p)
#define quad_at(p) vload_half4(0, p)
#define quads_at(p) vload_half16(0, p)
#define OUT_LANES __global half*
#define put_quads(v, p) vstore_half16(v, 0, p)
)";

const char kGlesPrelude[] = R"(precision highp int;
#define sum_t highp float
#define sum4_t highp vec4
#define place_t highp float
#define GLOBAL_X global_x
#define GLOBAL_Y global_y
#define GLOBAL_Z global_z
#define LOCAL_X int(gl_LocalInvocationID.x)
#define LOCAL_Y int(gl_LocalInvocationID.y)
#define LOCAL_Z int(gl_LocalInvocationID.z)
#define GROUP_X (global_x / int(gl_WorkGroupSize.x))
#define GROUP_Y (global_y / int(gl_WorkGroupSize.y))
#define GROUP_Z (global_z / int(gl_WorkGroupSize.z))
#define GROUP_BARRIER() memoryBarrierShared(); barrier()
float lane(vec4 v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
// Compilers take a choice by lessThan for a max, which loses NaN; isnan they leave alone.
vec4 above(vec4 v, vec4 low) { return mix(max(v, low), v, isnan(v)); }
vec4 below(vec4 v, vec4 high) { return mix(min(v, high), v, isnan(v)); }
// The language promises nothing relative for tanh near 0 and log near 1, and drivers make
// (e - 1/e) / (e + 1/e) and log2(x) * ln(2), which lose all digits there: series instead.
vec4 tanh_of(vec4 v) {
  vec4 z = v * v;
  vec4 small = v * (vec4(105.0f) + vec4(10.0f) * z) / (vec4(105.0f) + z * (vec4(45.0f) + z));
  return mix(mix(tanh(v), small, lessThan(abs(v), vec4(0.5f))), v, isnan(v));
}
float tanh_of(float v) { return tanh_of(vec4(v)).x; }
#define tanh tanh_of
vec4 log_of(vec4 v) {
  vec4 s = (v - vec4(1.0f)) / (v + vec4(1.0f));
  vec4 z = s * s;
  vec4 near = (s + s) * (vec4(1.0f) + z * (vec4(0.33333333f) + z * (vec4(0.2f) + z * vec4(0.14285714f))));
  return mix(log(v), near, lessThan(abs(v - vec4(1.0f)), vec4(0.3f)));
}
float log_of(float v) { return log_of(vec4(v)).x; }
#define log log_of
vec4 with_lane(vec4 v, int i, float f) {
  return vec4(i == 0 ? f : v.x, i == 1 ? f : v.y, i == 2 ? f : v.z, i == 3 ? f : v.w);
}
vec4 with_zeros_from(vec4 v, int n) {
  return vec4(v.x, n > 1 ? v.y : 0.0f, n > 2 ? v.z : 0.0f, n > 3 ? v.w : 0.0f);
}
vec4 lanes_from(vec4 a, vec4 b, int n) {
  return n == 0 ? a : n == 1 ? vec4(a.yzw, b.x) : n == 2 ? vec4(a.zw, b.xy) :
         n == 3 ? vec4(a.w, b.xyz) : b;
}
)";

}  // namespace quadra
