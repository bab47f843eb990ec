// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + | * |;\n|);\n|int | - |at|  |), |; |vec4(| < | / |st|_x|= |vec4 |) * |_y|    |"
      "from|if (|src_|in|}\n|);\n    |to|))|\n#define | += |;\n    |_s|: |min(|        | ? | >|"
      "t_|) { |0, |0.0f|(v|) {\n|v = |igh|ne|lo|par|) |; }\n|sum4_t |ro| (|e_|_b|read_src(|re|"
      "sum|x, |; ++|most|fir|.0f|vec|al|for (int |or|;\n  int |er|y, |t |ts|block|x, y, |read|"
      "pla|on|s_|la|step|write_dst|scale|slice|dst_s| == |ar|max(| && |) {\n      |ou|ef|flo|"
      "float(|ce|le|spli|ri|e |vec4(0.| = max(|, vec4(0.0f))| != 0|ad|along|count|places|"
      "float |is_less(| & | >= 0 && |_t |read_weights(|um|tail|dst|first + |li|tile|cells|"
      "LOCAL_X|highp |vec16 |end|(int|choose(is_less(|exp(| = 0; | -= | = first|batch|"
      "vec4(1.0f|lane(|image|data|dst_w|right_|bool |bits|;\nsum_t |place_t |"
      "for (int i = 0; i < |better|x, y, s);\n| = GLOBAL_Y|left_| * stride_|grid_w|choose(|"
      "quad|odd| = ivec4(|flat_|in_block|inside |src|from_c|state_|n     | <= |is_equal(|half|"
      " >> |even|; ++i) {\n|int(| - 1);\n|best| * src_s|; i < | * dilation_y|vec4(0.0f);\n    |"
      "dst_c|\n  int |shift|write_dst(v, x, y, s);\n|int at = |word|least|\n    int |     z|"
      "float4 |global_z|ize| : v|put_|half4|tanh|));\n}\n|);\n  vec4 |vec4(1.0f) + |) & (|"
      ", ivec4(|onto_grid(|) {\n  return |wide|vec16(| = batch| * 4;\nint | * 4 + |length|"
      "k, j, | - before|src_s + |before|grid|;\nivec8 |stride_|src_w - 1|y >= |0, 0);\n    |"
      "GROUP_BARRIER();\n|cells + q|sums[|;\ntypedef |ivec2|a, b) |global_x|global_y|hidden|"
      "static inline |quads_|small|own|outer|s / dst_s|for (int i = 0; i < src_s; ++i|found|"
      "int_lane(|to_q| < src_h|num4 v = |); }\n    | = GLOBAL_X|src_at |);\nwrite_dst(|last_|"
      ");\nn     |cell|to_float(|to_int(|GLOBAL_X|LOCAL_|kernel|ack|#undef |) { return |LANES |"
      "quads_at(|mix(|, ivec4(0))|int(gl_|_of(|).x|return |,\n                |floor(|"
      "inverse, |       |.z, |row = |for (int j = 0; j < |first = (| < src_c|batch * |"
      "for (int k = 0; k < | * stride_x|x_begin|write_dst(v, | = s / dst_s|next |"
      " = GLOBAL_Z;\n|bias|blocks * |for (int i = |all = |v = num_with_lane(v, |at_c|"
      "dst_s * dst_b|dst_h|src_h - 1|part_x|part_y|read_m(|at_q|0.5f|filter|x, y, first + i|"
      "v0 = |left_1|0.25f|f * a|16 |4)(|is_at_most|)get_local|\n// |above(|below(|"
      "__global const |_at(p|ed(|__global |round|roup|vec4 v, |v * (|vec4(0.5f| = s * |"
      ")) * vec4(|ivec4 is_|choose(is_|flip|1 - is_equal(|bounded(|i == 0 ? |h + (Y|"
      "get_global_id(| = ((|dst_s * 4|resul|) { return; }\n|;\nint first|1 = min(|"
      "sum4_t sum = |read_src(from_x, from_y, |from_y = y|; ++k) {\n        |x < src_w|"
      "for (int i = 0; i < 4; ++i) {\n        |sum += v|last = |num4 v = read_src(|src_s - 1|"
      " = min(max(|rank|), ivec4(|part = |.x * |.y * |middle_|read_src(x1, y|at.x|at.y|beta|"
      ") { write_dst(v| += items) {\n|c     |n   |right_0|start_|;\nsum_t k|25f|, i + |"
      "convert_|))\n#define GROUP_|\n#endif| th|and |width|anywhere|*)(p|quads|16(|lessThan|"
      "(a, b|);\n  return |near = |f) + |nt(|f);\n  p = p * t + |12582912.0f|verse|"
      "float low, float high|)), vec4(|y : | > 1 ? |layout(|inding = |place = |lanes + |"
      " / to_b| * src_w|best = |0, 1, 2, 3|plane = |src_w * | ? v : |\nint x = GLOBAL_X|"
      " = GLOBAL_Z;\nif (| y >= dst_h |\n    int batch = s / dst_s;\n    int |"
      "first = (s - batch * dst_s) * 4|src_s + i| / 4), c |}\n    }\n    write_dst(|"
      "row = image|x_end|num4 v = num4(|kernel_y|results[|; i += |fetch_src(|"
      "; int y = GLOBAL_Y; int |first / 4|at_x = | / 4), c|) { return; }\nint |top = |bias;\n|"
      "top + | s >= |, vec4(-|0, 0);\n|read_src(x0, y0, |c   |cell[q|onto_grid(z|"
      "4096.0f, 0.000244140625f, -32768.0f, 32767.0f|mean|.y = |.z = |.w = |air_at(x|"
      " = GLOBAL_Z|global|;\ntypedef int|round_even|CLK_|OUTLINE|__attribute__((|) vload|"
      "vec4 v) {\n  vec4 |is_equal(b, |);\n  return choose(|f);\n  p = p * t - |onto_grid_of(|"
      "with_zeros_from(v.s|int(gl_GlobalInvocationID|((X), (S) * |fetch|"
      "\nint batch = s / dst_s;\nint |slice = s - batch * dst_s|;\nint at_b = batch|"
      "dst_h + y) * dst_w|dst_c + s |place = ivec4(|choose(is_better|"
      "sum4_t sum = vec4(0.0f);\n    |from_x = x|);\n          }\n        | - 1);\n  int |"
      "}\n    }\n    |ivec8 | * stride_y - pad_y| >= 0) & (|read_bias(|vec4(0.0f); }\n|"
      "low = from_s + |from_x, from_y, low|"
      "v = num_lanes_from(v, read_src(from_x, from_y, high), |multiplier, src_c|"
      "lane(read_src(sx, sy, b * src_s + c|dilation_y|left = |0), room|in_batch|"
      "}\n      }\n    }\n    write_dst(v, x, y, s);\n|)), to_int(|) / 2.0f|read_matrix(|"
      "x1 = min(x0 + |right = |vec4(1.0f) - |right) * |read_src(x0, y|filter_x + |_x, src_w|"
      "sum.x + sum.y + sum.z + sum.w|rest = src_c - |units|made[q|vectors + |_clip|rojection|"
      "identity| = min(int(|) * vec4(part_y|for (int i = first; i < last; ++i) { |"
      "read_src(x, y, i) - |35355339|odd, tile + x, 0, to + |fetch_src(p + next * |"
      "); }\nif (c + |typedef |GROUP_BARRIER(|3333|vec4(1.0f) / (|type|lanes_from|"
      "weights_s;\n    int o|weights_b - 1) * |v = num_lanes_from(v, |.s012|y = GLOBAL_X; int |"
      "batch = s / dst_s;\nint |, 0.0f, 0.0f|y1 = min(y0 + |"
      "x0 = x * stride_x - before_x;\n    int |}\n    }\n    write_dst(v, x, y, s);\n|0.000|"
      "num4 |x, y, s0);\n    if (s1 > s0|x, y, s1); }\n|b * src_s + c";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
