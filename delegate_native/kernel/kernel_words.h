// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + |;\n| * | - |);\n|int |at|), |    |; | < |vec4 |vec4(| / |_x|src_|st|  |from|"
      ") * |if (|_y|}\n|in|to|= |sum4_t |min(|.0f| += |        |))|_s|0, |) { |) {\n|t_|; }\n|"
      "v = | ? | >|(v| (|igh|);\n  |) |lo|ne|: |read_src(|e_|re|);\n    |_b|;\n      |par|most|"
      "x, |sum|ro|s_|vec4(0|; ++|\n#|er|al|;\n  int |read|define |for (int |write_dst(|x, y, |"
      "y, |fir|pla|block|or|vec|t |ar| && |step|la|max(|scale|ce|slice|dst_s|) {\n      |flo|"
      " == |on|;\n    int |float(|ef|)\n#define |quad|is_less(|, vec4(0.0f))|_row| = max(|"
      "count|along|places|le|vec4(1.0f| >= 0 && |;\nsum_t |, 0.0f|read_weights(|))\n#define |"
      "_t |li|choose(is_less(|tail|dst|first + |spli|next|tile|cells|float |LOCAL_X|highp |"
      "exp(|vec16 |end|(int|choose(| -= | = first|batch| != 0|_at(|, ivec4(|lane(|int(|data|"
      " = 0; |right_|bool |bits|place_t |for (int i = 0; i < | & |image|better|x, y, s);\n|"
      "left_| : 0|grid_w|is_equal(|odd|int at = | = GLOBAL_Y|; i < |in_block|inside| * stride_|"
      "src|from_c|\n    int |state_|n     | <= |);\n  return | >> |even|; ++i) {\n| - 1);\n|"
      "best|dst_c|\n  int |shift|write_dst(v, x, y, s);\n|bias|stride_|dst_w|word|float4 |"
      "GLOBAL_|global_z|ize| : v|put_|half4|half|mix(|, ivec4(0))|) & |));\n}\n|vec4(1.0f) + |"
      ") & (|choose(is_| = ivec4(|least|onto_grid(|) {\n  return |vec16(| = batch| * 4;\nint |"
      "0.0f);\n| * 4 + |length|weights_|k, j, | * dilation_y| - before|src_s + |before|grid|"
      ";\nivec8 |src_w - 1|out|0, 0);\n    | = 0.0f|vec4(0.0f);\n    |GROUP_BARRIER();\n|"
      "cells + q|     z|sums[|ivec2|a, b) |global_x|global_y|static inline |ed(|small|abs(|"
      "ivec4 is_|nt(|turn| - 0.|flat_|own|outer|s / dst_s|for (int i = 0; i < src_s; ++i|found|"
      "int_lane(| * src_s| = GLOBAL_X|to_q| < src_h|num4 v = |); }\n    |for (int i = |splits|"
      "src_at |y >= |src_h - 1|parts|last_| != 0 ? |);\nn     |cell|;\ntypedef |to_float(|"
      "to_int(|GLOBAL_X|LOCAL_|) { return |#undef |LANES |quads_at(|round|int(gl_|vec4(0.5f|"
      "return |,\n                |floor(|1 - is_equal(|25f|inverse, |for (int j = 0; j < |"
      " < src_c|\nint x|batch * |for (int k = 0; k < | * stride_x|dilation|x_begin|"
      "write_dst(v, | = s / dst_s| >= 0| = GLOBAL_Z;\n|blocks * |item|all = |"
      "v = num_with_lane(v, |src_s - 1|at_c|dst_s * dst_b|dst_h|part_x|part_y|).x|read_m(|at_q|"
      "ide|filter|x, y, first + i|v0 = |hidden|left_1|0.25f|f * a|4)(|is_at_most|)get_local|"
      "above(|below(|16 |__global const |__global |roup|vec4 v, |v, is_nan(v|exp|_of|tanh|"
      "v * (|z * (|abs(v|f) + |)) * vec4(|flip|bounded(|.z, |h + (Y|ack|kernel|get_global_id(|"
      "dst_s * 4|resul| = ivec4(0|first = (|) { return; }\n|1 = min(| - 1) * |sum4_t sum = |"
      "read_src(from_x, from_y, |from_y = y|; ++k) {\n        |"
      "for (int i = 0; i < 4; ++i) {\n        |sum += v| = image|last = |num4 v = read_src(|"
      "at_x = | = min(max(|rank|part = |.x * |.y * |middle_|read_src(x1, y|at.x|at.y|beta|"
      ") { write_dst(v|outs| += items) {\n|c     |n   |right_0|start_|, i + |convert_|GLOBAL_Y|"
      "))\n#define GROUP_|tan|\n#endif|vec16|idth|anywhere|*)(p|vload|(a, b|its|_of(|10.0f|"
      ") / (|near = |choose(is_equal(|v, int |1666|0.5f|f);\n  p = p * t + |12582912.0f|"
      "float low, float high|)), vec4(|       | == 0 ? |y : | > 1 ? |layout(|inding = |"
      "place = |lanes + | / to_b| * src_w|best = |, 1, 2, 3|plane = |src_w * | ? v : |"
      " = GLOBAL_Z;\nif (| y >= dst_h |\n    int batch = s / dst_s;\n    int |"
      "first = (s - batch * dst_s) * 4|src_s + i| / 4), c |}\n    }\n    write_dst(|x_end|"
      "num4 v = num4(|;\nint first = |vec8(|kernel_y|dilation_y|results[| = GLOBAL_X * |"
      "; i += |fetch_src(|; int y = GLOBAL_Y; int |first / 4| / 4), c|) { return; }\nint |"
      "top = |bias;\n|top + | s >= |, vec4(-|least_y|x0 = |y0 = |read_src(x0, y0, |first = |"
      "c   |cell[q|onto_grid(z|4096.0f, 0.000244140625f, -32768.0f, 32767.0f|mean|typedef |"
      ";\ntypedef int|round_even|CLK_|OUTLINE|__attribute__((|lessThan|vec4 v) {\n  vec4 |3333|"
      "sine(v) |f);\n  p = p * t - |onto_grid_of(|.s012|int(gl_GlobalInvocationID|((X), (S) * |"
      "fetch|\nint batch = s / dst_s;\nint |slice = s - batch * dst_s|;\nint at_b = batch|"
      "dst_h + y) * dst_w|dst_c + s |choose(is_better|x >= dst_w |"
      "sum4_t sum = vec4(0.0f);\n    |from_x = x|);\n          }\n        |}\n    }\n    |"
      " * stride_y - pad_y| >= 0) & (|vec4(0.0f); }\n|first = s * |low = from_s + |"
      "from_x, from_y, low|v = num_lanes_from(v, read_src(from_x, from_y, high), |"
      "multiplier, src_c|lane(read_src(sx, sy, b * src_s + c|left = |0), room|in_batch|"
      "}\n      }\n    }\n    write_dst(v, x, y, s);\n|)), to_int(| = i == 0 ? |) / 2.0f|"
      "0.5f;\n    |1 = min(x0 + |right = |right) * |read_src(x0, y|filter_x + |_x, src_w|"
      "sum.x + sum.y + sum.z + sum.w|s1 > s0|units|made[q|vectors + |_clip|identity|"
      ") * vec4(part_y|for (int i = first; i < last; ++i) { |read_src(x, y, i) - |35355339|"
      "odd, tile + x, 0, to + |fetch_src(p + next * |); }\nif (c + |GROUP_BARRIER(|z * (z * (|"
      "type|lanes_from|v = num_lanes_from(v, |y = GLOBAL_X; int |batch = s / dst_s;\nint |"
      "y1 = min(y0 + |x0 = x * stride_x - before_x|}\n    }\n    write_dst(v, x, y, s);\n|"
      "0.000|num4 |b * src_s + c";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
