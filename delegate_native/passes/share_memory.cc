// A reshape moves no number if both tensors lie in memory pixel by pixel, the slices of a pixel
// after each other, and a slice (split, strided_slice) is then a part of its input. Tensors of one
// pixel lie so anyway: those that a decoder's step has are mostly such, or become such. The others
// are found there by their kernels' accessors (Graph::IsView). Large tensors stay as they are:
// work-items beside each other would read what lies apart.
#include <algorithm>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/rewrite.h"

namespace quadra {
namespace {

// A pixel of more stays as it is. Images of so many rows are within every device's limits.
constexpr int64_t kMostSlices = 2048;

bool IsPixel(const Shape& shape) { return shape.w == 1 && shape.h == 1; }
int64_t SlicesOf(const Shape& shape) {
  return int64_t{shape.b} * shape.h * shape.w * shape.slices();
}

// Slices of a tensor, one after the other, in `count` runs.
struct Run {
  int64_t begin = 0, length = 0, pitch = 0, count = 1;
  int64_t all() const { return count * length; }
};

// The slices of `taken`, from `places` on, of a tensor of the shape. False: they are more than
// runs of the same length.
bool FindRun(Shape shape, SlicePlaces places, Shape taken, Run* run) {
  for (int axis = kFirstAxis; axis < 4; ++axis) {
    if (*places.stride_of(axis) != 1) return false;
  }
  int* const start = places.start_of(3);
  if (shape.c % 4 != 0 || taken.c % 4 != 0 || *start % 4 != 0) return false;
  shape.c /= 4, taken.c /= 4, *start /= 4;
  int64_t size = 1;     // of what the axes behind hold
  bool is_cut = false;  // a part of an axis behind is taken
  run->length = 1;
  for (int axis = 3; axis >= kFirstAxis; --axis) {
    const int n = taken.axis(axis);
    run->begin += *places.start_of(axis) * size;
    if (is_cut && n > 1) {
      // Places of this axis are `size` apart; whole ones behind it are in the runs' pitch.
      if (run->count == 1) run->pitch = size;
      else if (run->pitch * run->count != size) return false;
      run->count *= n;
    } else if (!is_cut) {
      run->length *= n;
    }
    is_cut |= n < shape.axis(axis);
    size *= shape.axis(axis);
  }
  return true;
}

// The run of a tensor that is seen through a view itself.
bool Through(const SliceView& view, const Run& run, bool is_all, SliceView* made) {
  *made = view;
  if (is_all) return true;
  int64_t begin = run.begin;
  if (view.run > 0) {
    const int64_t before = run.begin / view.run, in = run.begin % view.run;
    if (run.count > 1 || in + run.length > view.run) return false;
    begin += before * view.gap;
    made->run = made->gap = 0;
  } else if (run.count > 1) {
    made->run = static_cast<int>(run.length);
    made->gap = static_cast<int>(run.pitch - run.length);
  }
  made->begin += static_cast<int>(begin);
  return true;
}

class Sharing {
 public:
  Sharing(Graph* graph, const Fits& fits) : graph_(*graph), fits_(fits) {}

  bool Share(const Node& node) {
    const Op& op = OpOf(node);
    if (!op.part || !node.fused.empty()) return false;
    const ValueId in = node.inputs[0], out = node.outputs[0];
    if (!IsKept(in) || !CanBeView(out) || !AreAlike(in, out)) return false;
    SlicePlaces places;
    Shape taken;
    Run run;
    const Shape shape = graph_.shape(in);
    if (!op.part(graph_, node, &places, &taken) || graph_.shape(out).c % 4 != 0 ||
        SlicesOf(shape) > kMostSlices || !FindRun(shape, places, taken, &run)) {
      return false;
    }
    const bool is_all = run.all() == SlicesOf(shape);
    const Value before[] = {graph_.value(in), graph_.value(out)};
    const size_t values = graph_.values.size();
    if (Place(in, out, run, is_all) && (!graph_.IsView(in) || Fit(in)) && Fit(out)) return true;
    graph_.value(in) = before[0];
    graph_.value(out) = before[1];
    graph_.values.resize(values);
    return false;
  }

 private:
  // Between nodes, in slices.
  bool IsKept(ValueId id) const {
    const Value& value = graph_.value(id);
    return !value.constant && !value.dense && graph_.Producer(id) >= 0;
  }

  // Inputs and outputs keep memory of their own: the plan knows them by that.
  bool CanBeView(ValueId id) const {
    const auto is_border = [this](int at) {
      const Node& node = graph_.nodes[static_cast<size_t>(at)];
      return OpOf(node).formula &&
             (graph_.value(node.inputs[0]).dense || graph_.value(node.outputs[0]).dense);
    };
    const std::vector<int> readers = graph_.Consumers(id);
    return IsKept(id) && !is_border(graph_.Producer(id)) &&
           std::none_of(readers.begin(), readers.end(), is_border);
  }

  bool AreAlike(ValueId in, ValueId out) const {
    const Value &from = graph_.value(in), &to = graph_.value(out);
    return IsFloat(from.element) == IsFloat(to.element) && from.float32 == to.float32;
  }

  // False: there is no memory that both can lie in.
  bool Place(ValueId in, ValueId out, const Run& run, bool is_all) {
    if (!graph_.IsView(in) && !IsPixel(graph_.shape(in))) {
      if (!CanBeView(in)) return false;
      if (is_all && IsPixel(graph_.shape(out))) {
        graph_.value(in).memory_of = out;
        return true;
      }
      Value memory = graph_.value(in);
      memory.shape = Shape();
      memory.shape.c = static_cast<int>(SlicesOf(graph_.shape(in)) * 4);
      const ValueId added = graph_.AddValue(std::move(memory));
      graph_.value(in).memory_of = added;
    }
    Value& made = graph_.value(out);
    made.memory_of = graph_.MemoryOf(in);
    return Through(graph_.value(in).view, run, is_all, &made.view);
  }

  bool Fit(ValueId id) const {
    const auto fits = [this](int at) {
      return fits_(graph_, graph_.nodes[static_cast<size_t>(at)]);
    };
    const std::vector<int> readers = graph_.Consumers(id);
    return fits(graph_.Producer(id)) && std::all_of(readers.begin(), readers.end(), fits);
  }

  Graph& graph_;
  const Fits& fits_;
};

}  // namespace

int ShareMemory(Graph* graph, const Fits& fits) {
  int shared = 0;
  Sharing sharing(graph, fits);
  for (const Node& node : graph->nodes) shared += sharing.Share(node);
  return shared;
}

}  // namespace quadra
