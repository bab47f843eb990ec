// The recurrent layer that LSTM and RNN become. The input's part of all steps is one convolution
// before it; here a group of work-items, one for each batch item, goes through the steps with the
// state in shared memory.
#include "delegate_native/ops/recurrent.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "delegate_native/ops/limits.h"
#include "delegate_native/ops/slice.h"
#include "delegate_native/ops/unroll.h"
#include "delegate_native/ops/window.h"

namespace quadra {
namespace {

constexpr int kTimeInX = 2, kTimeInY = 1;  // axes

// ---- import ----

// Column by column, each of one matrix after that of the other, rows in whole slices. So
// work-items, which have neighbouring slices, read neighbouring numbers.
void AppendColumns(const std::vector<Matrix>& matrices, int rows, int columns, int padded_columns,
                   std::vector<float>* to) {
  const int padded_rows = CeilDiv(rows, 4) * 4;
  for (int j = 0; j < padded_columns; ++j) {
    for (const Matrix& matrix : matrices) {
      for (int i = 0; i < padded_rows; ++i) {
        to->push_back(i < rows && j < columns ? matrix.at(i, j) : 0.0f);
      }
    }
  }
}

void AppendVectors(const std::vector<Matrix>& vectors, int size, std::vector<float>* to) {
  AppendColumns(vectors, size, 1, 1, to);
}

// What the kernel reads, in the order of its text.
std::vector<float> Pack(const Recurrent& layer) {
  const auto padded = [](int n) { return CeilDiv(n, 4) * 4; };
  std::vector<float> table;
  AppendColumns(layer.recurrent, layer.units, layer.outputs, padded(layer.outputs), &table);
  AppendVectors(layer.peepholes, layer.units, &table);
  for (size_t gate = 0; gate < layer.norms.size(); ++gate) {
    AppendVectors({layer.norms[gate], layer.bias[gate]}, layer.units, &table);
  }
  const std::vector<Matrix>& projection = layer.projection;
  if (projection.empty()) return table;
  AppendColumns({projection[0]}, layer.outputs, layer.units, padded(layer.units), &table);
  const size_t end = table.size() + static_cast<size_t>(padded(layer.outputs));
  if (projection.size() > 1) AppendVectors({projection[1]}, layer.outputs, &table);
  table.resize(end);
  return table;
}

// The gates before the state has its part in them: all steps in one convolution, each gate in
// slices of its own.
Status AddInputPart(Importer* importer, const Recurrent& layer, ValueId* gates) {
  ValueId src;
  QUADRA_RETURN_IF_ERROR(importer->Operand(0, &src));
  std::vector<float> weights, bias;
  const int padded = CeilDiv(layer.units, 4) * 4;
  for (const Matrix& gate : layer.input) {
    for (int i = 0; i < padded; ++i) {
      for (int j = 0; j < layer.depth; ++j) {
        weights.push_back(i < layer.units ? gate.at(i, j) : 0.0f);
      }
    }
  }
  const int rows = static_cast<int>(layer.input.size()) * padded;
  std::vector<ValueId> inputs = {
      src, importer->AddConstant({rows, 1, 1, layer.depth}, std::move(weights))};
  if (layer.norms.empty()) {
    AppendVectors(layer.bias, layer.units, &bias);
    inputs.push_back(importer->AddConstant({1, 1, 1, rows}, std::move(bias)));
  }
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetWindow(kTfLitePaddingValid, 1, 1, 1, 1, &attributes));
  attributes.SetInt("rank", importer->InputRank(0));
  *gates = importer->AddInnerNode("conv2d", std::move(inputs), std::move(attributes));
  return Status();
}

Status SetAttributes(const Recurrent& layer, Attributes* attributes) {
  const auto clip = [](float given) {
    return given > 0 ? given : std::numeric_limits<float>::infinity();
  };
  const char* activation;
  QUADRA_RETURN_IF_ERROR(ReadActivation(layer.activation, &activation, attributes));
  if (activation) attributes->SetWord("activation", activation);
  attributes->SetInt("gates", static_cast<int>(layer.input.size()));
  attributes->SetInt("units", layer.units);
  attributes->SetInt("outputs", layer.outputs);
  attributes->SetInt("peepholes", static_cast<int>(layer.peepholes.size()));
  attributes->SetInt("norms", !layer.norms.empty());
  attributes->SetInt("projects", !layer.projection.empty());
  attributes->SetFloat("cell_clip", clip(layer.cell_clip));
  attributes->SetFloat("projection_clip", clip(layer.projection_clip));
  attributes->SetInt("time_axis", layer.time_major ? kTimeInY : kTimeInX);
  return Status();
}

// What a part of the channels is: of all steps, or of the last one.
Attributes Part(const Recurrent& layer, int rank, int first, int behind, bool last) {
  std::vector<int> begin(static_cast<size_t>(rank), 0), end = begin;
  const size_t channels = begin.size() - 1;
  begin[channels] = first;
  end[channels] = behind;
  if (last && rank > 2) begin[layer.time_major ? 0 : 1] = -1;
  Attributes attributes;
  attributes.SetInts("begin", begin);
  attributes.SetInts("end", end);
  attributes.SetInts("strides", std::vector<int>(begin.size(), 1));
  attributes.SetInt("end_mask", (1 << channels) - 1);
  return attributes;
}

// The state of the outputs and the cells in one tensor: devices bind few.
ValueId AddState(Importer* importer, const Recurrent& layer, const std::vector<ValueId>& states) {
  std::vector<ValueId> rows;
  for (size_t i = 0; i < states.size(); ++i) {
    // The CPU takes a state of any shape.
    Attributes attributes;
    attributes.SetInts("shape", {-1, i == 0 ? layer.outputs : layer.units});
    rows.push_back(importer->AddInnerNode("reshape", {states[i]}, std::move(attributes)));
  }
  if (rows.size() == 1) return rows[0];
  Attributes attributes;
  attributes.SetInt("axis", 3);
  return importer->AddInnerNode("concat", std::move(rows), std::move(attributes));
}

}  // namespace

