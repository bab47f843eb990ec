#include "delegate_native/plan/io_kernels.h"

#include "delegate_native/ops/unroll.h"

namespace quadra {
namespace {

// CPU-shaped: a work-item does a row; GPU-shaped: one pixel of one slice. `tensor` names the one
// whose sizes rule.
void Shaped(const KernelContext& context, const Shape& shape, const std::string& tensor,
            const std::string& pixel, KernelDesc* kernel) {
  const std::string batch =
      "int b = s / " + tensor + "_s; int c = (s - b * " + tensor + "_s) * 4;\n";
  const std::string row =
      "((b * " + tensor + "_h + y) * " + tensor + "_w + x) * " + tensor + "_c + c";
  const std::string guard = "if (y >= " + tensor + "_h || s >= " + tensor + "_s * " + tensor + "_b";
  if (context.gpu->is_cpu()) {
    kernel->body =
        "int y = GLOBAL_X; int s = GLOBAL_Y;\n" + guard + ") { return; }\n" + batch +
        Block("for (int x = 0; x < " + tensor + "_w; ++x)", "int i = " + row + ";\n" + pixel);
    kernel->Grid(shape.h, shape.slices() * shape.b, 1);
  } else {
    kernel->body = "int x = GLOBAL_X; int y = GLOBAL_Y; int s = GLOBAL_Z;\n" + guard +
                   " || x >= " + tensor + "_w) { return; }\n" + batch + "int i = " + row + ";\n" +
                   pixel;
    kernel->Grid(shape.w, shape.h, shape.slices() * shape.b);
    kernel->Group(8, 4, 1);
  }
}

}  // namespace

KernelDesc ToSlices(const KernelContext& context, const Shape& shape, int dense, int slices,
                    const Node* dequantize) {
  KernelDesc kernel(dequantize ? "dequantize" : "to_slices");
  kernel.Read("src", dense);
  kernel.Write("dst", slices);
  const std::string type = dequantize ? "ivec4" : "num4";
  std::string value = "v";
  if (dequantize) {
    value = "(to_float(v) - vec4(zero)) * vec4(scale)";
    for (const char* name : {"zero", "scale"}) {
      kernel.Float(name, dequantize->attributes.Float(name));
    }
  }
  Shaped(context, shape, "dst",
         type + " v = " + type +
             "(read_src(i), 0, 0, 0);\n"
             "if (c + 1 < dst_c) { v.y = read_src(i + 1); }\n"
             "if (c + 2 < dst_c) { v.z = read_src(i + 2); }\n"
             "if (c + 3 < dst_c) { v.w = read_src(i + 3); }\n"
             "write_dst(" +
             value + ", x, y, s);\n",
         &kernel);
  return kernel;
}

KernelDesc FromSlices(const KernelContext& context, const Shape& shape, int slices, int dense) {
  KernelDesc kernel("from_slices");
  kernel.Read("src", slices);
  kernel.Write("dst", dense);
  if (context.gpu->is_cpu()) {
    // All channels of a pixel before the next: what is written follows on itself.
    kernel.body = R"(
int y = GLOBAL_X; int b = GLOBAL_Y;
if (y >= src_h || b >= src_b) { return; }
int i = (b * src_h + y) * src_w * src_c;
for (int x = 0; x < src_w; ++x) {
int c = 0;
for (; c + 4 <= src_c; c += 4, i += 4) {
num4 v = read_src(x, y, b * src_s + c / 4);
write_dst(v.x, i); write_dst(v.y, i + 1); write_dst(v.z, i + 2); write_dst(v.w, i + 3);
}
if (c < src_c) {
num4 v = read_src(x, y, b * src_s + c / 4);
for (; c < src_c; ++c, ++i) { write_dst(v.x, i); v = v.yzww; }
}
}
)";
    kernel.Grid(shape.h, shape.b, 1);
    return kernel;
  }
  Shaped(context, shape, "src",
         "num4 v = read_src(x, y, s);\n"
         "write_dst(v.x, i);\n"
         "if (c + 1 < src_c) { write_dst(v.y, i + 1); }\n"
         "if (c + 2 < src_c) { write_dst(v.z, i + 2); }\n"
         "if (c + 3 < src_c) { write_dst(v.w, i + 3); }\n",
         &kernel);
  return kernel;
}

}  // namespace quadra
