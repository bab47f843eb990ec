// DYNAMIC_UPDATE_SLICE: a tensor with a part of it replaced, from a computed place on, which is
// moved so far that the part lies inside. And SLICE from such a place on.
#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/axes.h"
#include "delegate_native/ops/composites.h"
#include "delegate_native/ops/grid.h"

namespace quadra {
namespace {

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(3, 3));
  std::vector<ValueId> values(3);
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &values[0], kAllElements));
  QUADRA_RETURN_IF_ERROR(importer->Operand(1, &values[1], kAllElements));
  QUADRA_RETURN_IF_ERROR(importer->Operand(2, &values[2], kInts | Only(Element::kInt64)));
  QUADRA_RETURN_IF_ERROR(importer->CheckAlike({values[0], values[1]}));
  return importer->AddNode("dynamic_update_slice", std::move(values), {});
}

Status InferShape(Graph* graph, const Node& node) {
  const Value& whole = graph->value(node.inputs[0]);
  const Value& part = graph->value(node.inputs[1]);
  const Value& start = graph->value(node.inputs[2]);
  if (whole.rank != part.rank || start.shape.elements() != whole.rank) {
    return InvalidModel("it puts rank %d into rank %d at %lld places", part.rank, whole.rank,
                        static_cast<long long>(start.shape.elements()));
  }
  for (int axis = 0; axis < 4; ++axis) {
    if (part.shape.axis(axis) > whole.shape.axis(axis)) {
      return InvalidModel("%s does not fit into %s", ToString(part.shape).c_str(),
                          ToString(whole.shape).c_str());
    }
  }
  return SameShape(graph, node);
}

Status InferSlice(Graph* graph, const Node& node) {
  const Value& whole = graph->value(node.inputs[0]);
  const std::vector<int>& size = node.attributes.Ints("end");
  Value& out = graph->value(node.outputs[0]);
  const int rank = whole.rank;
  if (static_cast<int>(size.size()) != rank || graph->shape(node.inputs[1]).elements() != rank) {
    return InvalidModel("it takes %zu sizes of rank %d", size.size(), rank);
  }
  out.rank = rank;
  out.shape = ShapeOf(size.data(), rank);
  for (int axis = 0; axis < 4; ++axis) {
    const int n = out.shape.axis(axis);
    if (n < 1 || n > whole.shape.axis(axis)) {
      return Unsupported("it takes %d of %d from a computed place on", n, whole.shape.axis(axis));
    }
  }
  return Status();
}

// The starts are the lanes of one pixel, in the order of the model's axes: `rank` of them.
constexpr const char* kStart = QUADRA_TEXT(R"(
    int batch = s / $depth;
    int first = (s - batch * $depth) * 4;
    ivec4 at = read_start(0, 0, 0);
    ivec4 room = ivec4(${whole}_b - ${part}_b, ${whole}_h - ${part}_h, ${whole}_w - ${part}_w, ${whole}_c - ${part}_c);
    int from_c = min(max(int_lane(at, rank - 1), 0), room.w);
    int from_x = rank > 1 ? min(max(int_lane(at, rank - 2), 0), room.z) : 0;
    int from_y = rank > 2 ? min(max(int_lane(at, rank - 3), 0), room.y) : 0;
    int from_b = rank > 3 ? min(max(at.x, 0), room.x) : 0;
)");
constexpr const char* kSlice = QUADRA_TEXT(R"(
    num4 v = num4(0);
    for (int i = 0; i < 4; ++i) {
      int c = min(first + from_c + i, src_c - 1);
      v = num_with_lane(v, i, num_lane(read_src(x + from_x, y + from_y, (batch + from_b) * src_s + c / 4), c % 4));
    }
    write_dst(v, x, y, s);
)");
constexpr const char* kUpdate = QUADRA_TEXT(R"(
    num4 v = read_src(x, y, s);
    int part_x = x - from_x;
    int part_y = y - from_y;
    int in_batch = batch - from_b;
    if (part_x >= 0 && part_x < part_w && part_y >= 0 && part_y < part_h && in_batch >= 0 &&
        in_batch < part_b) {
      for (int i = 0; i < 4; ++i) {
        int c = first + i - from_c;
        if (c >= 0 && c < part_c) {
          v = num_with_lane(v, i, num_lane(read_part(part_x, part_y, in_batch * part_s + c / 4), c % 4));
        }
      }
    }
    write_dst(v, x, y, s);
)");

