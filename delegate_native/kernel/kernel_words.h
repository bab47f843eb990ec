// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + |;\n| * |);\n| - |int |at|), |  |    |vec4(|; | < | / |vec4 |src_|st|from|_y|"
      "_x|if (|in|}\n|) * |))|to|= |\n#define |min(| += |t_| ? |0, |sum4_t |        |_s|ne|"
      ") { |) {\n|0.0f|ro|v = | (|; }\n|par| >|.0f|e_|igh|(v|) |: |lo|;\n      |read_src(|re|"
      ");\n    |most|x, |_b|sum|; ++|er|for (int |;\n  int |vec|y, |write_dst(|al|ar|s_|fir|"
      "x, y, |block|or|read|t |pla| && |step|batch|la|max(|scale|slice|dst_s| == |on|"
      ") {\n      |flo|ef|ce|ts|float(|is_less(|, vec4(0.0f))|;\n    int |spli| = max(|count|"
      " != 0|along|places| >= 0 && |;\nsum_t |read_weights(|_t |li|tail|dst|first + |le|tile|"
      "cells|float |LOCAL_X|highp |exp(|choose(is_less(|vec16 |end|(int|choose(| = 0; | -= |"
      " = first|least|lane(|int(|image|data|right_|bool |bits|is_equal(|_at(|place_t |0.1|"
      "for (int i = 0; i < | & |better|x, y, s);\n|left_|grid_w|quad|mix(|odd|vec4(1.0f|flat_|"
      " = GLOBAL_Y|in_block|inside| * stride_| : 0|src|from_c|\n    int |state_|n     | <= |"
      " >> |even|; ++i) {\n|25f| - 1);\n|best| = GLOBAL_X|) { return; }\n|; i < |"
      "vec4(0.0f);\n    |dst_c|shift|write_dst(v, x, y, s);\n|stride_|dst_w|word|float4 |"
      "GLOBAL_|global_z|ize| : v|put_|half4|half|ivec4(0))|) & |) & (| = ivec4(|nt(|onto_grid(|"
      ") {\n  return |vec16(| * 4;\nint | * src_s| * 4 + |length|weights_|k, j, | * dilation_y|"
      " - before|\n  int |before|grid|;\nivec8 |src_w - 1|y >= |0, 0);\n    |"
      "GROUP_BARRIER();\n|cells + q|     z|sums[|ivec2|global_x|global_y|static inline |ed(|"
      "quads_|small|);\n  vec4 |);\n  sum4_t |abs(|ivec4 is_|choose(is_|);\n  return choose(|"
      "turn|own|outer|s / dst_s|for (int i = 0; i < src_s; ++i|found|int_lane(|to_q|1 = min(|"
      " * src_s + | < src_h|num4 v = |); }\n    |src_at |out|src_h - 1|b * src_s + |last_|"
      ");\nn     |cell|;\ntypedef |to_float(|to_int(|GLOBAL_X|LOCAL_|) { return |#undef |"
      "LANES |quads_at(|round|int(gl_|ivec4(0|return |,\n                |floor(|)) * vec4(|"
      ", ivec4(|0.5f|inverse, |.z, |row = |for (int j = 0; j < | < src_c|\nint x|"
      "for (int k = 0; k < | * stride_x|x_begin|write_dst(v, | = s / dst_s|next |"
      " = GLOBAL_Z;\n|bias|blocks * |for (int i = |item|all = |v = num_with_lane(v, |src_s - 1|"
      "at_c|dst_s * dst_b|dst_h|part_x|part_y|).x|read_m(|at_q|ide|filter|x, y, first + i|"
      "v0 = |hidden|left_1|0.25f|4)(|is_at_most(|)get_local|above(|below(|16 |__global const |"
      "__global |a, b|roup|vec4 v, |), v, is_nan(v|exp|_of|tanh|v * (|z * (|abs(v|flip|"
      "));\n}\n|1 - is_equal(|bounded(|i == 0 ? |h + (Y|ack|kernel|get_global_id(|dst_s * 4|"
      "resul|first = (| - 1) * |sum4_t sum = |read_src(from_x, from_y, |from_y = y|"
      "; ++k) {\n        |for (int i = 0; i < 4; ++i) {\n        |sum += v|last = |"
      "num4 v = read_src(|at_x = | = min(max(|rank|vec4(1.0f) + |), ivec4(|part = |.x * |.y * |"
      "middle_|y0 + |read_src(x1, y|at.x|at.y|beta|) { write_dst(v|outs| += items) {\n|c     |"
      "n   |right_0|start_|, i + |convert_|(v)\n#define |GLOBAL_Y|))\n#define GROUP_|tan|"
      "\n#endif|idth|anywhere|*)(p|quads|vload|16(|a, b) |lessThan|BitsTo|_of(|vec4(0.5f|"
      "near = |f;\n  |is_equal(b, |v, int |1666|f;\n  p = p * t + |12582912.0f|"
      "float low, float high|)), vec4(|       |y : | > 1 ? |layout(|inding = |place = |"
      "lanes + | / to_b| * src_w|best = |0, 1, 2, 3|plane = |src_w * |fou| ? v : |"
      " = GLOBAL_Z;\nif (| y >= dst_h |\n    int batch = s / dst_s;\n    int |"
      "first = (s - batch * dst_s) * 4|dilation_x|c / 4), c |}\n    }\n    write_dst(|"
      "row = image|x_end|num4 v = num4(|;\nint first = |kernel_y|dilation_y|results[|"
      " = GLOBAL_X * |; i += |fetch_src(|; int y = GLOBAL_Y; int |x >= |first / 4| / 4), c|"
      "top = |bias;\n|top + | s >= |, vec4(-|x0 = |int y0 = |read_src(x0, y0, |first = |c   |"
      "cell[q|onto_grid(z|4096.0f, 0.000244140625f, -32768.0f, 32767.0f|mean|.y = |.z = |.w = |"
      "global|typedef |;\ntypedef int|a, b) selec|round_even|CLK_|OUTLINE|__attribute__((|"
      "vec4 v) {\n  vec4 |3333|mod(|sine(v) |) - 0.|f;\n  p = p * |onto_grid_of(|.s012|"
      "int(gl_GlobalInvocationID|((X), (S) * |fetch|\nint batch = s / dst_s;\nint |"
      "slice = s - batch * dst_s|;\nint at_b = batch|dst_h + y) * dst_w|dst_c + s |"
      "place = ivec4(|choose(is_better|four, |x >= dst_w |sum4_t sum = vec4(0.0f);\n    |"
      "from_x = x|);\n          }\n        |}\n    }\n    |ivec8 | * stride_y - pad_y|"
      " >= 0) & (|read_bias(|vec4(0.0f); }\n|first = s * |low = from_s + |from_x, from_y, low|"
      "v = num_lanes_from(v, read_src(from_x, from_y, high), |multiplier, src_c|"
      "lane(read_src(sx, sy, b * src_s + c|left = |0), room|"
      "}\n      }\n    }\n    write_dst(v, x, y, s);\n|)), to_int(|) / 2.0f|0.5f;\n    |"
      "read_matrix(|1 = min(x0 + |right = |vec4(1.0f) - |right) * |read_src(x0, y|filter_x + |"
      "_x, src_w|sum.x + sum.y + sum.z + sum.w|s1 > s0|units|made[q|vectors + |_clip|identity|"
      ") * vec4(part_y|for (int i = first; i < last; ++i) { |read_src(x, y, i) - |35355339f|"
      "7677670f|odd, tile + x, 0, to + |fetch_src(p + next * |); }\nif (c + |GROUP_BARRIER(|"
      ");\n  return |z * (z * (|type|lanes_from|} else {\n      |v = num_lanes_from(v, |"
      "batch = s / dst_s;\nint |, 0.0f, 0.0f|x0 = x * stride_x - before_x;\n    int |"
      "}\n    }\n    write_dst(v, x, y, s);\n|0.000|num4 |x, y, s1); }\n";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
