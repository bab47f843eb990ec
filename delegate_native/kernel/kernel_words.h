// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + | * |;\n|);\n| - |int |at|  |; |_y|_x|), |in| / |vec4(|);\n    |    | < |from|"
      ") * |to|}\n|src_|st|vec4 |if (| += |))|= |  int |.0f|\n#define |t_|_s|par|;\n    |"
      "        |min(|0, |ne| >|sum|: |) { |sum4_t |ro|igh|(v|lo|; }\n|_b|read_src(|v = |al|"
      ") {\n| ? |; ++|) |x, | (|la|x, y, |for (int |re|write_dst|s_|fir|y, |block|t |read|"
      "batch|step| = 0|slice|most|or|vec|de|scale|) {\n      |on|le|max(| && |is_less(|ar|"
      "vec4(0|_t |dst_s|flo|place|choose(|split|te|float(|ts|, vec4(0.0f))| == |quad|along|"
      "count|float | >= 0 && |;\nsum_t |e |end| = max(|tail|image|vec4(1.0f|tile|cells|LOCAL_X|"
      "; ++i) {\n|read_weights(|um|exp(|ri|kernel|highp |num4 v = |= 0|bits|ve|is_equal(|"
      "for (int i = 0; i < |, ivec4(|lane(|data|; i < |left_| -= | = first|(int|odd| & |flat_|"
      "row = | * src_s|first + |in_block| * dilation_y|dst_c| * src_s + |grid_w| = GLOBAL_Y|"
      "src|y >= |dst_w|dst_h| != 0 ? |from_c|, 0.0f|vec16| != 0|even|grid| * 4 + |right| : 0|"
      "shift| - 1);\n|write_dst(v, x, y, s);\n|int at = |word|least|\n    int |float4 |ivec2|"
      "int(|global_z|vec4(1.0f) + | = ivec4(|length| - before|before|;\nivec8 |plane|stride|"
      "\nbool |src_w - 1| >> |0, 0);\n    |GROUP_BARRIER();\n|cells + q|     z|sums[|25f|"
      ";\ntypedef |ivec8|(...) ((|)(__VA_ARGS__))\n#define |a, b) |global_x|global_y|hidden|"
      ");\n  return |));\n}\n|).x|);\n  vec4 |onto_grid(|verse, |.z, |own|outer|"
      "for (int k = 0; k < |read_src(from_x, from_y, | < src_h|next |); }\n    | = GLOBAL_Z|"
      "for (int i = |src_at |);\nwrite_dst(|src_h - 1|last_|state|);\nn     |cell|best|16 |"
      "to_float(|to_int(|GLOBAL_X|LOCAL_|ack|#undef |) { return |put_|mix(|, ivec4(0))|int(gl_|"
      "tanh|vec4(0.5f|_of(|power|floor(|1 - is_equal(|choose(is_|low, |) {\n  return |found|"
      "for (int i = 0; i < src_s|right_| = vec4(0.0f| * stride_y| * stride_x|"
      " = vec4(0.0f);\n    |x_begin| = s / dst_s|bias|blocks * |item| * stride|out|"
      "v = num_with_lane(v, |src_s - 1|at_c| = GLOBAL_X|dst_s * dst_b|read_m(|at_q|0.5f|filter|"
      ";\nn     |left_1|0.25f|is_at_most|)get_local|ize|\n// |inding|above(|below(|LANES |"
      "at(p) |small|v * (|vec4(0.1|)) * vec4(|) & (|flip|,\n                |get_global_id(|"
      " * src_s + i|, x, y, s);\n| * 4;\nint |inside = |1 = min(|));\n      |from_y = y|"
      " * dilation|x < src_w|for (int i = 0; i < 4; ++i) {\n        |k, j, |x + to|y + to|"
      " - pad|\nint x| = GLOBAL_Z;\nif (|) { return; }\n|) { return; }\nint | <= |int_lane(|"
      "rank|part_x|first + i|s / dst_s|.x * |.y * |middle|read_src(x1, |y1, | < src_c|v0 = |"
      "outs| += items) {\n|       |c     |n     |n   |if (rest < |v.y|right_0|right_1|"
      " + start_|) ((|))\n#define GROUP_| th|and |attribu|idth|inline |anywhere|__global |"
      "lessThan|(a, b|10.0f|ivec4 is_|return |f);\n  p = p * t + |12582912.0f|)), vec4(|"
      "ounded(| == 0 ? |y : | > 1 ? |layout(|h + (Y| / to_b|min(4, |), x, y, s);\n|"
      ";\nint first|first = (|\n    int batch = s / dst_s;\n    int |"
      "first = (s - batch * dst_s) * 4|for (int j = 0; j < | / 4), c |}\n    }\n    write_dst(|"
      "x_end|num4 v = num4(| = GLOBAL_X * |fetch_src(|; int y = GLOBAL_Y; int |first = s|"
      "all = |dst_s * 4|first / 4|src_c;\n| / 4), c|bool |bias;\n| + y) * |top + | = min(max(|"
      " s >= |num4(|, vec4(-|0, 0);\n|wide|read_src(x0, y0, |; ++i) { |"
      "read_src(x, y, first + i|) { write_dst(v|c   |cell[q]|onto_grid(z|"
      "4096.0f, 0.000244140625f, -32768.0f, 32767.0f|mean|global|;\ntypedef int|CLK_|OUTLINE|"
      "__global const |vec4 v) {\n  vec4 |int(gl_GlobalInvocationID|((X), (S) * |fetch|"
      "\nint batch = s / dst_s;\nint |slice = s - batch * dst_s|;\nint at_b = batch|"
      "src_c - i * 4|dot(v, read_weights(k, j, o|sum4_t sum = vec4(0.0f);\n    |from_x = x|"
      ");\n          }\n        |v = num_lanes_from(v, |}\n    }\n    | >= 0) & (|read_bias(|"
      "vec4(0.0f); }\n|low = from_s + |read_src(from_x, from_y, low|multiplier, src_c|"
      "lane(read_src(sx, sy, b * src_s + c|dilation_y|0), room|"
      "}\n      }\n    }\n    write_dst(v, x, y, s);\n|)), to_int(| = i == 0 ? |) / 2.0f|"
      "read_matrix(|x1 = min(x0 + |filter_x + |_x, src_w|sum.x + sum.y + sum.z + sum.w|beta|"
      ";\n  int from_s|rest > |units|made[q]|vectors + |_clip|tity|; }\n  if (rest < |"
      " = min(int(|) * vec4(part_y|; }\n    if (rest < |for (int i = first; i < last; ++i) { |"
      "read_src(x, y, i) - |35355339f|odd, tile + x, 0, to + |early ? |fetch_src(p + next * |"
      "); }\nif (c|typedef |select((int4)(0), (int4)(1), (a) |round_even|GROUP_BARRIER(|time|"
      "te__((|vload_half|roupSize|tanh_of(|3333|vec4 a, vec4 b) {\n  vec4 |vec4 b) {\n  ivec4 |"
      "tien|vec4(1.0f) / (|type|verse|vec4 v, float |uniform highp |weights_s;\n    int o|"
      "weights_b - 1) * |y * stride_y - pad|valid|"
      "v = num_lanes_from(v, read_src(from_x, from_y, high), first |v : vec16(0.0f);\n|"
      "y = GLOBAL_X; int |sqrt(|batch = s / dst_s;\nint |, 0.0f, 0.0f|vec4 v = vec4(0.0f|"
      "y1 = min(y0 + |x0 = x * stride_x - before_x;\n    int |_y, src_h|"
      "}\n    }\n    write_dst(v, x, y, s);\n|top = max(top, |num4 |s1 > s0|"
      "state(state_x, state_y, |stats[|vec4(0.0f);\n  vec4 |seen|top) * vec4(beta";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