// The rest of a dense result is there already.
constexpr const char* kInPlace = QUADRA_TEXT(R"(
    num4 v = read_part(x, y, s);
    int i = (((batch + from_b) * dst_h + y + from_y) * dst_w + x + from_x) * dst_c + first + from_c;
    write_dst(v.x, i);
    if (first + 1 < part_c) { write_dst(v.y, i + 1); }
    if (first + 2 < part_c) { write_dst(v.z, i + 2); }
    if (first + 3 < part_c) { write_dst(v.w, i + 3); }
)");

// The same of bytes, which are written four at once: those beside the part as they were. Nobody
// else writes them, as rows are whole fours.
constexpr const char* kInPlaceOfBytes = QUADRA_TEXT(R"(
    int to = (from_c & ~3) + first;
    if (to < from_c + part_c) {
      int place = (((batch + from_b) * dst_h + y + from_y) * dst_w + x + from_x) * dst_c + to;
      int word = 0;
      for (int i = 0; i < 4; ++i) {
        int c = to + i - from_c;
        int stored = read_old(place + i);
        if (c >= 0 && c < part_c) {
          ivec4 v = $value;
          stored = int_lane(v, c % 4);
        }
        word = word | ((stored & 255) << (8 * i));
      }
      write_dst(word, place / 4);
    }
)");
constexpr const char* kOfBytes = QUADRA_TEXT("read_part(x, y, batch * part_s + c / 4)");
constexpr const char* kOfFloats = QUADRA_TEXT(
    "to_int(requantize(read_part(x, y, batch * part_s + c / 4), inverse, 1.0f, low, high)) + "
    "to_int(vec4(zero))");

// The same of a part whose numbers lie in one pixel, in its order.
constexpr const char* kInPlaceOfPixel = QUADRA_TEXT(R"(
    num4 v = read_src(x, y, s);
    for (int i = 0; i < 4; ++i) {
      int n = first + i;
      int p = n / part_c;
      int q = p / part_w;
      int r = q / part_h;
      int to = (((r + from_b) * dst_h + q - r * part_h + from_y) * dst_w + p - q * part_w + from_x) * dst_c + n - p * part_c + from_c;
      if (n < src_c) { write_dst(num_lane(v, i), to); }
    }
)");

Status InPlaceOfPixel(const KernelContext& context, const Graph& graph, const Node& node,
                      const std::vector<int>& part, KernelList* list) {
  KernelDesc& desc = list->Add("update_in_place");
  desc.Read("src", node.inputs[1]);
  desc.Read("start", node.inputs[2]);
  desc.WriteDense("dst", node.outputs[0]);
  desc.Int("rank", graph.value(node.outputs[0]).rank);
  constexpr const char* kSizes[] = {"part_b", "part_h", "part_w", "part_c"};
  for (size_t i = 0; i < 4; ++i) desc.Int(kSizes[i], part[i]);
  const std::string pixel =
      Text(kStart).Set("part", "part").Set("whole", "dst").Set("depth", "src_s").str() +
      kInPlaceOfPixel;
  Loops loops = {{"src_w", "src_h", "src_s * src_b"}, "", pixel.c_str()};
  LoopOver(context, 1, 1, graph.shape(node.inputs[1]).slices(), loops, &desc);
  return Status();
}

