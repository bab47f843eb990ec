// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + |;\n| * | - |);\n|int |at|), |vec4(|    |_x|; |vec4 |st| < | / |_y|src_|"
      "sum4_t |) * |}\n|if (|in|  |from|ne|) |to|= |t_|_s| += |        |min(|))|: |0, | (|"
      "; }\n|) { |fir|);\n  |) {\n|.0f|(v|place| >|v = |igh|par|0.0f|most|sum|ro|);\n    |re|"
      "x, |read_src(|;\n      |\n#|lo|_b| ?|la|define |ar|te|al|y, |;\n  int |x, y, |vec|"
      "write_dst(|read|for (int |s_|t |block|max(| && |step|slice|batch|scale|le|) {\n      |"
      "_t |, vec4(0.0f))|or|de|dst| == |;\n    int |& |float(|)\n#define |choose(|is_less(|"
      "quad| = max(|be|; +|li|count|choose(is_less(|along|;\nsum_t | >= 0 && |is_equal(|"
      "read_weights(|flo|))\n#define |tail|first + |spli|tile|cells|float |LOCAL_X|highp |exp(|"
      " -= |vec16 |(int|size| = 0; | * dst_s|state| != 0|_at(|for (int i = 0; i < |"
      " = vec4(0.0f|least|lane(|image|data|bool |bits|0.1|, ivec4(|x, y, s);\n| = GLOBAL_Y|"
      "left_|grid_w|end|mix(|_of(|);\n  return |0.5f| >> |abs(|odd|vec4(1.0f|; ++i) {\n|"
      ") {\n  return |flat_|; ++j|in_block|inside| - before|src|from_c|\n    int |n     | <= |"
      "small|power|even|) & (|0, 0);\n    |25f|.z, |int(|kernel| - 1);\n| * src_s| = GLOBAL_X|"
      "; i < |dst_c|\n  int |shift|write_dst(v, x, y, s);\n|bias|stride|int at = | * stride|"
      "dst_w|word|float4 |global_z|) { return | : v|put_|half4|half|a, b|ivec4(0|exp|"
      "1 - is_equal(| = ivec4(|) & is_less(|onto_grid(|wide|vec16(| * 4;\nint |better| * 4 + |"
      "length|weights_|k, j, | * dilation_y|src_s + |before|); }\n    |grid|;\nivec8 |"
      "for (int i = |src_w - 1|y >= | = vec4(0.0f);\n    |GROUP_BARRIER();\n|cells + q|     z|"
      "sums[|ivec2|is_at_most(|is_number|global_x|GLOBAL_|global_y|con|static inline |"
      "ivec4(0))|));\n}\n|return |b) {\n  |floor_|zero|turn|with_zeros_from|.w, |row = |own|"
      "outer|s / dst_s|for (int i = 0; i < src_s; ++i|, places|right_|1 = min(|from_y = |"
      " < src_h|}\n      |); ++|num4 v = | = s / dst_s| - pad|splits|src_at |out|src_h - 1|"
      "parts|at_q|last_|; ++i| != 0 ? |);\nn     |cell|;\ntypedef |to_float(|to_int(|GLOBAL_X|"
      "LOCAL_|#undef |LANES |quads_at(|int(gl_|_of|ounded(|,\n                |floor(|"
      ")) * vec4(|inverse, |for (int j = 0; j < |ivec4 is_| = choose(is_better, |first = (|"
      " < src_c|\nint x|y * stride_y|for (int k = 0; k < |x * stride_x|x_begin|write_dst(v, |"
      "next | = GLOBAL_Z;\n|blocks * |v = num_with_lane(v, |src_s - 1|at_c|dst_s * dst_b|dst_h|"
      "part_x|part_y|).x|read_m(|filter|x, y, first + i|hidden|left_1|0.25f|4)(|)get_local|er(|"
      "above(|below(|16 |__global const |__global |roup|floatBitsToInt(|vec4 v, |v, is_nan(v|"
      "tanh|v * (|z * (|abs(v|choose(is_| = choose(is_|low, |i == 0 ? |h + (Y|ack|"
      "get_global_id(| = ((|dst_s * 4|resul|place = ivec4(|better = (|v, most|) { return; }\n|"
      ";\nint first|read_src(from_x, from_y, | * dilation|"
      "for (int i = 0; i < 4; ++i) {\n        |sum += v|x + to|y + to|last = |all = |"
      "num4 v = read_src(|dst_s * | = min(max(|int_lane(|rank|"
      "}\n    }\n    write_dst(v, x, y, s);\n|vec4(1.0f) + |.x * |.y * |middle|x0 = |y0 + |"
      "read_src(x1, y|beta|) { write_dst(v|outs| += items) {\n|c     |n   |right_0|right_1|"
      " + star|convert_|))\n#define GROUP_|tan|endif|idth|anywhere|*)(p|else|vload|16(|a, b) |"
      "lessThan| = s * |intBitsToFloat(|f;\n  |vec4 a, vec4 |);\n  ivec4 is_|quotient(|255|"
      "v, int |1666|f;\n  p = p * t + |12582912.0f|float low, float high|)), vec4(|       |"
      " ? v| > 1 ? |layout(|inding = |e_c|lanes + |e_row|batch = s / dst_s;\nint |"
      ";\nint at_b = batch| / to_b|places = |0, 1, 2, 3|place, places|plane = |src_w * |"
      " ? v : | = GLOBAL_Z;\nif (| y >= dst_h |\n    int batch = s / dst_s;\n    int |"
      "first = (s - batch * dst_s) * 4| - 1) * |src_s + i|k) {\n        | / 4), c |"
      "}\n    }\n    write_dst(|row = image|x_end|num4 v = num4(|dilation_y|results[|"
      " = GLOBAL_X * |; i += |fetch_src(|; int y = GLOBAL_Y; int |x >= |first / 4|at_y = |"
      " / 4), c|) { return; }\nint |bias;\n|top + | s >= |, vec4(-|read_src(x0, y0, |v0 = |"
      "c   |cell[q|onto_grid(z|4096.0f, 0.000244140625f, -32768.0f, 32767.0f|mean|.y = |"
      "identity|.z = |.w = | = GLOBAL_Z|global|typedef |;\ntypedef int|a, b) selec|round_even|"
      "CLK_|OUTLINE|__attribute__((|InvocationID|3333|as_float|remainder_of(|mod(|sine(v) |"
      ") - 0.|ent(|f;\n  p = p * |onto_grid_of(|.s012|int(gl_GlobalInvocationID|((X), (S) * |"
      "fetch|slice = s - batch * dst_s|dst_h + y) * dst_w|dst_c + s |four, |x >= dst_w |"
      "to_q * |sum4_t sum = vec4(0.0f);\n    |);\n          }\n        |}\n    }\n    |ivec8 |"
      " >= 0) & (|low = from_s + |from_x, from_y, low|"
      "v = num_lanes_from(v, read_src(from_x, from_y, high), |multiplier, src_c|"
      "lane(read_src(sx, sy, b * src_s + c|left = |0), room|)), to_int(|) / 2.0f|0.5f;\n    |"
      "read_matrix(|1 = min(x0 + |right = |vec4(1.0f) - |right) * |read_src(x0, y|filter_x + |"
      "_x, src_w|sum.x + sum.y + sum.z + sum.w|rest = src_c - |s1 > s0|units|made[q|vectors + |"
      "_clip| = min(int(|) * vec4(part_y|for (int i = first; i < last; ++i) { |"
      "read_src(x, y, i) - |ends ? |35355339f|7677670f|odd, tile + x, 0, to + |early ? |"
      "fetch_src(p + next * |); }\nif (c|GROUP_BARRIER(|4096|above|z * (z * (|type|lanes_from|"
      " == 0 ? |v = num_lanes_from(v, |, 0.0f, 0.0f|_y, src_h|0.000|num4 |b * src_s + c";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
