// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + | * |;\n|);\n|at| - |  |int |_x|_y| / |);\n    |), |in|; |    |vec4 |}\n|from|"
      "to|) * |vec4(| < |\n#define |src_|        |  int |read_src(|st|))|if (|sum|(v|_s|.x|"
      " += |.0f|ne|_b| : |sum4_t |al|lo|min(|par|, 0|; }\n|t_|;\n    |v = |) {\n|) { |x, y|"
      " - 1|src_s| >= |de|for (int |le|) | ? |; ++|re|vec4(0|igh|, s|most| (|la|= |batch| = 0|"
      "read|vec|flo|slice|write_dst|) {\n      |te|scale|\n    int |dst| == |or|ar| >|_w|fir|"
      "block|step|ro|t |s_|dst_s|float(| && |e |ts|choose(|ri|count|for (int i = 0; i < |split|"
      "ma|tail| = max(|ve|quad|_t |vec4(1.0f|, y|float |; ++i) {\n| >= 0 && |_row|cells|ch|"
      "exp(|right| + 1, |place|li|place_t |first + |dst_c|num4|bits|max(| != |GLOBAL_X|"
      ", vec4(0.0f| = first| * stride_y|ivec8 |from_c|int(|LOCAL_X|highp |);\n  vec4 |is_less(|"
      "lane(|v.y| = vec4(0.0f| = vec4(0.0f);\n    |shift|write_dst(v, x, y, s);\n| = GLOBAL_Y|"
      "word|));\n}\n|is_equal(|) & (|, ivec4(|from_x, from_y, | - before|read_weights(|"
      "stride_x|src_w - 1| != 0 ? |cells + q|     z|float4 |ivec2|(...) ((| <= |round|"
      ");\n  return | = ivec4(| & |v.w|.z, |; i < |along|); }\n    |grid_w|plane| = GLOBAL_Z|"
      "int at = | >> |state|GROUP_BARRIER();\n|);\nn     |cell|best|16 |vec16|\n// |#undef |"
      ") { return |(p) |mix(|inverse, |) {\n  return |along_|found|for (int k = 0; k < |"
      "));\n      | * dilation|x_begin| = s / dst_s|before| - pad|kernel_y| * src_w|"
      "num4 v = read_src(|at_c|src_h - 1|part_x|at_q|x, y, first + i|;\nn     |left_0|left_1|"
      ";\ntypedef float|)(__VA_ARGS__))\n#define |) ((|(a, b) |int4)| global|LOCAL_| (global|"
      "kernel|end|(a, b|max(v|all = |v * (|vec4(1.0f) + |power|onto_grid(|v.z|.w, |"
      " * src_s + i|, x, y, s);\n|outer| * 4;\nint |left_|1 = min(|weights|; ++k) {\n        |"
      " < src_h|for (int i = 0; i < 4; ++i) {\n        | = image * |write_dst(v, | + to_y|"
      ";\n      if (|inside = |src| + first|) { return; }\n|dst_s * dst_b|) { return; }\nint |"
      "tile|part_y|s / dst_s|, 0, 0);\n|;\nsum_t |.0f;\nsum_t |.y * |at.y| < src_c|       |"
      "sums[|n     |n   |right_0|right_1|typedef |))\n#define GROUP_| th|and |back|width|"
      "inline |(0, |lessThan|vec4(0.1|choose(is_|return |f);\n  p = p * t + |low, | > 1 ? |"
      " / to_b|), x, y, s);\n|;\nint first|first = (|right_|"
      "\n    int batch = s / dst_s;\n    int |first = (s - batch * dst_s) * 4| / 4), c |"
      "}\n    }\n    write_dst(|along_y|x_end|num4 v = num4| -= | - 1) * dilation|start|bool |"
      ";\nbool |blocks * | * stride|length|v = num_with_lane|first / 4|from_x = |src_c;\n|"
      "at_y = |at_x = | / 4), c|last = |vec16(|stride_y|, 0, 0);\n    |room| = min(max(|"
      "min(max(| s >= |read_m(at + |least_x|least_y|wide|filter|; ++i) { |) { write_dst(v|c   |"
      "cell[q]|onto_grid(z|4096.0f, 0.000244140625f, -32768.0f, 32767.0f|;\nc     |mean|"
      ";\ntypedef int|is_less|is_at_most|below|CLK_|LANES __|global const |(vec4 v, |tanh_of|"
      "(vec4 v) {\n  vec4 |(abs|vec4(0.5f|log_of|ivec4 is_|1 - is_equal(|"
      "\nint batch = s / dst_s;\nint |slice = s - batch * dst_s|;\nint at_b = batch|"
      "src_c - i * 4|dot(v, read_weights(k, j, o|for (int j = 0; j < | = x * stride|"
      ");\n          }\n        |v = num_lanes_from(v, |}\n    }\n    |\nint x = GLOBAL_X|"
      "first = s|low = from_s + |high = from_s + min(|multiplier, src_c|, b * src_s + c|LANES |"
      "olumn|quad_at(q + xs.s|}\n      }\n    }\n    write_dst(v, x, y, s);\n|"
      " = GLOBAL_Z;\nif (| = i == 0 ? |0.5f;\n    |read_matrix(|x1 = min(x0|filter_x + |"
      "sum.x + sum.y + sum.z + sum.w|;\n  int from_s|rest > | = read_src(x0, y0, s|units|_clip|"
      "rest < 2) { |dentity|; }\n  if (rest < | = min(int(|) * vec4(part_y|"
      "; }\n    if (rest < |for (int i = first; i < last; ++i) { |read_src(x, y, i) - |"
      "); }\nif (c + |16)(__VA_ARGS__))\n#define |to_float|convert_|is_equal|int)get_local_id|"
      "int)get_local_size|GROUP_BARRIER(|ompi|time|__attribute__((|anywhere|quads_anywhere|"
      "vload_half|int(gl_LocalInvocationID|int(gl_WorkGroupSize|5.0f) + |3333|"
      "a, vec4 b) {\n  vec4 |ivec4 int_|ivec4 a, ivec4 b) {\n  ivec4 |fail|^ is_less(b|"
      "float low, float high|vec4(low)), vec4(high|ith_lane|;\nint outer = batch|is_better|"
      "weights_s;\n    int o|weights_b - 1) * | * src_s + c|x * dilation_x;\n|valid|"
      "; int y = GLOBAL_Y; int z = GLOBAL_Z;\nif (x >= |grid_d|;\n  int from_y = y|"
      "num4 v = read_src(from_x, from_y, low|"
      "v = num_lanes_from(v, read_src(from_x, from_y, high), first |"
      "4),\n                lane(read_src(sx, sy, b * src_s + c|int_lane(at, rank|"
      "y = GLOBAL_X; int |for (int x = 0; x < |; int y = GLOBAL_Y; int |int_lane(|"
      "batch = s / dst_s;\nint |at_x, at_y, |v = num_with_lane(v, i, num_lane(read_src(|"
      "blocks));\n|, 0, 0);\nwrite_dst(|, 0.0f, 0.0f|vec4 v = vec4(0.0f|y1 = min(y0|x1, y0, s|"
      "x0, y1, s|x1, y1, s|x0 = x * stride_x - before_x;\n    int |filter_x, src_w|"
      "}\n    }\n    write_dst(v, x, y, s);\n|top = max(top, |read_state(state_x, state_y, |"
      "for (int q = LOCAL_X; q < cells; q += items) {\n|c * read_weights(vectors + |stats[|"
      "seen|x, y, last|top) * vec4(beta|for (int i = LOCAL_X; i < src_s; i += 32) {\n|"
      ") * vec4(beta";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
