// A word of 32 bits holds one channel's numbers for several inputs, or several columns of a table,
// the first in the lowest bits. Behind the words lie the floats, as their bits: one buffer less,
// of which OpenGL ES promises four.
#include "delegate_native/ops/integer_weights.h"

#include <algorithm>
#include <cstring>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/split_sums.h"

namespace quadra {
namespace {

// Rows that a work-item multiplies by a weight that it has unpacked.
constexpr int kRowsAtOnce = 4;
// Smaller weights of more rows are worth floats, which take less time and little memory.
constexpr size_t kLeastBytes = 1 << 16;

// How many parts of a row have a scale each; 0 where the constant is of another kind, or where rows
// or parts end within a word.
int PartsOf(const ConstantData& constant, int columns) {
  const int bits = constant ? constant->stored_bits() : 0;
  if (bits == 0 || columns % (32 / bits) != 0) return 0;
  const Scales& scales = constant->scales();
  const int stride = scales.scales->size() == 1 ? columns : static_cast<int>(scales.stride);
  return columns % stride == 0 && stride % (32 / bits) == 0 ? columns / stride : 0;
}

// A matrix of integers as vectors of `lanes` rows: one for each word of them, scale of a part of
// these, bias, and zero point.
struct Matrix {
  ConstantData stored, bias;
  int rows, lanes;
  int parts, words, blocks;  // of a row; of all rows
  int step;                  // between vectors: of the next rows

  Matrix(const ConstantData& constant, int all, int columns, int together)
      : stored(constant),
        rows(all),
        lanes(together),
        parts(PartsOf(constant, columns)),
        words(columns / (32 / constant->stored_bits())),
        blocks(CeilDiv(all, together)),
        step(words) {}

  // The words of a row lie in one piece, or those of neighbours beside each other.
  int step_in() const { return step > 1 ? 1 : blocks; }
  int64_t numbers() const { return int64_t{blocks} * (words + parts + 2) * lanes; }

  // Rows of about a megabyte at a time: a table is half of a small language model.
  void Write(int32_t* to) const {
    const size_t row_words = static_cast<size_t>(words);
    const int most = std::max(1, (1 << 18) / words);
    for (int row = 0; row < rows; row += most) {
      const int count = std::min(most, rows - row);
      const std::vector<int32_t> read = stored->SignedWords(static_cast<size_t>(row) * row_words,
                                                            static_cast<size_t>(count) * row_words);
      for (int i = 0; i < count; ++i) {
        WriteWords(&read[static_cast<size_t>(i) * row_words], row + i, to);
      }
    }
    const SharedFloats biases = bias ? bias->floats() : nullptr;
    for (int row = 0; row < rows; ++row) WriteFloats(row, biases, to);
    stored->GiveBack();
  }

  void WriteWords(const int32_t* from, int row, int32_t* to) const {
    const std::ptrdiff_t width = lanes, stride = width * step_in();
    to += row % lanes + row / lanes * width * step;
    for (int i = 0; i < words; ++i) to[i * stride] = from[i];
  }

  void WriteFloats(int row, const SharedFloats& biases, int32_t* to) const {
    const Constant& scales = *stored->scales().scales;
    const std::ptrdiff_t width = lanes;
    to += row % lanes + (width * blocks * words + row / lanes * width);
    const size_t first = static_cast<size_t>(row) * static_cast<size_t>(parts) % scales.size();
    for (int k = 0; k < parts; ++k, to += blocks * width) {
      const float scale = scales.at(first + static_cast<size_t>(k));
      memcpy(to, &scale, sizeof(*to));
    }
    if (biases) memcpy(to, &(*biases)[static_cast<size_t>(row)], sizeof(*to));
    to[blocks * width] = stored->signed_zero(first);
  }