Status AddRecurrent(Importer* importer, const Recurrent& layer, const std::vector<ValueId>& states,
                    std::vector<ValueId>* after) {
  const int rank = importer->InputRank(0), outputs = layer.outputs;
  const int cells_at = CeilDiv(outputs, 4) * 4;
  ValueId gates;
  QUADRA_RETURN_IF_ERROR(AddInputPart(importer, layer, &gates));
  Attributes attributes;
  QUADRA_RETURN_IF_ERROR(SetAttributes(layer, &attributes));
  std::vector<float> table = Pack(layer);
  const int size = static_cast<int>(table.size());
  std::vector<ValueId> inputs = {gates, importer->AddConstant({1, 1, 1, size}, std::move(table)),
                                 AddState(importer, layer, states)};
  ValueId steps;
  if (states.size() == 1) {
    QUADRA_RETURN_IF_ERROR(
        importer->AddNode("recurrent", std::move(inputs), std::move(attributes)));
    steps = importer->ValueOf(importer->OutputIndex(0));
  } else {
    steps = importer->AddInnerNode("recurrent", std::move(inputs), std::move(attributes));
    QUADRA_RETURN_IF_ERROR(
        importer->AddNode("strided_slice", {steps}, Part(layer, rank, 0, outputs, false)));
  }
  const ValueId out = importer->ValueOf(importer->OutputIndex(0));
  after->push_back(rank == 2 ? out
                             : importer->AddInnerNode("strided_slice", {steps},
                                                      Part(layer, rank, 0, outputs, true)));
  if (states.size() == 1) return Status();
  after->push_back(importer->AddInnerNode(
      "strided_slice", {steps}, Part(layer, rank, cells_at, cells_at + layer.units, true)));
  return Status();
}

