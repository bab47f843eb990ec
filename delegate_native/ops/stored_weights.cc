// A word of 32 bits holds one channel's numbers for several inputs, or several columns of a table,
// the first in the lowest bits. Behind the words lie the biases and the scales, as floats' bits:
// one buffer less, of which OpenGL ES promises four. Scales that are halfs in the model lie so, two
// of a channel in a word: they are a tenth of a file of small blocks. Halfs of weights lie channel
// by channel for one input, or one column, and the biases behind them.
#include "delegate_native/ops/stored_weights.h"

#include <algorithm>
#include <cstring>

#include "delegate_native/base/content_hash.h"
#include "delegate_native/base/half.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/cpu_kernels.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/split_sums.h"

namespace quadra {
namespace {

// Rows that a work-item multiplies by a weight that it has unpacked: on a GPU with registers for
// them more, as taking a number off its word costs as much as three products.
constexpr int kRowsAtOnce = 4;
constexpr int kMostRowsAtOnce = 8;
constexpr int kMostLanes = 16;
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

// Whether the constant is halfs, many and in whole slices.
bool IsHalfs(const ConstantData& constant, int columns) {
  return constant && constant->stored_as_halfs() && columns % 4 == 0 &&
         constant->size() * 2 >= kLeastBytes;
}

// A matrix of integers as vectors of `lanes` rows: one for each word of them, bias, zero point, and
// scale of a part of these, or two scales. One of halfs has four vectors for a word, which is a
// slice there.
struct Matrix {
  ConstantData stored, bias;
  bool halfs, half_scales;
  int rows, lanes;
  int parts, words, blocks;  // of a row; of all rows
  int step;                  // between vectors: of the next rows

  Matrix(const ConstantData& constant, int all, int columns, int together)
      : stored(constant),
        halfs(constant->stored_as_halfs()),
        half_scales(!halfs && HasHalfScales(*constant)),
        rows(all),
        lanes(together),
        parts(halfs ? 1 : PartsOf(constant, columns)),
        words(columns / (halfs ? 4 : 32 / constant->stored_bits())),
        blocks(CeilDiv(all, together)),
        step(words) {}

  // The words of a row lie in one piece, or those of neighbours beside each other.
  int step_in() const { return step > 1 ? 1 : blocks; }
  int64_t numbers() const {
    const int64_t of_row = halfs ? int64_t{4} * words + (bias ? 1 : 0) : words + 2 + scale_words();
    return of_row * blocks * lanes;
  }
  // Whether a number of the file other than 0 stands for 0.
  bool has_zero() const {
    for (int row = 0; row < rows; ++row) {
      if (zero_of(row) != 0) return true;
    }
    return false;
  }
  size_t first_scale(int row) const {
    return static_cast<size_t>(row) * static_cast<size_t>(parts) % stored->scales().scales->size();
  }
  int zero_of(int row) const { return stored->signed_zero(first_scale(row)); }
  int scale_words() const { return half_scales ? CeilDiv(parts, 2) : parts; }
  int64_t bytes() const { return numbers() * (halfs ? 2 : 4); }

  // Rows of about a megabyte at a time: a table is half of a small language model.
  template <typename Use>
  void ForRows(const Use& use) const {
    const int of_file = halfs ? words * 2 : words;  // words of 32 bits
    const size_t row_words = static_cast<size_t>(of_file);
    const int most = std::max(1, (1 << 18) / of_file);
    for (int row = 0; row < rows; row += most) {
      const int count = std::min(most, rows - row);
      use(row, count, row_words,
          stored->SignedWords(static_cast<size_t>(row) * row_words,
                              static_cast<size_t>(count) * row_words));
    }
  }

  void AddSource(ContentHash* hash) const {
    for (const int number : {halfs         ? 1
                             : half_scales ? 2
                                           : 0,
                             rows, lanes, parts, words, step_in()}) {
      hash->Add(int64_t{number});
    }
    ForRows([hash](int, int, size_t, const std::vector<int32_t>& read) {
      hash->Add(read.data(), read.size() * sizeof(read[0]));
    });
    const Scales& scales = stored->scales();
    for (const ConstantData& one : {scales.scales, scales.zero_points, bias}) {
      hash->Add(int64_t{one != nullptr});
      if (one) one->AddTo(hash);
    }
    if (!halfs) hash->Add(int64_t{stored->signed_zero(0)});
    stored->GiveBack();
  }

