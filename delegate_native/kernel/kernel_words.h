// What kernels' texts say most. Written by host_tools/build/packed_words.py, for base/packing.h.
#ifndef QUADRA_KERNEL_KERNEL_WORDS_H_
#define QUADRA_KERNEL_KERNEL_WORDS_H_

namespace quadra {

struct KernelWords {
  static constexpr bool IsPlaceholder(char c) { return c == '$' || c == '@' || c == '%'; }
  static constexpr char kWords[] =
      " = |, | + | * |;\n|);\n|int | - |at|  |_x|_y|vec4(|; |), | / |in|    |src_|}\n|from| < |"
      ") * |);\n    |vec4 |to|))| += |\n#define |if (|_s|min(|st|        |;\n    |, 0|) { |lo|"
      "0.0f|v = |par|: | ? |_b|read_src(|sum|(v| (|; }\n|sum4_t |) {\n|igh|= |) |t_|ne|ro|; ++|"
      "for (int |.0f|al|x, y|, s|;\n  int |vec|le| >= |place|t |ts|read|most|or|re|la|_w|step|"
      "slice|batch| && |write_dst|fir|is_less(|scale| >|max(|block|dst|de|) {\n      |ar|_t |"
      "dst_s|flo|on|choose(|te| == |s_|spli|, y| * src_s|float(|, vec4(0.0f))|un|along|count|"
      "float | >= 0 && |;\nsum_t |ri|e |right_| = max(|end|tail|right|vec4(1.0f|tile|cells|"
      "LOCAL_X|first + |read_weights(|next|exp(| = 0; | -= |state|highp |; ++i) {\n| + 1, |"
      "bits|is_equal(|even|for (int i = 0; i < | & |image|data| = GLOBAL_Y| = first|_row|"
      "grid_w|kernel|quad|odd|vec16 |lane(|flat_|int at = |in_block| : 0|src| != 0 ? |from_c|"
      " != 0|vec4(0.|, ivec4(| - 1);\n|best|; i < | * dilation_y|dilation|vec4(0.0f);\n    |"
      "\n  int |shif|write_dst(v, x, y, s);\n| * stride|plane|word|least|\n    int |filter|"
      "float4 |;\ntypedef |ivec2|int(| <= |global_z|));\n}\n|vec4(1.0f) + | = ivec4(|"
      "onto_grid(|) {\n  return |dst_h| * 4 + |length| - before|before|grid|;\nivec8 |stride|"
      "\nbool |src_w - 1| >> |GROUP_BARRIER();\n|cells + q|     z|sums[|25f|"
      ")(__VA_ARGS__))\n#define |a, b) |global_x|global_y|ize|hidden|inline | : v|quads_|"
      ");\n  return |v.y|own|outer|found|int_lane(| * 4;\nint |from_x, from_y, | < src_h|"
      "num4 v = |); }\n    | = GLOBAL_X|src_at |);\nwrite_dst(|part_x|part_y|num4|last_|"
      ");\nn     |cell|vec8(|to_float(|to_int(|GLOBAL_X|LOCAL_|ack|#undef |) { return |put_|"
      "mix(|, ivec4(0))|int(gl_|tanh|vec4(0.5f|).x|);\n  vec4 |power|floor(|1 - is_equal(|"
      "inverse, |vec16(|       |v.x|row = |wide|s / dst_s|dst_c|for (int j = 0; j < |"
      "for (int i = 0; i < src_s|x, y, s);\n|));\n      |for (int k = 0; k < | < src_w|x_begin|"
      "write_dst(v, | = s / dst_s|;\n      if (| = GLOBAL_Z;\n|bias|blocks * |for (int i = |"
      "item| + first|out|all = |at_c|dst_s * dst_b|src_h - 1|at.x|read_m(|at_q|0.5f|"
      "x, y, first + i|v0 = |;\nn     |left_0|left_1|0.25f|0.1|...) ((|) ((|is_at_most|"
      "int)get_local|\n// |above(|below(|LANES |_at(|(0, |roup|vec4 v, |small|v * (|vec4(0.1|"
      ")) * vec4(|ivec4 is_|) & (|choose(is_|return |flip|,\n                |ounded(|h + (Y|"
      "get_global_id| + y) * |dst_s * 4|resul| * src_w|) { return; }\n|;\nint first|first = (|"
      "left_|inside = |inside|1 = min(|sum4_t sum = |from_y = y| * stride_y|; ++k) {\n        |"
      "for (int i = 0; i < 4; ++i) {\n        |, dst_c|k, j| = image| + to_y| * blocks|last = |"
      "num4 v = read_src(|src_s - 1|rank|), ivec4(|part = |.x * |.y * |middle|read_src(x1|"
      "read_src(x0|, y1, s|at.y| < src_c|) { write_dst(v|outs| += items) {\n|c     |n     |"
      "n   |if (rest < |, all| + start_|round_|))\n#define GROUP_| th|and |attribu|idth|"
      "anywhere|__global |quads|lessThan|(a, b|_of(|near = |f);\n  p = p * t + |vec4(0.0|"
      "82912.0f|verse|float low, float high|with_zeros_from| == 0 ? |y : | > 1 ? |layout(|"
      "inding = |e_c| / to_b| = ivec4(0|best = |; k < |\nint x = GLOBAL_X| = GLOBAL_Z;\nif (|"
      " y >= dst_h |\n    int batch = s / dst_s;\n    int |first = (s - batch * dst_s) * 4|"
      " / 4), c |}\n    }\n    write_dst(|x_end|num4 v = num4| - pad|results[|; i += |"
      "fetch_src(|; int y = GLOBAL_Y; int |first = s|v = num_with_lane|first / 4| / 4), c|"
      ") { return; }\nint |bool |top = |bias;\n|top + |, 0, 0);\n    |room| = min(max(| s >= |"
      "), x, y, s);\n|, vec4(-|read_src(x0, y0, s|; ++i) { |c   |cell[q|onto_grid(z|"
      "4096.0f, 0.000244140625f, -32768.0f, 32767.0f|mean|pair_at(| = GLOBAL_Z|global|int16|"
      "int4)|CLK_|OUTLINE|__global const |quads_at(|_half|vec4 v) {\n  vec4 |"
      "f);\n  p = p * t - |onto_grid_of(|with_zeros_from(v.s|.x, i|int(gl_GlobalInvocationID|"
      "((X), (S) * |fetch|\nint batch = s / dst_s;\nint |slice = s - batch * dst_s|"
      ";\nint at_b = batch|choose(is_better|x >= dst_w |dot(v, read_weights(k, j, o|"
      "sum4_t sum = vec4(0.0f);\n    | = x * stride_x|);\n          }\n        | - 1);\n  int |"
      "v = num_lanes_from(v, |}\n    }\n    | * stride_y - pad_y| >= 0) & (|read_bias(|"
      "vec4(0.0f); }\n|low = from_s + |from_x, from_y, low|multiplier, src_c|"
      "lane(read_src(sx, sy, b * src_s + c|}\n      }\n    }\n    write_dst(v, x, y, s);\n|"
      ")), to_int(| = i == 0 ? |) / 2.0f|read_matrix(|x1 = min(x0|_x, src_w|"
      "sum.x + sum.y + sum.z + sum.w|beta|rest = src_c - |rest > |made[q|vectors + |_clip|tity|"
      "; }\n  if (rest < | = min(int(|x0 != seen|) * vec4(part_y|; }\n    if (rest < |"
      "for (int i = first; i < last; ++i) { |read_src(x, y, i) - |35355339f|"
      "odd, tile + x, 0, to + |fetch_src(p + next * |); }\nif (c|typedef |vec16;\ntypedef |"
      "vec16(...) ((|t((int4)(0), (|GROUP_BARRIER(|te__((|tanh_of(|3333|"
      "vec4 a, vec4 b) {\n  vec4 |vec4 b) {\n  ivec4 |tien|vec4(1.0f) / (|type|"
      "vec4(low)), vec4(high|vec16 wide|lanes_from|uniform highp |better|weights_s;\n    int o|"
      "weights_b - 1) * |valid|v = num_lanes_from(v, read_src(from_x, from_y, high), first |"
      "v : vec16(0.0f);\n|y = GLOBAL_X; int |batch = s / dst_s;\nint |"
      "v = num_with_lane(v, i, num_lane(read_src(|, 0.0f, 0.0f|y1 = min(y0|"
      "x0 = x * stride_x - before_x;\n    int |}\n    }\n    write_dst(v, x, y, s);\n|"
      "top = max(top, |x, y, s0);\n    if (s1 > s0|x, y, s1); }\n|vec4(0.0f);\n  vec4 |left = |"
      "x, y, last|top) * vec4(beta|, b * src_s + c";
};

}  // namespace quadra

#endif  // QUADRA_KERNEL_KERNEL_WORDS_H_
