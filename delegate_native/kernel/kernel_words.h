// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + | * |;\n|int |);\n| - |at|  |; |), |vec4(| / |_x|_y|) * |from|in| < |src_|"
      "    |}\n|to|vec4 |st|);\n    |))|\n#define |= |.0f|if (| += |_s|min(|        |;\n    |"
      "t_|) { | ? |par|lo|0, |igh|) {\n|v = |ne| >|(v|: |sum4_t |_b|read_src(|) |sum|e_|al|"
      "; }\n|x, | (|; ++|most|fir|ro|for (int |er|;\n  int |read|pla|y, |t |block|x, y, |or|"
      "vec|vec4(0|ar|re|la|step| = 0|write_dst|is_less(|ts|scale|slice|on|s_|dst_s|max(| && |"
      ") {\n      |ce|flo| == |float(|choose(|ri|ef|spli|le|e |_row|, vec4(0.0f))| != 0|ad|"
      "along|count|places| = max(|float | >= 0 && |, 0.0f|read_weights(|end|um|_t | & |tail|"
      "dst|first + |vec4(1.0f|next|tile|cells|LOCAL_X|li|highp |vec16 |exp(| -= | = first|"
      "batch|, ivec4(|lane(|data|right_|bits|;\nsum_t |vec16(|is_equal(|even|place_t |"
      "for (int i = 0; i < |image|better|x, y, s);\n| = GLOBAL_Y|left_| * stride_| : 0|grid_w|"
      ";\ntypedef |int(|quad|odd|; i < |in_block|src|from_c|state_|n     | <= |_at(|; ++i) {\n|"
      " - 1);\n|best| * src_s|0.0f);\n| * dilation_y|dilation|dst_c|\n  int |shift|"
      "write_dst(v, x, y, s);\n|int at = |dst_w|word|\n    int |     z|float4 |ivec2|(int|"
      "global_z| : v|tanh|));\n}\n|vec4(1.0f) + |) & (|onto_grid(|) {\n  return |wide| = batch|"
      " * 4;\nint | * 4 + |length|1 = min(|k, j, | - before|src_s + |before|grid|;\nivec8 |"
      "stride_|\nbool |src_w - 1| >> |0, 0);\n    |GROUP_BARRIER();\n|cells + q|sums[|...) ((|"
      ")(__VA_ARGS__))\n#define |a, b) |global_x|global_y|hidden|inline |quads_|);\n  return |"
      " = ivec4(|flat_|own|outer|s / dst_s|for (int i = 0; i < src_s; ++i|found|int_lane(|"
      " = GLOBAL_X|to_q| < src_h|num4 v = |); }\n    |src_at |y >= |out|);\nwrite_dst(|last_|"
      ");\nn     |cell|vec8(|to_float(|to_int(|GLOBAL_X|LOCAL_|kernel|ack|#undef |) { return |"
      "LANES |quads_at(|put_|mix(|, ivec4(0))|int(gl_|_of(|vec4(0.5f|).x|);\n  vec4 |floor(|"
      "1 - is_equal(|inverse, |       |for (int j = 0; j < |first = (| < src_c|\nint x|"
      "batch * |));\n      |for (int k = 0; k < | * stride_x| = vec4(0.0f);\n    |x_begin|"
      "write_dst(v, | = s / dst_s|;\n      if (| >= 0| = GLOBAL_Z;\n|bias|blocks * |"
      "for (int i = |item|all = |v = num_with_lane(v, |at_c|dst_s * dst_b|dst_h|src_h - 1|"
      "part_x|part_y|read_m(|at_q|0.5f|filter|x, y, first + i|left_1|0.25f|f * a|vec16|int4)(|"
      "is_at_most|)get_local|ize|\n// |inding|above(|below(|roup|vec4 v, |small|v * (| = s * |"
      "vec4(0.1|)) * vec4(|ivec4 is_|choose(is_|return |flip|,\n                |bounded(|.z, |"
      "h + (Y|get_global_id(| = ((|dst_s * 4|resul| = ivec4(0|) { return; }\n|;\nint first|"
      "inside = |inside |read_src(from_x, from_y, |from_y = y|; ++k) {\n        |x < src_w|"
      "for (int i = 0; i < 4; ++i) {\n        |sum += v| = image|last = |num4 v = read_src(|"
      "src_s - 1| = min(max(|rank|least|.x * |.y * |middle_|read_src(x1, y|at.x|at.y|beta|"
      "v0 = |) { write_dst(v|outs| += items) {\n|c     |n   |if (rest < |right_0|start_|"
      ";\nsum_t k|25f|, i + |) ((|round_|))\n#define GROUP_| th|nd |attribu|width|"
      "__global const |anywhere|__global |quads|lessThan|(a, b|ound|10.0f|nt(|"
      "f);\n  p = p * t + |12582912.0f|verse|float low, float high| == 0 ? |y : | > 1 ? |"
      "layout(|place = |lanes + | / to_b| * src_w|best = |, 1, 2, 3|plane = |src_w * | ? v : |"
      " = GLOBAL_Z;\nif (| y >= dst_h |\n    int batch = s / dst_s;\n    int |"
      "first = (s - batch * dst_s) * 4|sum4_t sum = |src_s + i| / 4), c |"
      "}\n    }\n    write_dst(|x_end|num4 v = num4(|kernel_y|results[| = GLOBAL_X * |; i += |"
      "fetch_src(|; int y = GLOBAL_Y; int |first / 4|at_x = | / 4), c|) { return; }\nint |"
      "bool |bias;\n|top + | s >= |, vec4(-|0, 0);\n|least_y|read_src(x0, y0, |c   |cell[q|"
      "onto_grid(z|4096.0f, 0.000244140625f, -32768.0f, 32767.0f|mean| = GLOBAL_Z|int16|CLK_|"
      "OUTLINE|vec4 v) {\n  vec4 |f);\n  p = p * t - |onto_grid_of(|with_zeros_from(v.s|"
      "uniform |int(gl_GlobalInvocationID|((X), (S) * |fetch|\nint batch = s / dst_s;\nint |"
      "slice = s - batch * dst_s|;\nint at_b = batch|dst_h + y) * dst_w|dst_c + s |"
      "choose(is_better|x >= dst_w |sum4_t sum = vec4(0.0f);\n    |from_x = x|"
      ");\n          }\n        | - 1);\n  int |}\n    }\n    | * stride_y - pad_y| >= 0) & (|"
      "read_bias(|vec4(0.0f); }\n|low = from_s + |from_x, from_y, low|"
      "v = num_lanes_from(v, read_src(from_x, from_y, high), |multiplier, src_c|"
      "lane(read_src(sx, sy, b * src_s + c|left = |0), room|in_batch|"
      "}\n      }\n    }\n    write_dst(v, x, y, s);\n|)), to_int(| = i == 0 ? |) / 2.0f|"
      "right = |right) * |read_src(x0, y|filter_x + |_x, src_w|sum.x + sum.y + sum.z + sum.w|"
      "rest = src_c - |rest > |units|made[q|vectors + |_clip|identity|; }\n  if (rest < |"
      " = min(int(|x0 != seen|) * vec4(part_y|; }\n    if (rest < |"
      "for (int i = first; i < last; ++i) { |read_src(x, y, i) - |35355339|"
      "odd, tile + x, 0, to + |fetch_src(p + next * |); }\nif (c + |typedef |GROUP_BARRIER(|"
      "vload_half|3333|vec4 b) {\n  vec4 |vec4(1.0f) / (|type|vec4(low)), vec4(high|lanes_from|"
      "weights_s;\n    int o|weights_b - 1) * |v = num_lanes_from(v, |.s012|y = GLOBAL_X; int |"
      "batch = s / dst_s;\nint |vec4 v = vec4(0.0f|y1 = min(y0 + |"
      "x0 = x * stride_x - before_x;\n    int |}\n    }\n    write_dst(v, x, y, s);\n|num4 |"
      "x, y, s0);\n    if (s1 > s0|x, y, s1); }\n|vec4(0.0f);\n  vec4 |b * src_s + c";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
