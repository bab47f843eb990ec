// The recurrent part of LSTM and RNN, which become this op (lstm.cc). A group of work-items, one
// for each batch item, goes through the steps with the state in shared memory. Inputs: the gates
// with the input's part of all steps, a table of weights, the state (outputs, then cells).
#include <algorithm>
#include <cstring>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/limits.h"
#include "delegate_native/ops/slice.h"
#include "delegate_native/ops/unroll.h"

namespace quadra {
namespace {

constexpr int kTimeInX = 2, kTimeInY = 1;  // axes

struct Layer {
  const std::string& variant;  // letters of kText's lines
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

  bool Has(char letter) const { return variant.find(letter) != std::string::npos; }
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
  out.shape.c = layer.Has('c') ? layer.outs * 4 + layer.units : layer.outputs;
  out.rank = src.rank;
  return Status();
}

// Each line is in the text of the variants that have its first letter: c has cells (an LSTM), r has
// none, i an input gate, u none, p peepholes, q both, n norms, j a projection, s none, g the grids
// of integers, and with them k a projection, b peepholes, d both, m norms. Gates are 0
// cell, 1 forget, 2 output, 3 input; a line with `$` is there for each. `~` is the activation of v.
//
// Lanes beyond the last output or unit of the state may hold anything; in shared memory they are 0,
// or finite where their weights are 0. What is read there is computed with before it becomes a
// half: NVIDIA's compiler of GLSL ES takes the lower bits of a float instead.
constexpr const char* kText = QUADRA_TEXT(R"(
 int batch = GLOBAL_Z;
 int state_x = state_in_y != 0 ? 0 : batch;
 int state_y = batch - state_x;
 for (int p = LOCAL_X; p < outs; p += items) {
   vec4 v = read_state(state_x, state_y, p);
   hidden[p] = choose(is_less(ivec4(p * 4) + ivec4(0, 1, 2, 3), ivec4(outputs)), v, vec4(0.0f));
 }
c for (int q = LOCAL_X; q < cells; q += items) {
c   int at = cells_at / 4 + q;
c   vec4 v = read_state(state_x, state_y, min(at + 1, state_s - 1));
c   v = lanes_from(read_state(state_x, state_y, at), v, cells_at % 4);
c   cell[q] = choose(is_less(ivec4(q * 4) + ivec4(0, 1, 2, 3), ivec4(units)), v, vec4(0.0f));
c }
 GROUP_BARRIER();
 for (int t = first; t < behind; ++t) {
   int step = last_step > 0 ? last_step - t : t;
   int x = time_in_x != 0 ? step : batch;
   int y = time_in_x != 0 ? batch : step;
   for (int q = LOCAL_X; q < cells; q += items) {
     sum4_t z$ = read_src(x, y, $ * cells + q);
     for (int k = 0; k < outs; ++k) {
       sum4_t h = hidden[k];
       for (int i = 0; i < 4; ++i) {
         int at = (k * 4 + i) * cells + q;
         z$ += sum_lane(h, i) * read_weights(at + $ * gate);
       }
     }
g     z$ = onto_grid(z$, 4096.0f, 0.000244140625f, -32768.0f, 32767.0f);
     sum4_t v = z0;
r     v = ~;
c     sum4_t c = cell[q];
p     z1 += c * read_weights(vectors + q);
b     z1 = onto_grid(z1, 4096.0f, 0.000244140625f, -32768.0f, 32767.0f);
q     z3 += c * read_weights(vectors + 2 * cells + q);
d     z3 = onto_grid(z3, 4096.0f, 0.000244140625f, -32768.0f, 32767.0f);
n     sums[$ * cells + q] = z$;
n#
n     v = z0;
c     sum4_t f = vec4(1.0f) / (vec4(1.0f) + exp(-z1));
i     c = c * f + ~ / (vec4(1.0f) + exp(-z3));
u     c = c * f + ~ * (vec4(1.0f) - f);
g     c = onto_grid(c, cell_inverse, cell_scale, cell_low, cell_high);
c     c = min(max(c, vec4(-cell_clip)), vec4(cell_clip));
c     cell[q] = c;
c     write_dst(c, x, y, outs + q);
n     z2 = sums[2 * cells + q];
p     z2 += c * read_weights(vectors + cells + q);
b     z2 = onto_grid(z2, 4096.0f, 0.000244140625f, -32768.0f, 32767.0f);
n     sums[2 * cells + q] = z2;
n#
c     v = c;
c     v = ~ / (vec4(1.0f) + exp(-z2));
g     v = onto_grid(v, hidden_inverse, hidden_scale, hidden_low, hidden_high);
     made[q] = v;
s     write_dst(v, x, y, q);
   }
   GROUP_BARRIER();
   for (int p = LOCAL_X; p < outs; p += items) {
s     hidden[p] = made[p];
j     sum4_t h = read_weights(projection + 4 * cells * outs + p);
j     for (int k = 0; k < cells; ++k) {
j       sum4_t m = made[k];
j       for (int i = 0; i < 4; ++i) {
j         h += sum_lane(m, i) * read_weights(projection + (k * 4 + i) * outs + p);
j       }
j     }
k     h = onto_grid(h, output_inverse, output_scale, output_low, output_high);
j     h = min(max(h, vec4(-projection_clip)), vec4(projection_clip));
j     hidden[p] = h;
j     write_dst(h, x, y, p);
   }
   GROUP_BARRIER();
 }
)");

// In place of `#`: ends a loop over the cells whose gates are in sums, and begins one with the
// gates by mean and variance. Lanes without a cell hold 0, so that each has the square of the mean
// in the sum of squares.
constexpr const char* kNorm = QUADRA_TEXT(R"(
n   }
n   GROUP_BARRIER();
n   for (int g = LOCAL_X; g < gates; g += items) {
n     sum4_t all = vec4(0.0f);
n     for (int i = 0; i < cells; ++i) { all += sums[g * cells + i]; }
n     sum_t mean = dot(all, vec4(1.0f)) / float(units);
n     all = vec4(0.0f);
n     for (int i = 0; i < cells; ++i) {
n       sum4_t d = sums[g * cells + i] - vec4(mean);
n       all += d * d;
n     }
n     sum_t squares = dot(all, vec4(1.0f)) - float(4 * cells - units) * mean * mean;
n     sum_t scale = 1.0f / sqrt(max(squares, 0.0f) / float(units) + 0.00000001f);
n     stats[g] = vec4(mean, scale, 0.0f, 0.0f);
n   }
n   GROUP_BARRIER();
n   for (int q = LOCAL_X; q < cells; q += items) {
n     sum4_t c = cell[q];
n     sum4_t v = c;
n     int at = vectors + peepholes * cells + q;
n     sum4_t z$ = (sums[$ * cells + q] - vec4(stats[$].x)) * vec4(stats[$].y);
n     z$ = z$ * read_weights(at + 2 * $ * cells) + read_weights(at + (2 * $ + 1) * cells);
m     z$ = onto_grid(z$, 4096.0f, 0.000244140625f, -32768.0f, 32767.0f);
)");

std::string LinesOf(const char* text, const Layer& layer) {
  std::string made;
  for (const char* line = text; *line; line += strcspn(line, "\n") + 1) {
    if (*line != ' ' && !layer.Has(*line)) continue;
    const std::string rest(line + 1, strcspn(line, "\n"));
    if (rest[0] == '#') made += LinesOf(kNorm, layer);
    else made += Unroll(rest.find('$') == std::string::npos ? 1 : layer.gates, rest);
  }
  return made;
}

// The formula of an elementwise op, of v; its attributes are arguments of the kernel.
std::string Activation(const Attributes& attributes) {
  if (!attributes.Has("activation")) return "v";
  std::string text;
  for (const char* c = FindOp(attributes.Word("activation"))->formula; *c; ++c) {
    if (*c != '$') text += *c;
    else if (c[1] == 'a') text += 'v', ++c;
  }
  return text;
}

std::string Body(const Layer& layer, const Attributes& attributes) {
  std::string text = LinesOf(kText, layer);
  const std::string activation = Activation(attributes);
  for (size_t at; (at = text.find('~')) != std::string::npos;) text.replace(at, 1, activation);
  return text;
}

void AddNumbers(const Layer& layer, const Attributes& attributes, KernelDesc* desc) {
  const int gate = 4 * layer.outs * layer.cells;
  const int peepholes = layer.Has('p') ? layer.gates - 1 : 0;
  const int norms = layer.Has('n') ? 2 * layer.gates : 0;
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
  const size_t count = layer.Has('n') ? 5 : layer.Has('c') ? 3 : 2;
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

// Of a work-item in a step.
int64_t TripsOf(const Layer& layer, int items) {
  return int64_t{CeilDiv(layer.cells, items)} * (layer.outs + 4) +
         int64_t{CeilDiv(layer.outs, items)} * (layer.Has('j') ? layer.cells : 1) +
         (layer.Has('n') ? int64_t{4} * CeilDiv(layer.gates, items) * layer.cells : 0);
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  constexpr int kMostKernels = 64;
  const Layer layer(node.attributes);
  const Shape& out = graph.shape(node.outputs[0]);
  const bool backwards = node.attributes.Int("backwards", 0) != 0;
  const int steps = out.axis(layer.axis), items = ItemsFor(layer, *context.gpu);
  const int64_t trips = TripsOf(layer, items);
  const int64_t fit = context.gpu->is_cpu() ? steps : std::max<int64_t>(kMostTrips / trips, 1);
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