namespace {

// Channels of a step: its outputs in whole slices and, of an LSTM, the cells.
Status InferShape(Graph* graph, const Node& node) {
  const Attributes& attributes = node.attributes;
  const Value& src = graph->value(node.inputs[0]);
  const Shape& state = graph->shape(node.inputs[2]);
  const int batch = src.shape.axis(kTimeInX + kTimeInY - attributes.Int("time_axis"));
  if (state.w != batch) {
    return InvalidModel("its state is of %d batch items, its input of %d", state.w, batch);
  }
  const int outputs = attributes.Int("outputs");
  Value& out = graph->value(node.outputs[0]);
  out.shape = src.shape;
  out.shape.c =
      attributes.Int("gates") == 1 ? outputs : CeilDiv(outputs, 4) * 4 + attributes.Int("units");
  out.rank = src.rank;
  return Status();
}

// ---- the text; gates are 0 cell, 1 forget, 2 input (if it is there), and output, the last ----

constexpr char kBarrier[] = "GROUP_BARRIER();\n";

std::string EachCell(const std::string& body) {
  return Block("for (int q = LOCAL_X; q < cells; q += items)", body);
}
std::string EachOutput(const std::string& body) {
  return Block("for (int p = LOCAL_X; p < outs; p += items)", body);
}

// The formula of an elementwise op; its attributes are arguments of the kernel.
std::string Formula(const std::string& op, const std::string& of) {
  std::string text;
  for (const char* c = FindOp(op)->formula; *c; ++c) {
    if (*c != '$') text += *c;
    else if (c[1] == 'a') text += of, ++c;
  }
  return text;
}

std::string Activation(const Attributes& attributes, const char* of) {
  return attributes.Has("activation") ? Formula(attributes.Word("activation"), of) : of;
}

// A slice of numbers times their columns of weights, of each of `count` matrices.
std::string AddProduct(int count, const char* to, const char* from, const char* column) {
  std::string text;
  for (int lane = 0; lane < 4; ++lane) {
    text += Unroll(count, Format("%s += vec4(%s.%c) * read_weights(at + (%d + $) * %s);\n", to,
                                 from, "xyzw"[lane], lane * count, column));
  }
  return text;
}

// The gates: the input's part and the state's.
std::string Sums(int gates) {
  return Unroll(gates, "sum4_t z$ = read_src(x, y, $ * cells + q);\n") +
         Block("for (int k = 0; k < outs; ++k)",
               Format("sum4_t h = hidden[k];\nint at = k * %d * cells + q;\n", 4 * gates) +
                   AddProduct(gates, "z$", "h", "cells"));
}

std::string Peephole(int gate) {
  return Format("z%d += c * read_weights(vectors + %d * cells + q);\n", gate, gate - 1);
}

// Gates from `first` on, by mean and variance over all cells. Lanes without a cell hold 0, so that
// each has the square of the mean in the sum of squares.
std::string Norm(int first, int count) {
  return Unroll(count, Format("int gate$ = %d + $;\n", first) + R"(
sum4_t z$ = sums[gate$ * cells + q];
sum4_t all$ = vec4(0.0f);
for (int i = 0; i < cells; ++i) { all$ += sums[gate$ * cells + i]; }
sum_t mean$ = (all$.x + all$.y + all$.z + all$.w) / float(units);
all$ = vec4(0.0f);
for (int i = 0; i < cells; ++i) {
  sum4_t d = sums[gate$ * cells + i] - vec4(mean$);
  all$ += d * d;
}
sum_t power$ = all$.x + all$.y + all$.z + all$.w - float(4 * cells - units) * mean$ * mean$;
sum_t root$ = sqrt(max(power$, 0.0f) / float(units) + 0.00000001f);
int norm$ = vectors + (peepholes + 2 * gate$) * cells + q;
z$ = (z$ - vec4(mean$)) / vec4(root$) * read_weights(norm$) + read_weights(norm$ + cells);
)");
}

// The cell's new state, then what it shows of it.
std::string Update(const Attributes& attributes, int gates) {
  const std::string input = gates == 4 ? Formula("logistic", "z2") : "vec4(1.0f) - f";
  return "sum4_t f = " + Formula("logistic", "z1") + ";\nc = c * f + " +
         Activation(attributes, "z0") + " * (" + input +
         ");\nc = min(max(c, vec4(-cell_clip)), vec4(cell_clip));\ncell[q] = c;\n";
}
std::string Show(const Attributes& attributes, const std::string& gate) {
  return "made[q] = (" + Formula("logistic", gate) + ") * " + Activation(attributes, "c") + ";\n";
}

// From hidden and cell to made and cell.
std::string Cells(const Attributes& attributes) {
  const int gates = attributes.Int("gates"), last = gates - 1;
  if (gates == 1) {
    return EachCell(Sums(1) + "made[q] = " + Activation(attributes, "z0") + ";\n");
  }
  std::string begin = Sums(gates) + "sum4_t c = cell[q];\n", late;
  if (attributes.Int("peepholes")) {
    for (int gate = 1; gate < last; ++gate) begin += Peephole(gate);
    late = Peephole(last);
  }
  const std::string update = Update(attributes, gates), output = Format("z%d", last);
  if (!attributes.Int("norms")) {
    return EachCell(begin + update + late + Show(attributes, output));
  }
  const std::string sum = Format("sums[%d * cells + q]", last);
  return EachCell(begin + Unroll(gates, "sums[$ * cells + q] = z$;\n")) + kBarrier +
         EachCell("sum4_t c = cell[q];\n" + Norm(0, last) + update + "sum4_t " + output + " = " +
                  sum + ";\n" + late + sum + " = " + output + ";\n") +
         kBarrier + EachCell("sum4_t c = cell[q];\n" + Norm(last, 1) + Show(attributes, "z0"));
}

// From made to hidden and the results.
std::string Outputs(bool projects) {
  std::string h = "sum4_t h = made[p];\n";
  if (projects) {
    h = "sum4_t h = read_weights(projection + 4 * cells * outs + p);\n" +
        Block("for (int k = 0; k < cells; ++k)",
              "sum4_t m = made[k];\nint at = projection + k * 4 * outs + p;\n" +
                  AddProduct(1, "h", "m", "outs")) +
        "h = min(max(h, vec4(-projection_clip)), vec4(projection_clip));\n";
  }
  return EachOutput(h + "hidden[p] = h;\nwrite_dst(h, x, y, p);\n");
}

// Lanes beyond the last output or unit may hold anything.
constexpr char kReadHidden[] = R"(
vec4 v = read_state(state_x, state_y, p);
hidden[p] = choose(is_less(ivec4(p * 4) + ivec4(0, 1, 2, 3), ivec4(outputs)), v, vec4(0.0f));
)";
constexpr char kReadCell[] = R"(
int at = cells_at / 4 + q;
vec4 v = lanes_from(read_state(state_x, state_y, at), read_state(state_x, state_y, min(at + 1, state_s - 1)), cells_at % 4);
cell[q] = choose(is_less(ivec4(q * 4) + ivec4(0, 1, 2, 3), ivec4(units)), v, vec4(0.0f));
)";

