// The recurrent part of LSTM, GRU and RNN, which become this op (lstm.cc, recurrent_loop.cc). A
// group of work-items, one for each batch item, goes through the steps with the state in shared
// memory. Inputs: the gates with the input's part of all steps and perhaps, in a slice behind them,
// which steps there are; a table of weights; the state (outputs, then cells).
#include <algorithm>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/slice.h"

namespace quadra {
namespace {

constexpr int kTimeInX = 2, kTimeInY = 1;  // axes

// The parts that a layer may have: cells (an LSTM), and with them an input gate; the gates of a
// GRU.
constexpr const char* kParts[] = {"cells",      "input", "peepholes", "norms",
                                  "projection", "grids", "update",    "mask"};

struct Layer {
  const std::string& variant;  // names of kParts
  int gates, units, outputs;
  int cells, outs;  // units and outputs in slices
  int axis;

  explicit Layer(const Attributes& attributes)
      : variant(attributes.Word("variant")),
        gates(attributes.Ints("sizes")[0]),
        units(attributes.Ints("sizes")[1]),
        outputs(attributes.Ints("sizes")[2]),
        cells(CeilDiv(units, 4)),
        outs(CeilDiv(outputs, 4)),
        axis(attributes.Int("time_axis")) {}

  bool Has(const char* part) const { return variant.find(part) != std::string::npos; }
  int BatchOf(const Shape& shape) const { return shape.axis(kTimeInX + kTimeInY - axis); }
};

// Channels of a step: its outputs and, of an LSTM, the cells behind their whole slices.
Status InferShape(Graph* graph, const Node& node) {
  const Layer layer(node.attributes);
  const Value& src = graph->value(node.inputs[0]);
  const int states = graph->shape(node.inputs[2]).w, batch = layer.BatchOf(src.shape);
  if (states != batch) {
    return InvalidModel("its state is of %d batch items, its input of %d", states, batch);
  }
  Value& out = graph->value(node.outputs[0]);
  out.shape = src.shape;
  out.shape.c = layer.Has("cells") ? layer.outs * 4 + layer.units : layer.outputs;
  out.rank = src.rank;
  return Status();
}

// Gates are 0 cell, 1 forget, 2 output, 3 input; a GRU's 0 candidate, 1 update, 2 reset. `grids`
// are those of an LSTM of integers.
//
// Lanes beyond the last output or unit of the state may hold anything; in shared memory they are 0,
// or finite where their weights are 0. What is read there is computed with before it becomes a
// half: NVIDIA's compiler of GLSL ES takes the lower bits of a float instead.
constexpr const char* kText = QUADRA_TEXT(R"(int batch = GLOBAL_Z;
int state_x = state_in_y != 0 ? 0 : batch;
int state_y = batch - state_x;
for (int p = LOCAL_X; p < outs; p += items) {
  vec4 v = read_state(state_x, state_y, p);
  hidden[p] = choose(is_less(ivec4(p * 4) + ivec4(0, 1, 2, 3), ivec4(outputs)), v, vec4(0.0f));
}
$if(cells)
 for (int q = LOCAL_X; q < cells; q += items) {
   int at = cells_at / 4 + q;
   vec4 v = read_state(state_x, state_y, min(at + 1, state_s - 1));
   v = lanes_from(read_state(state_x, state_y, at), v, cells_at % 4);
   cell[q] = choose(is_less(ivec4(q * 4) + ivec4(0, 1, 2, 3), ivec4(units)), v, vec4(0.0f));
 }
$end
GROUP_BARRIER();
for (int t = first; t < behind; ++t) {
  int step = last_step > 0 ? last_step - t : t;
  int x = time_in_x != 0 ? step : batch;
  int y = time_in_x != 0 ? batch : step;
$if(mask)   bool is_there = read_src(x, y, gates * cells).x != 0.0f;
  for (int q = LOCAL_X; q < cells; q += items) {
$for(g, gates)     sum4_t z$g = read_src(x, y, $g * cells + q);
$if(update)     sum4_t candidate = z0;
$if(update)     z0 = read_weights(vectors + q);
    for (int k = 0; k < outs; ++k) {
      sum4_t h = hidden[k];
      for (int i = 0; i < 4; ++i) {
        int at = (k * 4 + i) * cells + q;
$for(g, gates)         z$g += sum_lane(h, i) * read_weights(at + $g * gate);
      }
    }
$if(grids) $for(g, gates)      z$g = requantize(z$g, 4096.0f, 0.000244140625f, -32768.0f, 32767.0f);
    sum4_t v = z0;
$if(update)      v = candidate + v / (vec4(1.0f) + exp(-z2));
$if(!cells)      v = $activation;
$if(update)
     sum4_t u = vec4(1.0f) / (vec4(1.0f) + exp(-z1));
     v = u * hidden[q] + (vec4(1.0f) - u) * v;
$end
$if(cells)      sum4_t c = cell[q];
$if(peepholes)
     z1 += c * read_weights(vectors + q);
$if(grids)      z1 = requantize(z1, 4096.0f, 0.000244140625f, -32768.0f, 32767.0f);
$if(input)      z3 += c * read_weights(vectors + 2 * cells + q);
$if(input) $if(grids)      z3 = requantize(z3, 4096.0f, 0.000244140625f, -32768.0f, 32767.0f);
$end
$if(norms)
$for(g, gates)      sums[$g * cells + q] = z$g;
$normalize     v = z0;
$end
$if(cells)
     sum4_t f = vec4(1.0f) / (vec4(1.0f) + exp(-z1));
$if(input)      c = c * f + $activation / (vec4(1.0f) + exp(-z3));
$if(!input)      c = c * f + $activation * (vec4(1.0f) - f);
$if(grids)      c = requantize(c, cell_inverse, cell_scale, cell_low, cell_high);
     c = min(max(c, vec4(-cell_clip)), vec4(cell_clip));
$if(mask)      c = (is_there ? c : vec4(0.0f)) + (is_there ? vec4(0.0f) : cell[q]);
     cell[q] = c;
     write_dst(c, x, y, outs + q);
$if(norms)      z2 = sums[2 * cells + q];
$if(peepholes)      z2 += c * read_weights(vectors + cells + q);
$if(peepholes) $if(grids)      z2 = requantize(z2, 4096.0f, 0.000244140625f, -32768.0f, 32767.0f);
$if(norms)
     sums[2 * cells + q] = z2;
$normalize$end
     v = c;
     v = $activation / (vec4(1.0f) + exp(-z2));
$if(grids)      v = requantize(v, hidden_inverse, hidden_scale, hidden_low, hidden_high);
$end
$if(mask)     v = (is_there ? v : vec4(0.0f)) + (is_there ? vec4(0.0f) : hidden[q]);
    made[q] = v;
$if(!projection)      write_dst(v, x, y, q);
  }
  GROUP_BARRIER();
  for (int p = LOCAL_X; p < outs; p += items) {
$if(!projection)      hidden[p] = made[p];
$if(projection)
     sum4_t h = read_weights(projection + 4 * cells * outs + p);
     for (int k = 0; k < cells; ++k) {
       sum4_t m = made[k];
       for (int i = 0; i < 4; ++i) {
         h += sum_lane(m, i) * read_weights(projection + (k * 4 + i) * outs + p);
       }
     }
$if(grids)      h = requantize(h, output_inverse, output_scale, output_low, output_high);
     h = min(max(h, vec4(-projection_clip)), vec4(projection_clip));
     hidden[p] = h;
     write_dst(h, x, y, p);
$end
  }
  GROUP_BARRIER();
}
)");

// Ends a loop over the cells whose gates are in sums, and begins one with the gates by mean and
// variance. Lanes without a cell hold 0, so that each has the square of the mean in the sum of
// squares.
constexpr const char* kNormalize = QUADRA_TEXT(R"(   }
   GROUP_BARRIER();
   for (int g = LOCAL_X; g < gates; g += items) {
     sum4_t all = vec4(0.0f);
     for (int i = 0; i < cells; ++i) { all += sums[g * cells + i]; }
     sum_t mean = dot(all, vec4(1.0f)) / float(units);
     all = vec4(0.0f);
     for (int i = 0; i < cells; ++i) {
       sum4_t d = sums[g * cells + i] - vec4(mean);
       all += d * d;
     }
     sum_t squares = dot(all, vec4(1.0f)) - float(4 * cells - units) * mean * mean;
     sum_t scale = 1.0f / sqrt(max(squares, 0.0f) / float(units) + 0.00000001f);
     stats[g] = vec4(mean, scale, 0.0f, 0.0f);
   }
   GROUP_BARRIER();
   for (int q = LOCAL_X; q < cells; q += items) {
     sum4_t c = cell[q];
     sum4_t v = c;
     int at = vectors + peepholes * cells + q;
$for(g, gates)      sum4_t z$g = (sums[$g * cells + q] - vec4(stats[$g].x)) * vec4(stats[$g].y);
$for(g, gates)      z$g = z$g * read_weights(at + 2 * $g * cells) + read_weights(at + (2 * $g + 1) * cells);
$if(grids) $for(g, gates)      z$g = requantize(z$g, 4096.0f, 0.000244140625f, -32768.0f, 32767.0f);
)");

std::string Body(const Layer& layer, const Attributes& attributes) {
  Text text(kText);
  for (const char* part : kParts) text.Set(part, layer.Has(part));
  text.Set("gates", layer.gates).Set("normalize", kNormalize);
  // The formula of an elementwise op, of v; its attributes are arguments of the kernel.
  text.Set("activation",
           attributes.Has("activation") ? FindOp(attributes.Word("activation"))->formula : "$a");
  text.Set("a", "v").Set("low", "low").Set("high", "high");
  return text.str();
}

void AddNumbers(const Layer& layer, const Attributes& attributes, KernelDesc* desc) {
  const int gate = 4 * layer.outs * layer.cells;
  const int peepholes = layer.Has("peepholes") ? layer.gates - 1 : 0;
  const int norms = layer.Has("norms") ? 2 * layer.gates : 0;
  const struct {
    const char* name;
    int value;
  } ints[] = {{"cells", layer.cells},
              {"outs", layer.outs},
              {"units", layer.units},
              {"outputs", layer.outputs},
              {"gates", layer.gates},
              {"gate", gate},
              {"vectors", gate * layer.gates},
              {"peepholes", peepholes},
              {"projection", gate * layer.gates + (peepholes + norms) * layer.cells},
              {"time_in_x", layer.axis == kTimeInX}};
  for (const auto& number : ints) desc->Int(number.name, number.value);
  for (const char* name : {"cell_clip", "projection_clip", "low", "high"}) {
    if (attributes.Has(name)) desc->Float(name, attributes.Float(name));
  }
  for (const char* grid : {"cell", "hidden", "output"}) {
    if (!attributes.Has(grid)) continue;
    const float* number = attributes.Floats(grid).data();
    for (const char* word : {"_inverse", "_scale", "_low", "_high"}) {
      desc->Float(std::string(grid) + word, *number++);
    }
  }
  const struct {
    const char* name;
    int count;
  } shared[] = {{"hidden", layer.outs},
                {"made", layer.cells},
                {"cell", layer.cells},
                {"sums", layer.gates * layer.cells},
                {"stats", layer.gates}};
  const size_t count = layer.Has("norms") ? 5 : layer.Has("cells") ? 3 : 2;
  for (size_t i = 0; i < count; ++i) {
    desc->shared.push_back({shared[i].name, "sum4_t", shared[i].count});
  }
}

// Work-items of a group.
int ItemsFor(const Layer& layer, const GpuInfo& gpu) {
  const int most = std::min({128, gpu.max_work_group_size, gpu.max_work_group[0]});
  int items = 1;
  while (items < std::max(layer.cells, layer.outs) && items * 2 <= most) items *= 2;
  return items;
}

// Loop iterations of a work-item in a step.
int64_t TripsOf(const Layer& layer, int items) {
  return int64_t{CeilDiv(layer.cells, items)} * (layer.outs + 4) +
         int64_t{CeilDiv(layer.outs, items)} * (layer.Has("projection") ? layer.cells : 1) +
         (layer.Has("norms") ? int64_t{4} * CeilDiv(layer.gates, items) * layer.cells : 0);
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  constexpr int kMostKernels = 64;
  const Layer layer(node.attributes);
  const Shape& out = graph.shape(node.outputs[0]);
  const bool backwards = node.attributes.Int("backwards", 0) != 0;
  const int steps = out.axis(layer.axis), items = ItemsFor(layer, *context.gpu);
  const int64_t trips = TripsOf(layer, items);
  const int64_t fit = std::max<int64_t>(context.gpu->most_trips() / trips, 1);
  const int at_once = static_cast<int>(std::min<int64_t>(fit, steps));
  if (CeilDiv(steps, at_once) > kMostKernels) {
    return Unsupported("its %d steps take %d kernels; up to %d are supported", steps,
                       CeilDiv(steps, at_once), kMostKernels);
  }
  const Value& table = graph.value(node.inputs[1]);
  int state = node.inputs[2], cells_at = layer.outputs;
  for (int first = 0;; first += at_once) {
    const int behind = std::min(first + at_once, steps);
    KernelDesc& desc = list->Add("recurrent");
    desc.Read("src", node.inputs[0]);
    desc.Read("state", state);
    desc.Write("dst", node.outputs[0]);
    desc.Constant("weights", 4, table.shape.c,
                  [constant = table.constant] { return *constant->floats(); });
    AddNumbers(layer, node.attributes, &desc);
    desc.Int("items", items);
    desc.Int("first", first);
    desc.Int("behind", behind);
    desc.Int("last_step", backwards ? steps - 1 : 0);
    desc.Int("cells_at", cells_at);
    desc.Int("state_in_y", first > 0 && layer.axis == kTimeInX);
    desc.trips = (behind - first) * trips;
    desc.body = Body(layer, node.attributes);
    desc.Grid(items, 1, layer.BatchOf(out));
    desc.Group(items, 1, 1);
    if (behind == steps) return Status();
    // The last step is the state of the next kernel.
    Shape step = out;
    step.set_axis(layer.axis, 1);
    SlicePlaces places;
    *places.start_of(layer.axis) = backwards ? steps - behind : behind - 1;
    state = list->AddScratch(step);
    cells_at = layer.outs * 4;
    AddSlice(context, places, node.outputs[0], out, state, step, list);
  }
}

}  // namespace

extern const Op kRecurrentOp;
const Op kRecurrentOp = {
    .name = "recurrent",
    .attributes = QUADRA_TEXT("variant sizes cell_clip projection_clip time_axis"),
    .shape = InferShape,
    .kernels = Kernels,
};

}  // namespace quadra