Status InPlaceOfBytes(const KernelContext& context, const Graph& graph, const Node& node,
                      KernelList* list) {
  const Shape& part = graph.shape(node.inputs[1]);
  KernelDesc& desc = list->Add("update_in_place");
  desc.ReadDense("old", node.inputs[0]);
  desc.Read("part", node.inputs[1]);
  desc.Read("start", node.inputs[2]);
  desc.WriteDense("dst", node.outputs[0]);
  desc.Int("rank", graph.value(node.outputs[0]).rank);
  const bool quantize = node.attributes.Has("scale");
  if (quantize) {
    for (const char* name : {"inverse", "zero", "low", "high"}) {
      desc.Float(name, node.attributes.Float(name));
    }
  }
  std::string pixel =
      Text(kStart).Set("part", "part").Set("whole", "dst").Set("depth", "(part_s + 1)");
  pixel += Text(kInPlaceOfBytes).Set("value", quantize ? kOfFloats : kOfBytes).str();
  // A part may begin and end within four.
  Loops loops = {{"part_w", "part_h", "(part_s + 1) * part_b"}, "", pixel.c_str()};
  LoopOver(context, part.w, part.h, (part.slices() + 1) * part.b, loops, &desc);
  return Status();
}

Status InPlaceKernels(const KernelContext& context, const Graph& graph, const Node& node,
                      KernelList* list) {
  if (node.attributes.Has("part")) {
    return InPlaceOfPixel(context, graph, node, node.attributes.Ints("part"), list);
  }
  if (context.LayoutOf(graph.value(node.outputs[0])).is_bytes()) {
    return InPlaceOfBytes(context, graph, node, list);
  }
  const Shape& part = graph.shape(node.inputs[1]);
  KernelDesc& desc = list->Add("update_in_place");
  desc.Read("part", node.inputs[1]);
  desc.Read("start", node.inputs[2]);
  desc.WriteDense("dst", node.outputs[0]);
  desc.Int("rank", graph.value(node.outputs[0]).rank);
  const std::string pixel =
      Text(kStart).Set("part", "part").Set("whole", "dst").Set("depth", "part_s").str() + kInPlace;
  Loops loops = {{"part_w", "part_h", "part_s * part_b"}, "", pixel.c_str()};
  LoopOver(context, part.w, part.h, part.slices() * part.b, loops, &desc);
  return Status();
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  const bool updates = node.inputs.size() > 2;
  if (graph.value(node.outputs[0]).dense) return InPlaceKernels(context, graph, node, list);
  KernelDesc& desc = list->Add(node.op.c_str());
  desc.Read("src", node.inputs[0]);
  if (updates) desc.Read("part", node.inputs[1]);
  desc.Read("start", node.inputs.back());
  desc.Write("dst", node.outputs[0]);
  desc.Int("rank", graph.value(node.inputs[0]).rank);
  std::string pixel =
      Text(kStart).Set("part", updates ? "part" : "dst").Set("whole", "src").Set("depth", "dst_s");
  pixel += updates ? kUpdate : kSlice;
  LoopOverResults(context, graph.shape(node.outputs[0]), "", pixel.c_str(), &desc);
  return Status();
}

// One of odml.cache_update's two caches, the keys or the values.
struct Cache {
  int time = 2, part_time = 2;  // axes along which the tokens lie: of the cache, of what is new
  ValueId whole = -1, part = -1, start = -1;
};

Status ReadTimeAxis(const FlexMap& attributes, const char* name, int* axis) {
  if (attributes.Has(name)) QUADRA_RETURN_IF_ERROR(attributes.Place(name, axis));
  return *axis == 2 || *axis == 3 ? Status() : Unsupported("its %s is %d", name, *axis);
}

