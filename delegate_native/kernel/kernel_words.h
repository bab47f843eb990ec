// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + | * |;\n|);\n| - |at|  |int |_x|_y|; |vec4(|in|);\n    | / |), |}\n|    |from|"
      "vec4 |) * |to| < |if (|\n#define |src_|  int |st|        | += |_s|: |))|par|t_|(v|) |lo|"
      "0, |min(|sum|) { |_t |read_src(|ro|ne| ? |;\n    |al|; }\n|_b|0.0f|= |x, |x, y, |) {\n|"
      "for (int |de|src_s|v = |write_dst| >= | (|igh|; ++|sum4|re|.0f|step|slice|most|y, |le|"
      "scale|vec|t |batch|fir|la|read|\n    int |) {\n      | && |te|s_|block|flo|dst_s|ar| >|"
      "e | == |dst|float(|ts|vec4(1.0f)|for (int i = 0; i < |along|;\nsum_t |count|split|"
      " = max(|float | != 0|tail| = 0|first + |tile|int(|is_less(|ri|, ivec4(|; ++i) {\n|"
      " >= 0 && |ma|ch|end|quad|lane(|cells|ve|exp(|max(|place|place_t |vec4(0.|"
      "write_dst(v, x, y, s);\n|src|bits|even|odd|num4 v = |from_c|LOCAL_X|highp |0.5f|"
      ", vec4(0.0f| = ivec4(| * 4 + |right| = first|vec4(0.0f);\n    |shift| - 1);\n|"
      " = GLOBAL_Y|least|float4 |(a, b|choose(|kernel|is_equal(| & |.z, | * src_s + |"
      "read_src(from_x, from_y, | - before|read_weights(|stride| >> |0, 0);\n    |cells + q|"
      "     z|;\ntypedef |vec16|ivec2|(...) ((|)(__VA_ARGS__))\n#define |);\n  vec4 |; i < |"
      "); }\n    |grid_w|;\nivec8 | -= |plane| = GLOBAL_Z|src_w - 1|int at = |);\nwrite_dst(|"
      "word|b * src_s + |state|GROUP_BARRIER();\n|);\nn     |cell|best|25f|GLOBAL_X|#undef |"
      ") { return |mix(|tanh|).x|) {\n  return |found|for (int k = 0; k < |right_|sum4_t v = |"
      " * stride_x|x_begin| = s / dst_s|before|\nbool |src_at |all = |v = num_with_lane(v, |"
      "at_c| = GLOBAL_X|at_q|src_h - 1|v0 = |;\nn     |left_0|left_1|0.25f|0.1|) ((| global|"
      "LOCAL_| (global|\n// |small|v * (|_of(|power|) & (| = choose(|);\n  return choose(|flip|"
      ",\n                |min(max(|inverse, |, x, y, s);\n|outer| * 4;\nint |left_|1 = min(|"
      "weights|from_y = y| * stride_y| * dilation_y|; ++k) {\n        | < src_h|x < src_w|"
      "for (int i = 0; i < 4; ++i) {\n        |k, j, | = image|x + to|y + to|next |"
      "}\n    }\n    | = GLOBAL_Z;\nif (|) { return; }\n| * stride|_c + |at_y = |at_x = |"
      "dst_s * dst_b|) { return; }\nint |dst_w| <= |part_x|s / dst_s|part = |.x * |.y * |"
      " < src_c|last_|       |c     |sums[|n     |n   |right_0|right_1|))\n#define GROUP_|and |"
      "back|OUT|width|LANES |lessThan|(vec4 v, |max(v|here|_of|near = |vec4(0.1|floor(|"
      "choose(is_|return |f);\n  p = p * t + |12582912.0f|onto_grid(|low, | == 0 ? |y : |"
      " > 1 ? | / to_b|min(4, |), x, y, s);\n|first = (|\n    int batch = s / dst_s;\n    int |"
      "first = (s - batch * dst_s) * 4|sum4_t sum = |c / 4), c |}\n    }\n    write_dst(|image|"
      "x_end|num4 v = num4(| - pad|start|; int y = GLOBAL_Y; int |_h |blocks * |length|"
      "dst_s * 4|first / 4|src_c;\n| / 4), c|top = | = min(max(|part_y| s >= |num4(|"
      "read_m(at + |f * v|0, 0);\n|sum4_t to|wide|x0 = |y0 = |read_src(x0, y0, s|filter|"
      "; ++i) { |read_src(x, y, first + i|) { write_dst(v|c   |cell[q]|onto_grid(z|"
      "4096.0f, 0.000244140625f, -32768.0f, 32767.0f|mean|v.y|;\ntypedef int|is_at_most|CLK_|"
      "__global const |__global |(vec4 v) {\n  vec4 |ivec4 is_|is_equal(b, |onto_grid|"
      "\nint batch = s / dst_s;\nint |slice = s - batch * dst_s|;\nint at_b = batch|"
      "src_c - i * 4|;\nint first|dot(v, read_weights(k, j, o|sum4_t sum = vec4(0.0f);\n    |"
      "for (int j = 0; j < |from_x = x|);\n          }\n        |v = num_lanes_from(v, |"
      " * stride_y - pad| >= 0) & (|\nint x = GLOBAL_X|first = s|low = from_s + |"
      "multiplier, src_c - 1|lane(read_src(sx, sy, b * src_s + c| >= dst_w | y >= dst_h |"
      "dilation_y|0), room|}\n      }\n    }\n    write_dst(v, x, y, s);\n|_begin| = i == 0 ? |"
      ") / 2.0f|read_matrix(|x1 = min(x0 + |filter_x + |sum.x + sum.y + sum.z + sum.w|"
      ";\n  int from_s|rest > |units|_clip|dentity|; }\n  if (rest < |) * vec4(part_y|"
      "; }\n    if (rest < |for (int i = first; i < last; ++i) { |read_src(x, y, i) - |"
      "35355339f|odd, tile + x, 0, to + |early ? |fetch_src(p + next * |); }\nif (c|typedef |"
      "to_float|convert_|select((int4)(0), (int4)(1), (a) |is_equal|int)get_local_size(|"
      "GROUP_BARRIER(|time|attribute__((|below|at(p) (*(|anywhere|quads_anywhere|"
      "at(p) vload_half|int(gl_LocalInvocationID|int(gl_WorkGroupSize|);\n  return |(abs|3333|"
      "vec4 b) {\n  vec4 |ivec4 int_|ivec4 a, ivec4 b) {\n  ivec4 |fail|type|"
      "float low, float high|vec4(low)), vec4(high|outer = batch|is_better|"
      "weights_s;\n    int o|weights_b - 1) * |i, dst_c|valid|vec4(0.0f); }\n|bool inside|"
      "grid_d|num4 v = read_src(from_x, from_y, low|"
      "v = num_lanes_from(v, read_src(from_x, from_y, high), first |read_bias(|"
      "int_lane(at, rank|y = GLOBAL_X; int |for (int x = 0; |batch = s / dst_s;\nint |"
      "at_x, at_y, |by_word|blocks));\n|sum4_t at = |, 0.0f, 0.0f|y1 = min(y0 + |"
      "read_src(x1, y0, s|read_src(x0, y1, s|read_src(x1, y1, s|"
      "x0 = x * stride_x - before_x;\n    int |filter_x, src_w|top = max(top, |0.000|num4 |"
      "read_state(state_x, state_y, |for (int q = LOCAL_X; q < cells; q += items) {\n|"
      "sum4_t h = |c * read_weights(vectors + |stats[|vec4(0.0f);\n  vec4 |seen|"
      "top) * vec4(beta|for (int i = LOCAL_X; i < src_s; i += 32) {\n|) * vec4(beta|dst_c) { v";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