std::string Body(const Attributes& attributes) {
  const bool has_cell = attributes.Int("gates") > 1;
  std::string text = R"(
int batch = GLOBAL_Z;
int state_x = state_in_y != 0 ? 0 : batch;
int state_y = batch - state_x;
)" + EachOutput(kReadHidden);
  if (has_cell) text += EachCell(kReadCell);
  const std::string show_cell = has_cell ? EachCell("write_dst(cell[q], x, y, outs + q);\n") : "";
  return text + kBarrier +
         Block("for (int t = first; t < behind; ++t)",
               "int x = time_in_x != 0 ? t : batch;\nint y = time_in_x != 0 ? batch : t;\n" +
                   Cells(attributes) + kBarrier + show_cell +
                   Outputs(attributes.Int("projects") != 0) + kBarrier);
}

// ---- the kernels ----

// What all kernels of a node have alike.
struct Layer {
  int gates, units, outputs;
  int cells, outs;  // units and outputs in slices
  int items;        // work-items of a group
  bool norms, projects;
  int64_t trips;  // of a work-item in a step

  Layer(const GpuInfo& gpu, const Attributes& attributes)
      : gates(attributes.Int("gates")),
        units(attributes.Int("units")),
        outputs(attributes.Int("outputs")),
        cells(CeilDiv(units, 4)),
        outs(CeilDiv(outputs, 4)),
        items(1),
        norms(attributes.Int("norms") != 0),
        projects(attributes.Int("projects") != 0) {
    constexpr int kMostItems = 128;
    const int most = std::min({kMostItems, gpu.max_work_group_size, gpu.max_work_group[0]});
    while (items < std::max(cells, outs) && items * 2 <= most) items *= 2;
    trips = int64_t{CeilDiv(cells, items)} * (outs + 4 + (norms ? 2 * gates * cells : 0)) +
            int64_t{CeilDiv(outs, items)} * (projects ? cells : 1);
  }
};

