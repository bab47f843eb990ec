// RFFT2D: the discrete Fourier transform of rows, cut off or filled up with zeros to a power of two
// of numbers; half of it, for the other half is its mirror image. IMAG, REAL, COMPLEX_ABS: of what
// it makes. A row is a pixel of a convolution with cosines and sines: two complex numbers lie in
// four channels (base/element.h).
#include <utility>

#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/conv_kernels.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

constexpr int kMostLength = 2048;  // 16 MB of cosines and sines

// Parts of the numbers that a row of so many has.
int PartsOf(int length) { return length / 2 * 2 + 2; }

// The first row of each plane, and of that no more than so many. Where these are all, a pass takes
// the slice out.
ValueId FirstNumbers(Importer* importer, ValueId src, int length) {
  const size_t rank = static_cast<size_t>(importer->InputRank(0));
  std::vector<int> end(rank);
  end[rank - 2] = 1;
  end[rank - 1] = length;
  Attributes first;
  first.SetInts("begin", std::vector<int>(rank));
  first.SetInts("end", std::move(end));
  first.SetInts("strides", std::vector<int>(rank, 1));
  first.SetInt("end_mask", (1 << (rank - 2)) - 1);
  return importer->AddInnerNode("strided_slice", {src}, std::move(first));
}

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  std::vector<int> size;
  QUADRA_RETURN_IF_ERROR(importer->ConstantInts(1, &size));
  if (size.size() != 2 || importer->InputRank(0) < 2) {
    return InvalidModel("its size is %zu numbers, its input has rank %d", size.size(),
                        importer->InputRank(0));
  }
  const int length = size[1];
  if (size[0] != 1 || length < 1 || length > kMostLength || (length & (length - 1)) != 0) {
    return Unsupported(
        "its transform is of %d rows of %d numbers; one row of a power of two up to %d is "
        "supported",
        size[0], length, kMostLength);
  }
  Attributes attributes;
  attributes.SetInt("length", length);
  const ValueId first = FirstNumbers(importer, src, length);
  return importer->AddNode("rfft2d", {first}, std::move(attributes));
}

Status InferShape(Graph* graph, const Node& node) {
  QUADRA_RETURN_IF_ERROR(SameShape(graph, node));
  graph->value(node.outputs[0]).shape.c = PartsOf(node.attributes.Int("length"));
  return Status();
}

// Cosines of an n-th of a circle and its multiples, n a multiple of four, by the series around 0,
// which is exact to 1e-11 up to half a circle.
std::vector<double> Cosines(int n) {
  constexpr double kCircle = 6.283185307179586;
  std::vector<double> cosines(static_cast<size_t>(n), 1.0);
  for (int i = 1; i < n; ++i) {
    if (i % (n / 2) == n / 4) {
      cosines[static_cast<size_t>(i)] = 0.0;
      continue;
    }
    const double angle = kCircle / n * (2 * i > n ? n - i : i);
    double term = 1.0;
    for (int k = 1; k < 26; k += 2) {
      term *= -angle * angle / (k * (k + 1));
      cosines[static_cast<size_t>(i)] += term;
    }
  }
  return cosines;
}

// A row for each part of a result, of as many columns as the source has.
SharedFloats Waves(int length, int columns) {
  const int quarters = 4 * length;  // so that a sine is a cosine at another place
  const std::vector<double> cosines = Cosines(quarters);
  const int parts = PartsOf(length);
  std::vector<float> waves(static_cast<size_t>(parts) * static_cast<size_t>(columns));
  for (int part = 0; part < parts; ++part) {
    float* row = waves.data() + std::ptrdiff_t{part} * columns;
    for (int i = 0; i < columns; ++i) {
      // -sin(a) is cos(a + a quarter).
      const int at = part / 2 * i * 4 + part % 2 * length;
      row[i] = static_cast<float>(cosines[static_cast<size_t>(at % quarters)]);
    }
  }
  return Share(std::move(waves));
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  Conv conv = ConvOf(graph, node, "rfft2d", list);
  conv.weights = [length = node.attributes.Int("length"), columns = conv.in.c] {
    return Waves(length, columns);
  };
  conv.plane_as_row = true;
  KernelContext floats = context;
  floats.float_sums = true;
  AddConv(floats, conv, list);
  return Status();
}

// Which numbers an op makes of complex ones.
enum ComplexPart { kReal, kImaginary, kAbsolute };

Status ImportPart(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src, kComplex));
  const int code = importer->builtin();
  Attributes attributes;
  attributes.SetInt("part", code == kTfLiteBuiltinReal   ? kReal
                            : code == kTfLiteBuiltinImag ? kImaginary
                                                         : kAbsolute);
  return importer->AddNode("complex_part", {src}, std::move(attributes));
}

Status InferNumbers(Graph* graph, const Node& node) {
  QUADRA_RETURN_IF_ERROR(SameShape(graph, node));
  graph->value(node.outputs[0]).shape.c /= 2;
  return Status();
}

// Squares of numbers beside the larger part, so that none is beyond floats.
constexpr const char* kPixel = QUADRA_TEXT(R"(
int batch = s / dst_s;
int slice = (s - batch * dst_s) * 2;
sum4_t a = read_src(x, y, batch * src_s + slice);
sum4_t b = read_src(x, y, batch * src_s + min(slice + 1, src_s - 1));
$if(real) sum4_t v = vec4(a.x, a.z, b.x, b.z);
$if(imag) sum4_t v = vec4(a.y, a.w, b.y, b.w);
$if(abs)
sum4_t v = vec4(a.x, a.z, b.x, b.z);
sum4_t w = vec4(a.y, a.w, b.y, b.w);
sum4_t unit = clamp(max(magnitude(v), magnitude(w)), vec4(1e-18f), vec4(1e36f));
v /= unit;
w /= unit;
v = sqrt(v * v + w * w) * unit;
$end
write_dst(v, x, y, s);
)");

Status PartKernels(const KernelContext& context, const Graph& graph, const Node& node,
                   KernelList* list) {
  const Shape& shape = graph.shape(node.outputs[0]);
  KernelDesc& desc = list->Add("complex_part");
  desc.Read("src", node.inputs[0]);
  desc.Write("dst", node.outputs[0]);
  Text text(kPixel);
  const int part = node.attributes.Int("part");
  text.Set("real", part == kReal).Set("imag", part == kImaginary).Set("abs", part == kAbsolute);
  const std::string pixel = text;
  LoopOverResults(context, shape, "", pixel.c_str(), &desc);
  return Status();
}

}  // namespace

extern const Op kRfft2dOp;
const Op kRfft2dOp = {
    .name = "rfft2d",
    .builtins = {kTfLiteBuiltinRfft2d, -1},
    .max_version = 1,
    .attributes = QUADRA_TEXT("length"),
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .result = Result::kDeclared,
    .max_rank = kMostRank,
};

extern const Op kComplexPartOp;
const Op kComplexPartOp = {
    .name = "complex_part",
    .builtins = {kTfLiteBuiltinReal, kTfLiteBuiltinImag, kTfLiteBuiltinComplexAbs, -1},
    .max_version = 1,
    .attributes = QUADRA_TEXT("part"),
    .import = ImportPart,
    .shape = InferNumbers,
    .kernels = PartKernels,
    .result = Result::kDeclared,
    .max_rank = kMostRank,
};

}  // namespace quadra
