// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + | * |;\n| - |int |);\n|), |    |st|at|vec4(|_x|; | / |vec4 |sum4_t |);\n  |"
      " < |) * |_y|}\n|src_|to|in|if (|;\n  |from|ne|= |        |t_| += |min(|) |.0f|_s|  | (|"
      ") {\n|))|0, |) { |par|re|fir|(v|; }\n|v = |: |0.0f|place|igh|lo| >|\n#|sum|);\n    |_b|"
      "mo|x, |; ++|ro|read_src(|al| ?|define |ar|te|y, |write_dst(|read|vec|for (int |x, y, |"
      "block|t |batch| && |step|slice|scale|max(|) {\n      |choose(|le|_t |la|, vec4(0.0f))|"
      "dst|de|or| == |;\n    int |is_less(|float(|)\n#define |s_|& |count|split|quad| = max(|"
      "size|is_|choose(is_less(|along| >= 0 && |;\nsum_t |is_equal(|read_weights(|flo|"
      "))\n#define |tail|first + |exp(| -= |tile|cells|float |LOCAL_X|highp |0.1|pla|vec16 |"
      " * dst_s|(int|0.5f|end|state| != 0|_at(|abs(|for (int i = 0; i < |, ivec4(|least|lane(|"
      "int(|image|data| = 0; |x, y, s);\n|bool |out|bits|);\n  return | >> |) & is_less(|"
      "vec4(1.0f|; ++i) {\n|) & (| = GLOBAL_Y|; i < |left_|grid_w|mix(|_of(| = choose(is_|odd|"
      " = vec4(0.0f|flat_|in_block|inside|1 = min(| - before| : 0|stride|src|from_c|\n    int |"
      "n     |to_int(| <= |small|return | = ivec4(|even|0, 0);\n    |25f|.z, |kernel| - 1);\n|"
      "best| * src_s|better| = GLOBAL_X|) { return; }\n|dst_c|shift|write_dst(v, x, y, s);\n|"
      "bias|for (int i = |int at = |dst_w|part_y|word|float4 |global_z| : v|put_|half4|half|"
      "a, b|ivec4(0))|exp|most = |1 - is_equal(|onto_grid(|) {\n  return |wide|vec16(|"
      " * 4;\nint | * 4 + |length|weights_|k, j, | * dilation_y|src_s + |\n  int |num4 v = |"
      "before|); }\n    |grid|;\nivec8 |src_w - 1|y >= | * stride| = vec4(0.0f);\n    |"
      "GROUP_BARRIER();\n|cells + q|     z|sums[|ivec2|is_at_most(|is_number|global_x|GLOBAL_|"
      "global_y|con|static inline |) { return |ivec4(0|));\n}\n|power|floor_|zero|turn|"
      "with_zeros_from|.w, |row = |own|outer|for (int i = 0; i < src_s; ++i|, places|right_|"
      "from_y = | < src_h|}\n      | >= 0| - pad|src_at |all = |src_h - 1|at.x|at.y|last_|"
      " != 0 ? |);\nn     |cell|;\ntypedef |to_float(|GLOBAL_X|LOCAL_|undef |LANES |quads_at(|"
      "int(gl_|ounded(|,\n                | = ((|);\n  ivec4 is_|)) * vec4(|lip|inverse, |"
      "       |for (int j = 0; j < |ivec4 is_|first = (| < src_c|\nint x|y * stride_y|"
      "for (int k = 0; k < |x * stride_x|x_begin|write_dst(v, | = s / dst_s| = GLOBAL_Z;\n|"
      "blocks * |v = num_with_lane(v, |src_s - 1|at_c|dst_s * dst_b|dst_s * |dst_h|part_x|"
      "read_m(|x0 = |x0 + |filter|x, y, first + i|hidden|left_1|0.25f|4)(|)get_local|er(|"
      "above(|below(|16 |vector|__global const |__global |roup|floatBitsToInt|vec4 v, |"
      "v, is_nan(v|tanh|v * (|abs(v| = s * |high_digits(|6666|clamp(|floor(|.s0|i == 0 ? | ? v|"
      "1 ? |), (S|h + (Y|ack|get_global_id(|s / dst_s * |dst_s * 4|result|place = ivec4(|"
      "better = (|better, |v, most|;\nint first|read_src(from_x, from_y, |src_s + i|"
      " * dilation|for (int i = 0; i < 4; ++i) {\n        |sum += v|next |last = |at_y = |"
      " = min(max(|int_lane(|rank|read_src(x, y, s|}\n    }\n    write_dst(v, x, y, s);\n|"
      "vec4(1.0f) + |middle|y0 + |));\n      |read_src(x1, y|beta|v0 = |) { write_dst(v|"
      " += items) {\n|c     |n   |identity|right_0|right_1| + star|if (c + |convert_|"
      "))\n#define GROUP_|tan|endif|idth|anywhere|*)(p|else|vload|16(|a, b) |lessThan|_of|"
      ") / (|z * (|whole|quotient(|255|v, int |nt(|f;\n  p = p * t + |12582912.0f|"
      "float low, float high|)), vec4(|n > |layout(|inding = |((X|e_c|lanes + |e_row|"
      "\nint batch = s / dst_s;\nint | / to_b|places = |0, 1, 2, 3|place, places|plane = |"
      "src_w * | ? v : | = GLOBAL_Z;\nif (| y >= dst_h |\n    int batch = s / dst_s;\n    int |"
      "first = (s - batch * dst_s) * 4| - 1) * |k) {\n        | / 4), c |"
      "}\n    }\n    write_dst(|row = image|x_end|num4 v = num4(|dilation_y|results[|"
      " = GLOBAL_X * |; i += |fetch_src(|; int y = GLOBAL_Y; int |x >= |num4 v = read_src(|"
      "first / 4| / 4), c|bias;\n|top + |room| s >= |, vec4(-|max(most|read_src(x0, y0, |"
      "1); }\n|c   |cell[q|onto_grid(z|4096.0f, 0.000244140625f, -32768.0f, 32767.0f|mean|"
      "all, |.y = |.z = |.w = | = GLOBAL_Z|global|typedef |;\ntypedef int|a, b) selec|"
      "round_even|CLK_|OUTLINE|__attribute__((|roundEven|z * (0.|3333|as_float|power_of_two(|"
      "vec4 a, vec4 b) {\n  |remainder_of(|sine(v) |f;\n  p = p * |onto_grid_of(|"
      "int(gl_GlobalInvocationID|fetch|slice = s - batch * dst_s|;\nint at_b = batch|"
      "dst_h + y) * dst_w|dst_c + s |most = choose(is_|four, |x >= dst_w |found|to_q * |"
      "sum4_t sum = vec4(0.0f);\n    |}\n    }\n    |ivec8 |vec4(0.0f); }\n|low = from_s + |"
      "from_x, from_y, low|v = num_lanes_from(v, read_src(from_x, from_y, high), |"
      "multiplier, src_c|lane(read_src(sx, sy, b * src_s + c|left = |_begin|read_matrix(|"
      "right = |vec4(1.0f) - |right) * |read_src(x0, y|filter_x + |_x, src_w|"
      "sum.x + sum.y + sum.z + sum.w|rest = src_c - |;\n  int from_s|s1 > s0|units|made[q|"
      "_clip|for (int i = first; i < last; ++i) { |read_src(x, y, i) - |ends ? |35355339f|"
      "7677670f|odd, tile + x, 0, to + |early ? |fetch_src(p + next * |GROUP_BARRIER(|power_of|"
      "above|below|z * (z * (|type|lanes_from| == 0 ? |v = num_lanes_from(v, |"
      "batch = s / dst_s;\nint |_y, src_h|0.000|num4 |b * src_s + c";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
