// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + | * |;\n|int | - |);\n|at|  |_x|_y|vec4(|; |), | / |in|_s|    |}\n|from|) * |"
      " < |);\n    |vec4 |to|))| += |\n#define |= |if (|min(|st|        |;\n    |) { |_b|src|"
      "lo|0.0f|v = |_w| >|par|sum|: | ? |, 0|read_src(|(v| (|ne|; }\n|) {\n|sum4_t |igh|src_|"
      ") |t_|ro|; ++|for (int |.0f|al|x, y|, s|t |le|;\n  int |read|place|ts|vec|la|most| && |"
      "or|re|step|slice|batch|fir|is_less(|scale|write_dst|max(|block|de|_t |dst|) {\n      |"
      "on|ar|te|dst_s|flo|choose(|ri| == |s_|spli| * src_s|float(|, vec4(0.0f))|along|, y|un|"
      "count| >= 0 && | = max(|float |= 0|e |right_|end|tail|right|ad|vec4(1.0f|tile|cells|"
      "LOCAL_X|first + |read_weights(|exp(|* | = 0; | -= |state|highp |; ++i) {\n| + 1, |"
      " * stride|before|_row|bits|;\nsum_t |is_equal(|even|for (int i = 0; i < | & |image|data|"
      "dst_h| = GLOBAL_Y| = first|kernel|quad|odd|vec16 |lane(|flat_|int at = |y >= |in_block|"
      " : 0|grid_w|bool | != 0 ? |from_c| != 0|vec4(0.|, ivec4(| - 1);\n|best|; i < |"
      "vec4(0.0f);\n    |\n  int |shif|write_dst(v, x, y, s);\n|plane|stride|src_w - 1|word|"
      "least|\n    int |filter|float4 |;\ntypedef |ivec2|int(| <= |global_z|tanh|));\n}\n|"
      "vec4(1.0f) + | = ivec4(|onto_grid(|) {\n  return | * 4 + |length| * dilation_y| < src_h|"
      "next | >> |GROUP_BARRIER();\n|cells + q|     z|sums[|25f|)(__VA_ARGS__))\n#define |"
      "a, b) |global_x|global_y|ize|hidden|inline | : v|quads_|);\n  return |v.y|row = |own|"
      "outer|found|int_lane(| * 4;\nint |to_q|from_x, from_y, |num4 v = |); }\n    |;\nivec8 |"
      " = GLOBAL_X|);\nwrite_dst(|part_x|part_y|num4|last_|);\nn     |cell|vec8(|to_float(|"
      "to_int(|GLOBAL_X|LOCAL_|ack|#undef |) { return |put_|mix(|, ivec4(0))|int(gl_|_of(|"
      "vec4(0.5f|).x|);\n  vec4 |power|floor(|1 - is_equal(|inverse, |vec16(|       |v.x|wide|"
      "s / dst_s|dst_c|for (int j = 0; j < |for (int i = 0; i < src_s|x, y, s);\n|));\n      |"
      "for (int k = 0; k < | < src_w|x_begin|write_dst(v, | = s / dst_s|;\n      if (|"
      " = GLOBAL_Z;\n|bias|for (int i = |;\nsrc_at |item| + first|out|all = |at_c|src_h - 1|"
      "at.x|read_m(|at_q|0.5f|x, y, first + i|v0 = |;\nn     |left_0|left_1|0.25f|0.1|...) ((|"
      ") ((|int4)(|is_at_most|int)get_local|\n// |above(|below(|LANES |_at(|(0, |roup|vec4 v, |"
      "small|v * (|vec4(0.1|)) * vec4(|ivec4 is_|) & (|choose(is_|return |flip|"
      ",\n                |ounded(|h + (Y|get_global_id(| + y) * |dst_s * 4|resul|"
      ") { return; }\n|;\nint first|first = (|left_|inside = |inside|1 = min(|sum4_t sum = |"
      "from_y = y|; ++k) {\n        |_x + k|for (int i = 0; i < 4; ++i) {\n        |, dst_c|"
      "k, j| = image| + to_y| * blocks|last = |blocks * |num4 v = read_src(|src_s - 1|"
      "dst_s * dst_b|rank|), ivec4(|part = |.x * |.y * |middle|read_src(x1|read_src(x0|, y1, s|"
      "at.y| < src_c|beta|) { write_dst(v|outs| += items) {\n|c     |n     |n   |if (rest < |"
      ", all| + start_|;\nsum_t k|round_|))\n#define GROUP_| th|and |attribu|idth|anywhere|"
      "__global |quads|lessThan|(a, b|near = |f);\n  p = p * t + |vec4(0.0|82912.0f|verse|"
      "float low, float high|with_zeros_from| == 0 ? |y : | > 1 ? |layout(|inding = |e_c|"
      " / to_b| = ivec4(0|best = |; k < |\nint x = GLOBAL_X| = GLOBAL_Z;\nif (|"
      "\n    int batch = s / dst_s;\n    int |first = (s - batch * dst_s) * 4|before_y|"
      " * dilation| / 4), c |}\n    }\n    write_dst(|x_end|num4 v = num4|ivec8 |results[|"
      "; i += |bool in|fetch_src(|; int y = GLOBAL_Y; int |first = s|v = num_with_lane|"
      "first / 4| / 4), c|) { return; }\nint |top = |bias;\n|top + |, 0, 0);\n    |room|"
      " = min(max(| s >= |), x, y, s);\n|, vec4(-|, 0, 0);\n|read_src(x0, y0, s|; ++i) { |c   |"
      "cell[q|onto_grid(z|4096.0f, 0.000244140625f, -32768.0f, 32767.0f|mean|pair_at(|"
      " = GLOBAL_Z|global|int16|CLK_|OUTLINE|__global const |quads_at(|_half|"
      "vec4 v) {\n  vec4 |f);\n  p = p * t - |onto_grid_of(|with_zeros_from(v.s|.x, i|"
      "int(gl_GlobalInvocationID|((X), (S) * |fetch|\nint batch = s / dst_s;\nint |"
      "slice = s - batch * dst_s|;\nint at_b = batch|choose(is_better|"
      "dot(v, read_weights(k, j, o|sum4_t sum = vec4(0.0f);\n    | = x * stride|"
      ");\n          }\n        | - 1);\n  int |v = num_lanes_from(v, |}\n    }\n    |"
      " >= 0) & (| + ky * dilation_y|read_bias(|vec4(0.0f); }\n|sy = y * stride_y - pad_y|"
      "low = from_s + |from_x, from_y, low|multiplier, src_c|"
      "lane(read_src(sx, sy, b * src_s + c|dilation_y|"
      "}\n      }\n    }\n    write_dst(v, x, y, s);\n|)), to_int(| = i == 0 ? |) / 2.0f|"
      "read_matrix(|x1 = min(x0|_x, src_w|sum.x + sum.y + sum.z + sum.w|rest = src_c - |"
      "rest > |made[q|vectors + |_clip|tity|; }\n  if (rest < | = min(int(|x0 != seen|"
      ") * vec4(part_y|; }\n    if (rest < |for (int i = first; i < last; ++i) { |"
      "read_src(x, y, i) - |35355339f|odd, tile + x, 0, to + |fetch_src(p + next * |"
      "); }\nif (c|typedef |vec16;\ntypedef |vec16(...) ((|GROUP_BARRIER(|3333|"
      "vec4 a, vec4 b) {\n  vec4 |vec4 b) {\n  ivec4 |mod(|vec4(1.0f) / (|type|"
      "vec4(low)), vec4(high|vec16 wide|lanes_from|uniform highp |better|x >= dst_w |"
      "weights_s;\n    int o|weights_b - 1) * | * stride_y - pad_y|x * dilation_x;\n|valid|"
      "v = num_lanes_from(v, read_src(from_x, from_y, high), first |v : vec16(0.0f);\n|"
      "y = GLOBAL_X; int |batch = s / dst_s;\nint |v = num_with_lane(v, i, num_lane(read_src(|"
      ", 0.0f, 0.0f|y1 = min(y0| * stride_y - |x0 = x * stride_x - before_x;\n    int |"
      "_y, src_h|}\n    }\n    write_dst(v, x, y, s);\n|x, y, s0);\n    if (s1 > s0|"
      "x, y, s1); }\n|vec4(0.0f);\n  vec4 |left = |x, y, last|, b * src_s + c";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