  void Write(int32_t* to) const {
    ForRows([&](int row, int count, size_t row_words, const std::vector<int32_t>& read) {
      for (int i = 0; i < count; ++i) {
        const int32_t* const from = &read[static_cast<size_t>(i) * row_words];
        if (halfs) WriteHalfs(from, row + i, to);
        else WriteWords(from, row + i, to);
      }
    });
    if (halfs) return FinishHalfs(to);
    const SharedFloats biases = bias ? bias->floats() : nullptr;
    for (int row = 0; row < rows; ++row) WriteScales(row, biases, to);
    stored->GiveBack();
  }

  void WriteWords(const int32_t* from, int row, int32_t* to) const {
    const std::ptrdiff_t width = lanes, stride = width * step_in();
    to += row % lanes + row / lanes * width * step;
    for (int i = 0; i < words; ++i) to[i * stride] = from[i];
  }

  void WriteHalfs(const int32_t* from, int row, int32_t* to) const {
    const std::ptrdiff_t width = lanes, stride = 4 * width * step_in();
    const auto* const halfs_from = reinterpret_cast<const int16_t*>(from);
    int16_t* at = reinterpret_cast<int16_t*>(to) + row % lanes + row / lanes * width * step * 4;
    for (int i = 0; i < words; ++i, at += stride) {
      for (int c = 0; c < 4; ++c) at[c * width] = halfs_from[i * 4 + c];
    }
  }

  void FinishHalfs(int32_t* to) const {
    int16_t* const at = reinterpret_cast<int16_t*>(to) + int64_t{4} * words * blocks * lanes;
    if (bias) {
      const std::vector<int32_t> read = bias->SignedWords(0, (bias->size() + 1) / 2);
      memcpy(at, read.data(), bias->size() * sizeof(*at));
    }
    stored->GiveBack();
  }

  // With the bias and the zero point of the row.
  void WriteScales(int row, const SharedFloats& biases, int32_t* to) const {
    const Constant& scales = *stored->scales().scales;
    const std::ptrdiff_t width = lanes, next = width * blocks;
    const size_t count = static_cast<size_t>(parts);
    const size_t first = first_scale(row);
    to += row % lanes + (next * words + row / lanes * width);
    if (biases) memcpy(to, &(*biases)[static_cast<size_t>(row)], sizeof(*to));
    to += next;
    *to = zero_of(row);
    for (size_t k = 0; k < count; ++k) {
      if (half_scales) {
        to[next * static_cast<std::ptrdiff_t>(1 + k / 2)] |=
            int32_t{FloatToHalf(scales.at(first + k))} << k % 2 * 16;
        continue;
      }
      const float scale = scales.at(first + k);
      memcpy(to + next * static_cast<std::ptrdiff_t>(1 + k), &scale, sizeof(*to));
    }
  }