// `first`: 0 of the keys, 1 of the values.
Status ReadCache(int first, int size, Importer* importer, Cache* cache) {
  Shape whole, part, start;
  int rank, part_rank, start_rank;
  QUADRA_RETURN_IF_ERROR(importer->InputShape(first + 3, &whole, &rank));
  QUADRA_RETURN_IF_ERROR(importer->InputShape(first, &part, &part_rank));
  QUADRA_RETURN_IF_ERROR(importer->InputShape(first + 5, &start, &start_rank));
  // Axis a of the model is axis a of a Shape, whose rank is 4.
  const int tokens = part.axis(cache->part_time), depth = part.axis(5 - cache->part_time);
  if (rank != 4 || part_rank != 4 || start.elements() != 4 || whole.axis(cache->time) != size ||
      whole.axis(5 - cache->time) != depth || tokens > size || whole.h != part.h ||
      whole.b != part.b) {
    return Unsupported("the shapes of its inputs do not fit its attributes");
  }
  QUADRA_RETURN_IF_ERROR(importer->Operand(first + 3, &cache->whole));
  QUADRA_RETURN_IF_ERROR(importer->Operand(first, &cache->part));
  return importer->Operand(first + 5, &cache->start, kInts);
}

}  // namespace

// As litert-torch's generative/export_hf/experimental/composites/cache_update.py has it: its inputs
// are the new keys and values, numbers that only a ring needs, the caches, and where to write.
Status ImportCacheUpdate(const FlexMap& attributes, Importer* importer, ValueId* results) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(7, 7, /*outputs=*/2));
  size_t known = 0;
  for (const char* name :
       {"kv_cache_batch_size", "cache_size", "head_size", "is_ring_buffer", "k_cache_ts_idx",
        "v_cache_ts_idx", "k_update_ts_idx", "v_update_ts_idx"}) {
    known += attributes.Has(name);
  }
  if (attributes.size() != known || attributes.Flag("is_ring_buffer")) {
    return Unsupported("it is a ring, or has attributes that are not known");
  }
  int size;
  QUADRA_RETURN_IF_ERROR(attributes.Place("cache_size", &size));
  Cache caches[2];
  caches[1].time = 3;
  QUADRA_RETURN_IF_ERROR(ReadTimeAxis(attributes, "k_cache_ts_idx", &caches[0].time));
  QUADRA_RETURN_IF_ERROR(ReadTimeAxis(attributes, "v_cache_ts_idx", &caches[1].time));
  QUADRA_RETURN_IF_ERROR(ReadTimeAxis(attributes, "k_update_ts_idx", &caches[0].part_time));
  QUADRA_RETURN_IF_ERROR(ReadTimeAxis(attributes, "v_update_ts_idx", &caches[1].part_time));
  for (int i = 0; i < 2; ++i) QUADRA_RETURN_IF_ERROR(ReadCache(i, size, importer, &caches[i]));
  for (int i = 0; i < 2; ++i) {
    Cache& cache = caches[i];
    if (cache.time != cache.part_time) {
      Attributes turned;
      turned.SetInts("order", {0, 1, 3, 2});
      cache.part = importer->AddInnerNode("transpose", {cache.part}, std::move(turned));
    }
    results[i] =
        importer->AddInnerNode("dynamic_update_slice", {cache.whole, cache.part, cache.start}, {});
  }
  return Status();
}

extern const Op kDynamicUpdateSliceOp;
const Op kDynamicUpdateSliceOp = {
    .name = "dynamic_update_slice",
    .builtins = {kTfLiteBuiltinDynamicUpdateSlice, -1},
    .max_version = 6,
    .import = Import,
    .shape = InferShape,
    .kernels = Kernels,
    .asks_for_rank = true,
    .moves = true,
    .place_input = 2,
};

extern const Op kDynamicSliceOp;
const Op kDynamicSliceOp = {
    .name = "dynamic_slice",
    .attributes = "end",
    .shape = InferSlice,
    .kernels = Kernels,
    .asks_for_rank = true,
    .moves = true,
    .place_input = 1,
};

}  // namespace quadra