  // As vectors of `width` numbers.
  void AddTo(int width, KernelDesc* kernel) const {
    kernel->Ints("m", width, numbers(), [matrix = *this](int32_t* to) { matrix.Write(to); });
    kernel->Int("blocks", blocks);
    kernel->Int("parts", parts);
    kernel->Int("words", words / parts);
    kernel->Int("step", step);
  }
};

// Work-items of a group share the parts of a row, or its words where these are one part.
constexpr const char* kBody = QUADRA_TEXT(R"(${types}const int bits = $bits, up = ${32-bits};
$if(split)

int o = min(z, blocks - 1), t = min(GLOBAL_X, tiles - 1), b = GLOBAL_Y;
bool inside = z < blocks && GLOBAL_X < tiles;
$end
$if(!split)

int o = GLOBAL_${turned:X,Y}, t = GLOBAL_${turned:Y,X}, b = GLOBAL_Z;
if (o >= blocks || t >= tiles || b >= dst_b) { return; }
const int split = 0, splits = 1;
$end
$if(tiled) int y = t / row_tiles, x = (t - y * row_tiles) * $pixels;
$if(!tiled) int y = t;

int by_part = parts > 1 ? splits : 1, by_word = parts > 1 ? 1 : splits;
int at = blocks * parts * words + o;
sum$lanes_t f;
ivec$lanes zero = read_m(at + (parts + 1) * blocks);
$for(i, pixels) sum$lanes_t p$i, a$i_0 = as_float$lanes(read_m(at + parts * blocks));
$for(i, pixels) if (split > 0) { a$i_0 = vec$lanes(0.0f); }
for (int k = split & (by_part - 1); k < parts; k += by_part) {
$for(i, pixels) p$i = vec$lanes(0.0f);
for (int i = split & (by_word - 1); i < words; i += by_word) {
int word = k * words + i, s = b * src_s + word * (8 / bits);
ivec$lanes q = read_m(o * step + word * (step > 1 ? 1 : blocks));
for (int n = 0; n < 32; n += bits * 4, ++s) {
$for(i, pixels) vec4 v$i = read_src($column, y, s);
$for(c, 4)

f = convert_float$lanes((q << up >> up) - zero); q = q >> bits;
$for(i, pixels) p$i += f * v$i.${c:x,y,z,w};
$end
}
}
f = as_float$lanes(read_m(at + k * blocks));
$for(i, pixels) a$i_0 += p$i * f;
}
$store)");
constexpr const char* kStore = QUADRA_TEXT(
    "$for(i, pixels) ${tiled:,if (x + $i < dst_w) }write_dst(a$i_0, $place, y, b * dst_s + o);\n");
constexpr RowVector kFourRows = {4, false, "", kStore};

// Where work-items share the sums.
constexpr const char* kStoreRow =
    QUADRA_TEXT("if (inside) { write_dst(sum, j, y, b * dst_s + o); }\n");
constexpr const char* kStoreTile =
    QUADRA_TEXT("if (inside && x + j < dst_w) { write_dst(sum, x + j, y, b * dst_s + o); }\n");

// `tiled`: the rows are several tiles of `pixels`, of which the last may go beyond the end.
std::string Body(int bits, int pixels, bool tiled, const RowVector& vector, bool split) {
  Text text(kBody);
  text.Set("bits", bits).Set("pixels", pixels).Set("tiled", tiled).Set("split", split);
  text.Set("column", tiled ? "min(x + $i, dst_w - 1)" : "$i").Set("place", tiled ? "x + $i" : "$i");
  text.Set("turned", vector.tiles_first).Set("types", vector.types).Set("lanes", vector.rows);
  text.Set("store", split ? FinishSplit(pixels, 1, tiled ? kStoreTile : kStoreRow) : vector.store);
  return text.str();
}

// Whether many rows are worth the unpacking: of a product alone, not of an image's pixels.
bool IsLarge(const Constant& weights, const Shape& rows) {
  return rows.b * rows.h == 1 &&
         weights.size() * static_cast<size_t>(weights.stored_bits()) / 8 >= kLeastBytes;
}

}  // namespace

// As a product by one row, or by one tile of rows, reads it: the same weights are packed alike
// whatever the rows are, and for who reads a table's rows, and are shared.
Matrix PackedFor(const GpuInfo& gpu, const ConstantData& weights, int rows, int columns, int tiles,
                 int items, int* split_bits) {
  const RowVector* const own = CpuKernelsFor(gpu).integer_rows;
  Matrix matrix(weights, rows, columns, (own ? own : &kFourRows)->rows);
  // Parts are shared as they are, whatever their words.
  const int steps = std::min(matrix.words, matrix.parts > 1 ? 4 * matrix.parts : matrix.words);
  *split_bits = SplitBits(gpu, int64_t{matrix.blocks} * items, tiles, steps);
  // Neighbours read neighbours; who goes through a row alone, or its group, finds it in one piece.
  if (gpu.runs_items_together() && *split_bits == 0) matrix.step = 1;
  return matrix;
}

bool KeepsIntegers(const Graph& graph, const Node& node) {
  if (node.op != "conv2d") return false;
  const Value& weights = graph.value(node.inputs[1]);
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  // Results without a pixel of their own are of a window in steps, or of padding.
  return weights.shape.h * weights.shape.w == 1 && weights.shape.c == in.c && out.h == in.h &&
         out.w == in.w && PartsOf(weights.constant, in.c) > 0 &&
         (int64_t{in.b} * in.h * in.w <= kRowsAtOnce || IsLarge(*weights.constant, in));
}

bool AddIntegerProduct(const KernelContext& context, const Graph& graph, const Node& node,
                       KernelList* list) {
  if (!KeepsIntegers(graph, node)) return false;
  const GpuInfo& gpu = *context.gpu;
  const Value& weights = graph.value(node.inputs[1]);
  const Shape& in = graph.shape(node.inputs[0]);
  const RowVector* const own = CpuKernelsFor(gpu).integer_rows;
  const RowVector& vector = own ? *own : kFourRows;
  const int row_tiles = CeilDiv(in.w, kRowsAtOnce), tiles = row_tiles * in.h;
  const int pixels = CeilDiv(in.w, row_tiles);
  int split_bits;
  Matrix matrix =
      PackedFor(gpu, weights.constant, weights.shape.b, in.c, tiles, in.h * in.b, &split_bits);
  if (node.inputs.size() > 2) matrix.bias = graph.value(node.inputs[2]).constant;
  if (matrix.words > kMostTrips || matrix.numbers() * 4 > gpu.max_buffer_bytes) return false;
  KernelDesc& kernel = list->Add("matvec");
  kernel.Read("src", node.inputs[0]);
  kernel.Write("dst", node.outputs[0]);
  matrix.AddTo(matrix.lanes, &kernel);
  kernel.Int("tiles", tiles);
  if (row_tiles > 1) kernel.Int("row_tiles", row_tiles);
  kernel.trips = matrix.words;
  kernel.body = Body(matrix.stored->stored_bits(), pixels, row_tiles > 1, vector, split_bits > 0);
  if (split_bits > 0) {
    kernel.Grid(tiles, in.b, matrix.blocks);
    AddSplit(split_bits, pixels, &kernel);
    return true;
  }
  if (vector.tiles_first) kernel.Grid(tiles, matrix.blocks, in.b);
  else kernel.Grid(matrix.blocks, tiles, in.b);
  SetGroup(gpu, &kernel);
  return true;
}

bool KeepsIntegers(const ConstantData& table, const Shape& rows) {
  return rows.b * rows.h == 1 && PartsOf(table, rows.c) > 0;
}

void AddIntegerTable(const GpuInfo& gpu, const ConstantData& table, const Shape& rows,
                     KernelDesc* kernel) {
  int split_bits;
  const Matrix matrix = PackedFor(gpu, table, rows.w, rows.c, 1, 1, &split_bits);
  matrix.AddTo(1, kernel);
  kernel->Int("rows", matrix.rows);
  kernel->Int("lanes", matrix.lanes);
  kernel->Int("bits", table->stored_bits());
}

}  // namespace quadra
