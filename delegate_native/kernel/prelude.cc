#include "delegate_native/kernel/prelude.h"

#include "delegate_native/base/texts.h"

namespace quadra {

// `above` and `below` are as max and min, but NaN stays NaN: it is a finding, not a number to be
// hidden. Of a `?:` of vectors Mesa's compiler makes masks, in twice the instructions of `select`.
const char* const kOpenClPrelude = QUADRA_TEXT(R"(
#pragma OPENCL FP_CONTRACT ON
typedef float4 vec4;
typedef float8 vec8;
typedef int2 ivec2;
typedef int4 ivec4;
typedef int8 ivec8;
typedef float sum_t;
typedef float4 sum4_t;
typedef float place_t;
#define to_float(v) convert_float4(v)
#define to_int(v) convert_int4(v)
#define is_less(a, b) select((int4)(0), (int4)(1), (a) < (b))
#define is_at_most(a, b) select((int4)(0), (int4)(1), (a) <= (b))
#define is_equal(a, b) select((int4)(0), (int4)(1), (a) == (b))
#define is_number(v) is_equal(v, v)
#define choose(c, a, b) select(b, a, (c) != 0)
#define round_even(v) rint(v)
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
static inline float4 above(float4 v, float4 low) { return select(v, low, v < low); }
static inline float4 below(float4 v, float4 high) { return select(v, high, v > high); }
)");

// Four halfs at once: typed where the language has halfs, else by the functions for aligned ones.
const char* const kOpenClHalfs = QUADRA_TEXT(R"(
#if defined(cl_khr_fp16) && !defined(NO_HALFS)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define HALF4 half4
#define half4_at(p, i) convert_float4((p)[i])
#define put_half4(v, p, i) (p)[i] = convert_half4_rte(v)
#else
#define HALF4 uint2
#define half4_at(p, i) vloada_half4(i, (__global const half*)(p))
#define put_half4(v, p, i) vstorea_half4_rte(v, i, (__global half*)(p))
#endif
)");

// Compilers take a choice by lessThan for a max, which loses NaN, and may leave isnan out: NaN is
// known by its bits. What the language says of exp and log leaves out NaN, and the logarithms of 0
// and below. It promises nothing relative for tanh near 0 and log near 1, and drivers make
// (e - 1/e) / (e + 1/e) and log2(x) * ln(2), which lose all digits there: series instead.
const char* const kGlesPrelude = QUADRA_TEXT(R"(precision highp int;
#define sum_t highp float
#define sum4_t highp vec4
#define place_t highp float
#define to_float(v) vec4(v)
#define to_int(v) ivec4(v)
#define is_less(a, b) ivec4(lessThan(a, b))
#define is_at_most(a, b) ivec4(lessThanEqual(a, b))
#define is_equal(a, b) ivec4(equal(a, b))
#define choose(c, a, b) mix(b, a, notEqual(c, ivec4(0)))
#define round_even(v) roundEven(v)
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
bvec4 is_nan(sum4_t v) { return greaterThan(floatBitsToInt(v) & 0x7fffffff, ivec4(0x7f800000)); }
#define is_number(v) (1 - ivec4(is_nan(v)))
vec4 above(vec4 v, vec4 low) { return mix(max(v, low), v, is_nan(v)); }
vec4 below(vec4 v, vec4 high) { return mix(min(v, high), v, is_nan(v)); }
sum4_t exp_of(sum4_t v) { return mix(exp(v), v, is_nan(v)); }
#define exp exp_of
vec4 tanh_of(vec4 v) {
  vec4 z = v * v;
  vec4 small = v * (105.0f + 10.0f * z) / (105.0f + z * (45.0f + z));
  return mix(mix(tanh(v), small, lessThan(abs(v), vec4(0.5f))), v, is_nan(v));
}
#define tanh tanh_of
vec4 log_of(vec4 v) {
  vec4 s = (v - 1.0f) / (v + 1.0f);
  vec4 z = s * s;
  vec4 near = (s + s) * (1.0f + z * (0.33333333f + z * (0.2f + z * 0.14285714f)));
  vec4 far = mix(log(v), vec4(intBitsToFloat(-1)), lessThan(v, vec4(0.0f)));
  far = mix(far, vec4(intBitsToFloat(-8388608)), equal(v, vec4(0.0f)));
  return mix(mix(far, near, lessThan(abs(v - 1.0f), vec4(0.3f))), v, is_nan(v));
}
#define log log_of
)");

// Functions that few kernels call: a program has those that it uses. A null text is the other
// language's.
const PreludePart kPreludeParts[] = {
    // Halves where a plan computes in half. A device without half arithmetic computes the same text
    // with floats: a phone's plan is replayed there.
    {"to_medium(", QUADRA_TEXT(R"(#if defined(cl_khr_fp16) && !defined(NO_HALFS)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half4 medium4_t;
#define to_medium(v) convert_half4(v)
#define medium_at(p, i) (p)[i]
#define put_medium(v, p, i) (p)[i] = (v)
#else
typedef float4 medium4_t;
#define to_medium(v) (v)
#define medium_at(p, i) half4_at(p, i)
#define put_medium(v, p, i) put_half4(v, p, i)
#define read_imageh read_imagef
#endif
)"),
     QUADRA_TEXT("#define medium4_t mediump vec4\n#define to_medium(v) (v)\n")},
    // Two neighbours of a constant that is kept as halfs, in one read: as they are, and where the
    // text computes with floats.
    {"eight_at(", QUADRA_TEXT(R"(#if defined(cl_khr_fp16) && !defined(NO_HALFS)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half8 eight_t;
#define eight_at(p, i) ((__global const half8*)(p))[i]
#define float_of(h) convert_float4(h)
#else
typedef float8 eight_t;
#define eight_at(p, i) vloada_half8(i, (__global const half*)(p))
#define float_of(h) (h)
#endif
)"),
     nullptr},
    {"as_float4(", "",
     QUADRA_TEXT(
         "#define as_float4 intBitsToFloat\n#define as_int4 floatBitsToInt\n#define convert_float4 vec4\n")},
    // The nearest half, as a float; between two the even one. The languages let a driver cut digits
    // off where it stores a float as a half, and such errors add up from layer to layer.
    {"half_rounded(", QUADRA_TEXT(R"($inline sum4_t half_rounded(sum4_t v) {
  ivec4 b = as_int4(v);
  sum4_t size = max(v, -v);
  sum4_t normal = as_float4((b + 4095 + ((b >> 13) & 1)) & -8192);
  sum4_t small = round_even(v * 16777216.0f) * 5.9604645e-8f;
  return choose(is_less(size, vec4(65520.0f)),
                choose(is_less(size, vec4(6.1035156e-5f)), small, normal), v * 3.0e38f);
}
)"),
     nullptr},
    // The same for a store to an image. Mesa 26.1's compiler leaves a conversion to half and back
    // out, and cannot compile write_imageh: so `zero`, a number that is 0 without the compiler's
    // knowing, goes into the half's bits.
    {"half_stored(", QUADRA_TEXT(R"(#if defined(cl_khr_fp16) && !defined(NO_HALFS)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define half_stored(v, zero) \
  convert_float4(as_half4(as_ushort4(convert_half4_rte(v)) | (ushort4)((ushort)(zero))))
#else
#define half_stored(v, zero) half_rounded(v)
#endif
)"),
     nullptr},
    // Half of a float's digits: products of two such are exact. What is left of a number cannot be
    // known to a compiler, which may join other sums.
    {"high_digits(", "",
     QUADRA_TEXT(
         "sum4_t high_digits(sum4_t v) { return intBitsToFloat(floatBitsToInt(v) & -4096); }\n")},
    // OpenGL ES promises nothing of a divisor beyond 2^126, and NVIDIA's driver makes 0 of it.
    {"divided(", QUADRA_TEXT("#define divided(a, b) ((a) / (b))\n"),
     QUADRA_TEXT(R"(sum4_t divided(sum4_t a, sum4_t b) {
  sum4_t scale = choose(is_less(vec4(1.0e37f), abs(b)), vec4(0.125f), vec4(1.0f));
  return a * scale / (b * scale);
}
)")},
    // Finite numbers as the nearest ones that half has.
    {"within_half(", QUADRA_TEXT(R"($inline sum4_t within_half(sum4_t v) {
  sum4_t most = vec4(3.4028235e38f), size = max(v, -v);
  return choose(is_at_most(size, most), min(max(v, vec4(-65504.0f)), vec4(65504.0f)), v);
}
)"),
     nullptr},
    // `lane` of a sum.
    {"sum_lane(", QUADRA_TEXT(R"($inline sum_t sum_lane(sum4_t v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
)"),
     nullptr},
    {"power_of_two(", "",
     QUADRA_TEXT("sum4_t power_of_two(ivec4 n) { return intBitsToFloat((n + 127) << 23); }\n")},
    // OpenGL ES: exp(b * log(a)) of a logarithm in two parts, for an error of it is multiplied by
    // up to 88. a is a power of two times a number near 1.
    {"power(", QUADRA_TEXT("#define power(a, b) pow(a, b)\n"),
     QUADRA_TEXT(R"(sum4_t power_of_positive(sum4_t a, sum4_t b) {
  ivec4 n = (floatBitsToInt(a) - 1060439283) >> 23;
  sum4_t e = vec4(n), m = intBitsToFloat(floatBitsToInt(a) - (n << 23));
  sum4_t f = m - 1.0f, s = f / (m + 1.0f), h = high_digits(s), k = high_digits(m);
  sum4_t rest = (((f - h) - h * k) - h * (m - k)) / (m + 1.0f);
  sum4_t z = s * s;
  rest += rest + z * s * (0.66666667f + z * (0.4f + z * (0.28571429f + z * 0.22222222f)));
  rest -= e * 2.1219444e-4f;
  e *= 0.693359375f;
  h += h;
  k = high_digits(e + h + rest);
  rest += (e - k) + h;
  h = high_digits(b);
  rest = clamp((b - h) * k + b * rest, -99.0f, 99.0f);
  k = clamp(h * k, -999.0f, 999.0f);
  e = clamp(roundEven((k + rest) * 1.442695f), -252.0f, 252.0f);
  n = ivec4(e);
  k = exp(((k - e * 0.693359375f) + e * 2.1219444e-4f) + rest);
  return k * power_of_two(n / 2) * power_of_two(n - n / 2);
}
sum4_t power(sum4_t a, sum4_t b) {
  sum4_t size = abs(a), most = vec4(3.4e38f), m = power_of_positive(size, b);
  ivec4 is_plain = is_less(vec4(1.17e-38f), size) & is_less(size, most) & is_less(abs(b), most);
  m = choose(is_plain, m, exp(b * log(size)));
  sum4_t even = floor(b * vec4(0.5f)) * vec4(2.0f);
  ivec4 is_whole = is_equal(b, floor(b)), is_odd = is_whole & (1 - is_equal(b, even));
  sum4_t of_negative = choose(is_whole | is_less(most, size), choose(is_odd, -m, m), log(a));
  m = choose(is_less(a, vec4(0.0f)), of_negative, m);
  ivec4 is_one = is_equal(a, vec4(1.0f)) | (is_equal(size, vec4(1.0f)) & is_less(most, abs(b)));
  return choose(is_equal(b, vec4(0.0f)) | is_one, vec4(1.0f), m);
}
)")},
    {"int_power(", QUADRA_TEXT(R"($inline ivec4 int_power(ivec4 a, ivec4 b) {
  ivec4 m = ivec4(1);
  for (int i = 0; i < 31; ++i) {
    m *= choose(b & ivec4(1), a, ivec4(1));
    a *= a;
    b = b / 2;
  }
  return m;
}
)"),
     nullptr},
    // Processors end a program that divides by 0, or the least int by -1.
    {"int_quotient(", QUADRA_TEXT(R"($inline ivec4 int_quotient(ivec4 a, ivec4 b) {
  ivec4 flips = is_equal(b, ivec4(-1));
  ivec4 fails = is_equal(b, ivec4(0));
  ivec4 q = a / choose(flips | fails, ivec4(1), b);
  return choose(flips, -a, choose(fails, ivec4(0), q));
}
)"),
     nullptr},
    {"int_floor_div(", QUADRA_TEXT(R"($inline ivec4 int_floor_div(ivec4 a, ivec4 b) {
  ivec4 q = int_quotient(a, b);
  ivec4 r = a - q * b;
  return q - ((1 - is_equal(r, ivec4(0))) & (is_less(r, ivec4(0)) ^ is_less(b, ivec4(0))));
}
)"),
     nullptr},
    // Numbers of 64 bits are two words: the upper word of two lower words' product, and what a
    // divisor up to 32767 leaves.
    {"upper_of_product(", QUADRA_TEXT(R"($inline ivec4 upper_of_product(ivec4 a, ivec4 b) {
  ivec4 most = ivec4(65535), c = a >> 16 & most, d = b >> 16 & most;
  a = a & most;
  b = b & most;
  ivec4 m = c * b + (a * b >> 16 & most), n = a * d + (m & most);
  return c * d + (m >> 16 & most) + (n >> 16 & most);
}
)"),
     nullptr},
    {"mod_of_words(", QUADRA_TEXT(R"($inline ivec4 mod_of_words(ivec4 a, ivec4 b, ivec4 m) {
  ivec4 r = b - m * int_floor_div(b, m);
  r = r * 65536 + (a >> 16 & ivec4(65535));
  r = r - m * int_quotient(r, m);
  r = r * 65536 + (a & ivec4(65535));
  return r - m * int_quotient(r, m);
}
)"),
     nullptr},
    // As max and min of the CPU: where one is NaN, the second. Compilers of OpenGL ES make their
    // own max of a choice.
    {"larger(", QUADRA_TEXT("#define larger(a, b) choose(is_less(b, a), a, b)\n"),
     QUADRA_TEXT(R"(vec4 larger(vec4 a, vec4 b) {
  return choose(is_number(a) & is_number(b) & is_less(b, a), a, b);
}
)")},
    {"smaller(", QUADRA_TEXT("#define smaller(a, b) choose(is_less(a, b), a, b)\n"),
     QUADRA_TEXT(R"(vec4 smaller(vec4 a, vec4 b) {
  return choose(is_number(a) & is_number(b) & is_less(a, b), a, b);
}
)")},
    {"magnitude(", QUADRA_TEXT("#define magnitude(v) fabs(v)\n"),
     QUADRA_TEXT("#define magnitude(v) abs(v)\n")},
    // a - q * b of a whole number q, exactly where it is near 0.
    {"remainder_of(", QUADRA_TEXT("#define remainder_of(a, q, b) fma(-(q), b, a)\n"),
     QUADRA_TEXT(R"(sum4_t remainder_of(sum4_t a, sum4_t q, sum4_t b) {
  sum4_t p = high_digits(q), c = high_digits(b), d = b - c;
  q -= p;
  return (((a - p * c) - p * d) - q * c) - q * d;
}
)")},
    // The quotient of floats may be rounded up to a whole number, or the driver's may be less
    // exact. Its sign is right: -1 is never too low, though a remainder rounds to all of b. An
    // infinite b has no remainder.
    {"floor_quotient(", QUADRA_TEXT(R"($inline vec4 floor_quotient(vec4 a, vec4 b) {
  vec4 zero = vec4(0.0f), q = floor(divided(a, b)), r = remainder_of(a, q, b);
  ivec4 is_above = (is_less(r, zero) & is_less(zero, b)) | (is_less(zero, r) & is_less(b, zero));
  ivec4 is_below = is_at_most(max(b, -b), max(r, -r)) & (1 - is_equal(q, vec4(-1.0f)));
  vec4 near = choose(is_above, q - 1.0f, choose(is_below, q + 1.0f, q));
  ivec4 is_exact = is_less(max(q, -q), vec4(4194304.0f)) & is_less(max(b, -b), vec4(3.4e38f));
  return choose(is_exact, near, q);
}
)"),
     nullptr},
    // OpenGL ES: long division, twenty digits at a time.
    {"floor_mod(", QUADRA_TEXT(R"(static inline vec4 floor_mod(vec4 a, vec4 b) {
  vec4 r = fmod(a, b);
  return choose((1 - is_equal(r, vec4(0.0f))) & (is_less(r, vec4(0.0f)) ^ is_less(b, vec4(0.0f))),
                r + b, r);
}
)"),
     QUADRA_TEXT(R"(ivec4 exponent_of(sum4_t v) { return (floatBitsToInt(v) >> 23) & 255; }
sum4_t floor_mod(sum4_t a, sum4_t b) {
  sum4_t r = a, size = abs(b);
  for (int i = 0; i < 14; ++i) {
    ivec4 n = max(exponent_of(r) - exponent_of(b) - 20, 0);
    sum4_t c = size * power_of_two(n / 2) * power_of_two(n - n / 2);
    r = remainder_of(r, trunc(divided(r, c)), c);
    if (n == ivec4(0)) { break; }
  }
  sum4_t one = choose(is_less(a, vec4(0.0f)), -size, size);
  r = choose(is_at_most(size, abs(r)), r - one, r);
  r = choose((1 - is_equal(r, vec4(0.0f))) & (is_less(r, vec4(0.0f)) ^ is_less(a, vec4(0.0f))),
             r + one, r);
  r = choose(is_less(vec4(3.4028234e38f), size) & is_less(abs(a), size), a, r);
  return choose((1 - is_equal(r, vec4(0.0f))) & (is_less(r, vec4(0.0f)) ^ is_less(b, vec4(0.0f))),
                r + b, r);
}
)")},
    // OpenGL ES promises 2^-11 for sin and cos, between -pi and pi, and 4096 ulp for atan, and some
    // drivers give no more. The sine of v and so many quarter turns: v is reduced by pi / 2 in
    // three parts, exactly up to 8192 quarters; what is beyond is the driver's.
    {"sine(", QUADRA_TEXT("#define sine(v) sin(v)\n#define cosine(v) cos(v)\n"),
     QUADRA_TEXT(R"(sum4_t sin_of(sum4_t v, int quarters) {
  sum4_t n = roundEven(v * 0.63661977f);
  sum4_t r = ((v - n * 1.5703125f) - n * 4.837513e-4f) - n * 7.54979e-8f;
  ivec4 turn = ivec4(n) + quarters;
  sum4_t z = r * r;
  sum4_t s = r + r * z * (z * (z * -1.9515296e-4f + 8.3321609e-3f) - 0.16666655f);
  sum4_t c = 1.0f - z * 0.5f + z * z * (z * (z * 2.4433157e-5f - 1.3887316e-3f) + 0.041666646f);
  s = choose(turn & 1, c, s);
  s = choose(turn & 2, -s, s);
  ivec4 is_far = is_less(vec4(12867.0f), abs(v)) & is_less(abs(v), vec4(3.4e38f));
  return choose(is_far, sin(v + float(quarters) * 1.5707963f), s);
}
#define sine(v) sin_of(v, 0)
#define cosine(v) sin_of(v, 1)
)")},
    {"arc_tangent(", QUADRA_TEXT("#define arc_tangent(y, x) atan2(y, x)\n"),
     QUADRA_TEXT(R"(sum4_t arc_tangent(sum4_t y, sum4_t x) {
  sum4_t least = min(abs(x), abs(y));
  sum4_t most = max(abs(x), abs(y));
  sum4_t up = choose(is_less(most, vec4(1.0e-18f)), vec4(1.0e18f), vec4(1.0f));
  sum4_t t = divided(least * up, max(most * up, vec4(1.0e-37f)));
  t = choose(is_equal(least, most) & is_less(vec4(0.0f), most), vec4(1.0f), t);
  ivec4 is_steep = is_less(vec4(0.41421356f), t);
  t = choose(is_steep, (t - 1.0f) / (t + 1.0f), t);
  sum4_t z = t * t;
  t += t * z * (z * (z * (z * 0.080537445f - 0.13877686f) + 0.19977711f) - 0.33332950f);
  t += choose(is_steep, vec4(0.78539816f), vec4(0.0f));
  t = choose(is_less(abs(x), abs(y)), 1.5707963f - t, t);
  t = choose(is_less(floatBitsToInt(x), ivec4(0)), 3.1415927f - t, t);
  t = choose(is_less(floatBitsToInt(y), ivec4(0)), -t, t);
  return choose(is_equal(x, x) & is_equal(y, y), t, x + y);
}
)")},
    // 1 + erf(v / sqrt(2)). The series is Chebyshev's of erfc as tables of numerical methods give
    // it: 1.2e-7 of each value.
    {"one_and_erf(", QUADRA_TEXT("#define one_and_erf(v) erfc((v) * vec4(-0.70710678f))\n"),
     QUADRA_TEXT(R"(vec4 one_and_erf(vec4 v) {
  vec4 z = abs(v) * 0.70710678f;
  vec4 t = 1.0f / (1.0f + 0.5f * z);
  vec4 p = vec4(0.17087277f);
  p = p * t - 0.82215223f;
  p = p * t + 1.48851587f;
  p = p * t - 1.13520398f;
  p = p * t + 0.27886807f;
  p = p * t - 0.18628806f;
  p = p * t + 0.09678418f;
  p = p * t + 0.37409196f;
  p = p * t + 1.00002368f;
  p = p * t - 1.26551223f;
  vec4 tail = t * exp(p - z * z);
  return choose(is_less(vec4(0.0f), v), 2.0f - tail, tail);
}
)")},
    // exp(v) - 1, which loses all digits near 0.
    {"exp_less_one(", QUADRA_TEXT("#define exp_less_one(v) expm1(v)\n"),
     QUADRA_TEXT(R"(vec4 exp_less_one(vec4 v) {
  vec4 near = v * (1.0f + v * (0.5f + v * (0.16666667f + v * (0.041666667f +
              v * (0.0083333333f + v * 0.0013888889f)))));
  return choose(is_less(abs(v), vec4(0.35f)), near, exp(v) - 1.0f);
}
)")},
    // The nearest number that a quantised tensor holds; between two, the even one. OpenCL: CPUs'
    // drivers call a function for each rint; floats near 3 * 2^22 are whole numbers, and that times
    // a scale of 22 bits (see GridOf) is a float, so that one multiply-add brings steps back.
    {"requantize",
     QUADRA_TEXT(
         R"(#ifdef __FMA__
#define steps_to(v, scale) fma(v, scale, -12582912.0f * (scale))
#else
#define steps_to(v, scale) (((v) - 12582912.0f) * (scale))
#endif
#define requantize_of(type, v) \
  steps_to(min(max((v) * inverse + 12582912.0f, low + 12582912.0f), high + 12582912.0f), \
           (type)(scale))
static inline vec4 requantize(vec4 v, float inverse, float scale, float low, float high) {
  return requantize_of(vec4, v);
}
)"),
     QUADRA_TEXT(
         R"(highp vec4 requantize(highp vec4 v, highp float inverse, highp float scale, highp float low, highp float high) {
  return roundEven(min(max(v * inverse, vec4(low)), vec4(high))) * scale;
}
)")},
    // below(above(v, low), high) with one test for NaN.
    {"bounded(",
     QUADRA_TEXT(
         R"(static inline vec4 bounded(vec4 v, float low, float high) { return below(above(v, vec4(low)), vec4(high)); }
)"),
     QUADRA_TEXT(R"(vec4 bounded(vec4 v, float low, float high) {
  return mix(min(max(v, vec4(low)), vec4(high)), v, is_nan(v));
}
)")},
    {"bounded_medium(",
     QUADRA_TEXT(
         R"(static inline medium4_t bounded_medium(medium4_t v, float low, float high) {
  medium4_t least = to_medium(vec4(low)), most = to_medium(vec4(high));
  v = select(v, least, v < least);
  return select(v, most, v > most);
}
)"),
     QUADRA_TEXT("#define bounded_medium(v, low, high) bounded(v, low, high)\n")},
    {nullptr, nullptr, nullptr},
};

const char* const kLaneFunctions = QUADRA_TEXT(R"(
$inline $one ${p}lane($four v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
$inline $four ${p}with_lane($four v, int i, $one n) {
  return $four(i == 0 ? n : v.x, i == 1 ? n : v.y, i == 2 ? n : v.z, i == 3 ? n : v.w);
}
$inline $four ${p}with_zeros_from($four v, int n) {
  return $four(v.x, n > 1 ? v.y : $one(0), n > 2 ? v.z : $one(0), n > 3 ? v.w : $one(0));
}
$inline $four ${p}lanes_from($four a, $four b, int n) {
  return n == 0 ? a : n == 1 ? $four(a.yzw, b.x) : n == 2 ? $four(a.zw, b.xy) :
         n == 3 ? $four(a.w, b.xyz) : b;
}
)");

}  // namespace quadra