void AddNumbers(const Layer& layer, const Attributes& attributes, KernelDesc* desc) {
  const int peepholes = attributes.Int("peepholes");
  const int vectors = 4 * layer.outs * layer.gates * layer.cells;
  desc->Int("cells", layer.cells);
  desc->Int("outs", layer.outs);
  desc->Int("items", layer.items);
  desc->Int("units", layer.units);
  desc->Int("outputs", layer.outputs);
  desc->Int("time_in_x", attributes.Int("time_axis") == kTimeInX);
  desc->Int("vectors", vectors);
  desc->Int("peepholes", peepholes);
  desc->Int("projection",
            vectors + (peepholes + (layer.norms ? 2 * layer.gates : 0)) * layer.cells);
  for (const char* name : {"cell_clip", "projection_clip", "low", "high"}) {
    if (attributes.Has(name)) desc->Float(name, attributes.Float(name));
  }
  desc->shared.push_back({"hidden", "sum4_t", layer.outs});
  desc->shared.push_back({"made", "sum4_t", layer.cells});
  if (layer.gates > 1) desc->shared.push_back({"cell", "sum4_t", layer.cells});
  if (layer.norms) desc->shared.push_back({"sums", "sum4_t", layer.gates * layer.cells});
}

Status Kernels(const KernelContext& context, const Graph& graph, const Node& node,
               KernelList* list) {
  constexpr int kMostKernels = 64;
  const Layer layer(*context.gpu, node.attributes);
  const int axis = node.attributes.Int("time_axis");
  const Shape& src = graph.shape(node.inputs[0]);
  const int steps = src.axis(axis), batch = src.axis(kTimeInX + kTimeInY - axis);
  const int64_t fit =
      context.gpu->is_cpu() ? steps : std::max<int64_t>(kMostTrips / layer.trips, 1);
  const int at_once = static_cast<int>(std::min<int64_t>(fit, steps));
  if (CeilDiv(steps, at_once) > kMostKernels) {
    return Unsupported("its %d steps take %d kernels; up to %d are supported", steps,
                       CeilDiv(steps, at_once), kMostKernels);
  }
  const Value& table = graph.value(node.inputs[1]);
  const Shape& out = graph.shape(node.outputs[0]);
  const std::string body = Body(node.attributes);
  int state = node.inputs[2], cells_at = layer.outputs;
  for (int first = 0; first < steps; first += at_once) {
    const int behind = std::min(first + at_once, steps);
    KernelDesc& desc = list->Add("recurrent");
    desc.Read("src", node.inputs[0]);
    desc.Read("state", state);
    desc.Write("dst", node.outputs[0]);
    desc.Constant("weights", 4, table.shape.elements(),
                  [constant = table.constant] { return *constant->floats(); });
    AddNumbers(layer, node.attributes, &desc);
    desc.Int("first", first);
    desc.Int("behind", behind);
    desc.Int("cells_at", cells_at);
    desc.Int("state_in_y", first > 0 && axis == kTimeInX);
    desc.trips = (behind - first) * layer.trips;
    desc.body = body;
    desc.Grid(layer.items, 1, batch);
    desc.Group(layer.items, 1, 1);
    if (behind == steps) break;
    // The last step is the state of the next kernel.
    Shape step = out;
    step.set_axis(axis, 1);
    SlicePlaces places;
    *places.start_of(axis) = behind - 1;
    state = list->AddScratch(step);
    cells_at = layer.outs * 4;
    AddSlice(context, places, node.outputs[0], out, state, step, list);
  }
  return Status();
}

}  // namespace

extern const Op kRecurrentOp;
const Op kRecurrentOp = {
    .name = "recurrent",
    .attributes =
        "gates units outputs peepholes norms projects cell_clip projection_clip time_axis",
    .shape = InferShape,
    .kernels = Kernels,
};

}  // namespace quadra
