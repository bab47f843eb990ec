// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + | * |;\n|);\n| - |at|int |  |_y|_x|; |), |vec4(| / |);\n    |    |in|) * |"
      "src_|}\n|from| < |to|vec4 |))|if (|st|.0f|\n#define |  int |t_|;\n    |par|        |_s|"
      " += |: |sum|sum4_t |ne|0, |min(|) { |(v|read_src(|lo|al|; }\n|igh|_b|= |x, |x, y, |"
      ") {\n|le|for (int |) |v = |de|write_dst| >= |; ++|re|step|y, |slice|most|ma|ar|vec|"
      "scale|t |s_|ro|batch| = 0|fir| ?|la|vec4(0|read|) {\n      | && |block|flo| (|te|dst_s|"
      " == |or| >|ts|float(|, vec4(0.0f))|along|x(|;\nsum_t |e |count|split|dst| = max(|float |"
      "is_less(|tail|vec4(1.0f|first + |tile|cells|_t |; ++i) {\n| & | >= 0 && |choose(|"
      "LOCAL_X|quad|exp(|lane(|int(|ri|_row|ve|is_equal(|place_t |choose(is_less(|"
      "for (int i = 0; i < |src|bits|end|odd|num4 v = |from_c|, 0.0f|place| != 0|highp |even|"
      " * src_s| * 4 + |; i < |right| = first|shift|write_dst(v, x, y, s);\n| = GLOBAL_Y|word|"
      "\n    int |float4 |kernel|vec4(1.0f) + | * src_s + |read_src(from_x, from_y, | - before|"
      "dilation|read_weights(|stride|\nbool |int at = | >> |0, 0);\n    |cells + q|     z|25f|"
      ";\ntypedef |ivec2|(...) ((|)(__VA_ARGS__))\n#define |a, b) |);\n  return |));\n}\n|"
      ");\n  vec4 |, ivec4(|onto_grid(|.z, |); }\n    |grid_w|;\nivec8 | -= |plane| = GLOBAL_Z|"
      "src_w - 1|);\nwrite_dst(|b * src_s + | != 0 ? |state|GROUP_BARRIER();\n|);\nn     |cell|"
      "best|vec16|to_float(|to_int(| <= |GLOBAL_X|#undef |) { return |mix(|, ivec4(0))|tanh|"
      "vec4(0.5f|).x|floor(|1 - is_equal(|choose(is_|ivec4(1|min(max(|) {\n  return |fetch|"
      "found|for (int i = 0; i < src_s|for (int k = 0; k < |right_| = vec4(0.0f| * stride_x|"
      " = vec4(0.0f);\n    |x_begin| = s / dst_s|before|src_at |dst_c|v = num_with_lane(v, |"
      "src_s - 1|at_c| = GLOBAL_X|at_q|0.5f|src_h - 1|filter|;\nn     |left_0|left_1|0.25f|0.1|"
      ") ((|con|int4)(|is_at_most| global|LOCAL_| (global|\n// |above(|below(|at(p) |v * (|"
      "vec4(0.1|)) * vec4(|) & (|flip|,\n                |inverse, |, x, y, s);\n|outer|"
      " * 4;\nint |left_|1 = min(|));\n      |from_y = y| * stride_y| * dilation_y|"
      "; ++k) {\n        | < src_h|x < src_w|for (int i = 0; i < 4; ++i) {\n        |k, j, |"
      " = image|x + to|y + to|next | - 1);\n| = GLOBAL_Z;\nif (|) { return; }\n| * stride|"
      "_c + |dst_s * dst_b|) { return; }\nint | = ivec4(|dst_w|part_x|s / dst_s|for (int i = |"
      ".x * |.y * | < src_c|v0 = | += items) {\n|last_|       |c     |sums[|n     |n   |v.y|"
      "right_0|right_1|16 |))\n#define GROUP_|and |ack|OUT|attribu|width|inline |LANES |"
      "lessThan|round|max(v|here|10.0f|ivec4 is_|return |f);\n  p = p * t + |12582912.0f|verse|"
      "low, |ounded(| == 0 ? |y : |2 ? | > 1 ? | / to_b|min(4, |), x, y, s);\n|first = (|"
      "\n    int batch = s / dst_s;\n    int |first = (s - batch * dst_s) * 4|c / 4), c |"
      "}\n    }\n    write_dst(|image|x_end|num4 v = num4(| - pad|inside|"
      "; int y = GLOBAL_Y; int |_h |blocks * |all = |length|dst_s * 4|first / 4|src_c;\n|"
      " / 4), c|bias;\n| = min(max(|part_y| s >= |num4(|, vec4(-|read_m(at + |0, 0);\n|least_x|"
      "least_y|wide|x0 = |y0 = |read_src(x0, y0, |; ++i) { |read_src(x, y, first + i|"
      ") { write_dst(v|c   |cell[q]|onto_grid(z|4096.0f, 0.000244140625f, -32768.0f, 32767.0f|"
      "mean|;\ntypedef int|CLK_|__global const |__global |vec4 v) {\n  vec4 |small|mod(|"
      "\nint batch = s / dst_s;\nint |slice = s - batch * dst_s|;\nint at_b = batch|"
      "src_c - i * 4|;\nint first|dot(v, read_weights(k, j, o|sum4_t sum = vec4(0.0f);\n    |"
      "for (int j = 0; j < |from_x = x|);\n          }\n        |v = num_lanes_from(v, |"
      "}\n    }\n    | * stride_y - pad| >= 0) & (|\nint x = GLOBAL_X|first = s|"
      "low = from_s + |multiplier, src_c - 1|lane(read_src(sx, sy, b * src_s + c| >= dst_w |"
      " y >= dst_h |0), room|}\n      }\n    }\n    write_dst(v, x, y, s);\n|)), to_int(|"
      "_begin| = i == 0 ? |) / 2.0f|read_matrix(|x1 = min(x0 + |filter_x + |_x, src_w|"
      "sum.x + sum.y + sum.z + sum.w|beta|;\n  int from_s|rest > |units|_clip|tity|"
      "; }\n  if (rest < |) * vec4(part_y|; }\n    if (rest < |"
      "for (int i = first; i < last; ++i) { |read_src(x, y, i) - |ends ? |35355339f|"
      "odd, tile + x, 0, to + |early ? |fetch_src(p + next * |); }\nif (c|typedef |round_even|"
      "int)get_local_id|int)get_local_size|GROUP_BARRIER(|ompi|time|te__((|anywhere|"
      "quads_anywhere|vload_half|int(gl_LocalInvocationID|int(gl_WorkGroupSize|tanh_of(|"
      "log_of(|3333|vec4 a, vec4 b) {\n  vec4 |ivec4 int_|ivec4 a, ivec4 b) {\n  ivec4 |"
      "quotien|vec4(1.0f) / (|onto_grid|type|vec4 v, float |low, float high|low)), vec4(high|"
      "outer = batch|weights_s;\n    int o|weights_b - 1) * |i, dst_c|valid|vec4(0.0f); }\n|"
      "grid_d|num4 v = read_src(from_x, from_y, low|"
      "v = num_lanes_from(v, read_src(from_x, from_y, high), first |read_bias(|"
      "int_lane(at, rank|y = GLOBAL_X; int |sqrt(|ivec4(255|batch = s / dst_s;\nint |"
      ", 0.0f, 0.0f|vec4 v = vec4(0.0f|y1 = min(y0 + |read_src(x1, y0, |read_src(x0, y1, |"
      "read_src(x1, y1, |x0 = x * stride_x - before_x;\n    int |place = ivec4(|"
      "}\n    }\n    write_dst(v, x, y, s);\n|top = max(top, |power_near|num4 |"
      "read_state(state_x, state_y, |read_weights(vectors + |stats[|vec4(0.0f);\n  vec4 |seen|"
      "top) * vec4(beta|small ? ";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