  // As vectors of `width` numbers.
  void AddTo(int width, KernelDesc* kernel) const {
    const auto write = [matrix = *this](int32_t* to) { matrix.Write(to); };
    const auto source = [matrix = *this](ContentHash* hash) { matrix.AddSource(hash); };
    kernel->Stored("m", width, numbers(), halfs, write, source);
    kernel->Int("blocks", blocks);
    if (!halfs) kernel->Int("parts", parts);
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

$sums$store)");
// Numbers are taken off a word from its highest bits on: one shift brings a number with its sign,
// another the next. So a word's slices of the source are read from the last to the first. Where the
// parts of a row have scales, few rows have sums of a part, and many, for which there are not
// enough registers, take weights times their scales.
constexpr const char* kIntegerSums = QUADRA_TEXT(R"(int at = blocks * ${parts:,parts *} words + o;
$if(zero) ivec$lanes zero = read_m(at + blocks);
$for(i, pixels) src_at q$i = along_src($column);
sum$lanes_t f;
$if(parts)
$for(i, pixels) sum$lanes_t a$i_0 = vec$lanes(0.0f);
for (int k = split; k < parts; k += splits) {
$end
int begin = ${parts:split,k * words}, end = ${parts:,begin +} words;
int from = o * step + begin * $next;
$if(scaled)
$scale
sum$lanes_t scale = f;
$end
src_at p = at_src(0, y, b * src_s + begin * $slices + ${slices-1});
$if(!scaled) $for(i, pixels) sum$lanes_t p$i = vec$lanes(0.0f);
for (int i = begin; i < end; i += ${parts:splits,1}) {
ivec$lanes w = read_m(from);
from += ${parts:splits *,} $next;
$for(n, slices)
{
$for(i, pixels) vec4 v$i = fetch_src(p + q$i);
$for(c, 4)
f = convert_float$lanes(${zero:w >> up,(w >> up) - zero}); w = w << bits;
$if(scaled) f = f * scale;
$for(i, pixels) ${scaled:p$i,a$i_0} += f * v$i.${c:w,z,y,x};
$end
}
$if(slices-1-n) p -= src_slice;
$end
p += src_slice * (${parts:splits *,} $slices + ${slices-1});
}
$if(!scaled) $scale
$if(parts) $if(!scaled) $for(i, pixels) a$i_0 += p$i * f;
$if(parts) }
$if(!parts) $for(i, pixels) sum$lanes_t a$i_0 = p$i * f;
$if(bias)
if (split == 0) {
f = as_float$lanes(read_m(at));
$for(i, pixels) a$i_0 += f;
}
$end
)");
constexpr const char* kFloatScale =
    QUADRA_TEXT("f = as_float$lanes(read_m(at + ${parts:2,(2 + k)} * blocks));\n");
constexpr const char* kHalfScales =
    QUADRA_TEXT("ivec$lanes h = read_m(at + (2 + k / 2) * blocks), e;\n");
constexpr const char* kHalfSums = QUADRA_TEXT(R"(
sum$lanes_t f;
$for(i, pixels) sum$lanes_t a$i_0 = vec$lanes(0.0f);
$if(bias)

if (split == 0) {
f = read_m(blocks * words * 4 + o);
$for(i, pixels) a$i_0 = f;
}
$end
for (int i = split; i < words; i += splits) {
int s = b * src_s + i, at = (o * step + i * (step > 1 ? 1 : blocks)) * 4;
$for(i, pixels) vec4 v$i = read_src($column, y, s);
$for(c, 4)

f = read_m(at + $c);
$for(i, pixels) a$i_0 += f * v$i.${c:x,y,z,w};
$end
}
)");
constexpr const char* kStore = QUADRA_TEXT(
    "$for(i, pixels) ${tiled:,if (x + $i < dst_w) }write_dst(a$i_0, $place, y, b * dst_s + o);\n");
constexpr RowVector kFourRows = {4, false, "", kStore};

// Where work-items share the sums.
constexpr const char* kStoreRow =
    QUADRA_TEXT("if (inside) { write_dst(sum, j, y, b * dst_s + o); }\n");
constexpr const char* kStoreTile =
    QUADRA_TEXT("if (inside && x + j < dst_w) { write_dst(sum, x + j, y, b * dst_s + o); }\n");

// `tiled`: the rows are several tiles of `pixels`, of which the last may go beyond the end.
std::string Body(const Matrix& matrix, int pixels, bool tiled, const RowVector& vector,
                 bool split) {
  Text text(kBody);
  text.Set("scale", matrix.half_scales ? kHalfScales + std::string(kHalfScale) : kFloatScale);
  text.Set("sums", matrix.halfs ? kHalfSums : kIntegerSums).Set("bias", matrix.bias != nullptr);
  const int bits = matrix.halfs ? 16 : matrix.stored->stored_bits();
  const bool parts = matrix.parts > 1;
  text.Set("bits", bits)
      .Set("slices", 8 / bits)
      .Set("parts", parts)
      .Set("scaled", parts && pixels > kRowsAtOnce)
      .Set("zero", !matrix.halfs && matrix.has_zero())
      .Set("next", matrix.step > 1 ? "1" : "blocks")
      .Set("pixels", pixels)
      .Set("tiled", tiled)
      .Set("split", split);
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

// Results without a pixel of their own are of a window in steps, or of padding.
bool HasOwnPixels(const Graph& graph, const Node& node) {
  if (node.op != "conv2d") return false;
  const Shape& weights = graph.shape(node.inputs[1]);
  const Shape& in = graph.shape(node.inputs[0]);
  const Shape& out = graph.shape(node.outputs[0]);
  return weights.h * weights.w == 1 && weights.c == in.c && out.h == in.h && out.w == in.w;
}

// Halfs of a product, and of its biases if there are any.
bool IsOfHalfs(const Graph& graph, const Node& node) {
  const Value& weights = graph.value(node.inputs[1]);
  const Shape& in = graph.shape(node.inputs[0]);
  if (in.b * in.h != 1 || !IsHalfs(weights.constant, in.c)) return false;
  if (node.inputs.size() == 2) return true;
  const ConstantData& bias = graph.value(node.inputs[2]).constant;
  return bias && bias->stored_as_halfs();
}

}  // namespace

bool HasHalfScales(const Constant& table) { return table.scales().scales->stored_as_halfs(); }

// Without the language's own halfs, which drivers may take small ones of for 0. (e + 31) >> 5 is 1
// but for these, which have the exponent of the smallest others.
const char* const kHalfScale = QUADRA_TEXT(R"(h = h >> (k % 2 * 16);
e = h >> 10 & 31;
h = ((h & 1023) + ((e + 31) >> 5) * 1024) * (1 - (h >> 14 & 2));
f = convert_float$lanes(h) * as_float$lanes((e + 103 - ((e + 31) >> 5)) << 23);
)");

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

bool KeepsStored(const Graph& graph, const Node& node) {
  if (!HasOwnPixels(graph, node)) return false;
  const Value& weights = graph.value(node.inputs[1]);
  const Shape& in = graph.shape(node.inputs[0]);
  if (IsOfHalfs(graph, node)) return true;
  return PartsOf(weights.constant, in.c) > 0 &&
         (int64_t{in.b} * in.h * in.w <= kRowsAtOnce || IsLarge(*weights.constant, in));
}

bool AddStoredProduct(const KernelContext& context, const Graph& graph, const Node& node,
                      KernelList* list) {
  if (!KeepsStored(graph, node)) return false;
  const GpuInfo& gpu = *context.gpu;
  const Value& weights = graph.value(node.inputs[1]);
  if (weights.constant->stored_as_halfs() && StoresHalf(context.precision)) return false;
  const Shape& in = graph.shape(node.inputs[0]);
  const RowVector* const own = CpuKernelsFor(gpu).integer_rows;
  const RowVector& vector = own ? *own : kFourRows;
  // Each row has a vector of sums and one of its numbers; weights and places take eight.
  const int most = own ? 0 : (gpu.vector_registers - 8) / 2;
  const int at_once = std::max(kRowsAtOnce, std::min(most, kMostRowsAtOnce));
  const int row_tiles = CeilDiv(in.w, at_once), tiles = row_tiles * in.h;
  const int pixels = CeilDiv(in.w, row_tiles);
  int split_bits;
  Matrix matrix =
      PackedFor(gpu, weights.constant, weights.shape.b, in.c, tiles, in.h * in.b, &split_bits);
  if (node.inputs.size() > 2) matrix.bias = graph.value(node.inputs[2]).constant;
  if (matrix.words > kMostTrips || matrix.bytes() > gpu.max_buffer_bytes) return false;
  KernelDesc& kernel = list->Add("matvec");
  kernel.Read("src", node.inputs[0]);
  kernel.Write("dst", node.outputs[0]);
  matrix.AddTo(matrix.lanes, &kernel);
  kernel.Int("tiles", tiles);
  if (row_tiles > 1) kernel.Int("row_tiles", row_tiles);
  kernel.trips = matrix.words;
  kernel.body = Body(matrix, pixels, row_tiles > 1, vector, split_bits > 0);
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

Table TableOf(const KernelContext& context, const ConstantData& table, const Shape& rows) {
  if (rows.b * rows.h != 1) return Table::kFloats;
  if (PartsOf(table, rows.c) > 0) return Table::kIntegers;
  const int64_t bytes = int64_t{AlignUp(rows.w, kMostLanes)} * rows.c * 2;
  return IsHalfs(table, rows.c) && !StoresHalf(context.precision) &&
                 bytes <= context.gpu->max_buffer_bytes
             ? Table::kHalfs
             : Table::kFloats;
}

void AddTable(const KernelContext& context, const ConstantData& table, const Shape& rows,
              KernelDesc* kernel) {
  int split_bits;
  const Matrix matrix = PackedFor(*context.gpu, table, rows.w, rows.c, 1, 1, &split_bits);
  matrix.AddTo(matrix.halfs ? 4 : 1, kernel);
  kernel->Int("rows", matrix.rows);
  kernel->Int("lanes", matrix.lanes);
  if (!matrix.halfs) kernel->Int("bits", table->stored_bits());
}

}  // namespace quadra
