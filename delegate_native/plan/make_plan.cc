#include "delegate_native/plan/make_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "delegate_native/base/cpu_shapes.h"
#include "delegate_native/base/hash.h"
#include "delegate_native/base/version.h"
#include "delegate_native/ops/elementwise.h"
#include "delegate_native/ops/limits.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/plan/io_kernels.h"
#include "delegate_native/plan/layout.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {
namespace {

template <typename T>
using Offset = flatbuffers::Offset<T>;

// Stands for the entry's name until the text is known.
constexpr char kEntry[] = "QUADRA_ENTRY";

fb::View ViewOf(const RenderedArg& arg) {
  switch (arg.view) {
    case RenderedArg::View::kMemory: return fb::View_Memory;
    case RenderedArg::View::kTexelsFloat4: return fb::View_TexelsFloat4;
    case RenderedArg::View::kTexelsHalf4: return fb::View_TexelsHalf4;
    case RenderedArg::View::kTexelsFloat: return fb::View_TexelsFloat;
    case RenderedArg::View::kTexelsInt4: return fb::View_TexelsInt4;
    case RenderedArg::View::kTexelsInt: return fb::View_TexelsInt;
  }
  return fb::View_Memory;
}

// Pages: a session gives those of weights back when a device has copied them.
class PageAllocator : public flatbuffers::Allocator {
 public:
  ~PageAllocator() override {
    if (reserved_) deallocate(reserved_, size_);
  }
  // What a builder takes first. It cannot be refused memory; this can be.
  Status Reserve(size_t size) {
    size_ = size;
    reserved_ = Map(size);
    return reserved_ ? Status()
                     : Unsupported(
                           "make a plan of %zu bytes: the process has no memory of this "
                           "size in one piece; next: precision=f32_f16 halves weights",
                           size);
  }
  uint8_t* allocate(size_t size) override {
    if (size == size_ && reserved_) return std::exchange(reserved_, nullptr);
    uint8_t* memory = Map(size);
    if (!memory) abort();  // as operator new does here
    return memory;
  }
  void deallocate(uint8_t* memory, size_t size) override { munmap(memory, size); }

 private:
  static uint8_t* Map(size_t size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
  }

  uint8_t* reserved_ = nullptr;
  size_t size_ = 0;
};

// A kernel ready to be written: where its text is and what it is called with.
struct PlannedDispatch {
  const KernelDesc* desc = nullptr;
  std::vector<int> nodes;
  RenderedKernel rendered;
  int kernel = -1;  // into the distinct kernels
};

struct DistinctKernel {
  std::string name;
  std::string entry;
  std::string source;
  std::vector<std::string> parameters;  // where it can be called through a common entry
  bool float32 = false, unoptimised = false;
  size_t program = 0;
};

// A driver takes so many times as long for an unoptimised loop, and its watchdog may be watching.
constexpr int kSlower = 16;

// Whether an op's result may be another one altogether where its operand is hardly another.
bool Jumps(const std::string& op) {
  constexpr const char* kWords = "floor\0ceil\0round\0sign\0equal\0less\0greater\0";
  const char* word = kWords;
  while (*word && op.find(word) == std::string::npos) word += strlen(word) + 1;
  return *word != 0;
}

// The target with what the request takes away.
GpuInfo Asked(GpuInfo gpu, const PlanRequest& request) {
  gpu.shares_sums &= request.shares_sums;
  gpu.max_work_group_size = std::min(gpu.max_work_group_size, request.most_items);
  return gpu;
}

// Makes one plan; each function is a step, in the order in which Run calls them.
class Planner {
 public:
  Planner(const Graph& graph, const GpuInfo& gpu, const PlanRequest& request,
          const GpuInfo& plain_gpu, std::vector<Check>* checks)
      : graph_(graph),
        gpu_(gpu),
        precision_(request.precision),
        groups_(request.groups),
        checks_(checks),
        layout_(graph, gpu, request.precision) {
    context_.gpu = &gpu;
    plain_context_.precision = context_.precision = precision_;
    dialect_ = context_.DialectOf();
    plain_context_.gpu = &plain_gpu;
  }

  Status Run(PlanBytes* plan) {
    QUADRA_RETURN_IF_ERROR(CollectKernels());
    QUADRA_RETURN_IF_ERROR(layout_.Place(kernels_));
    RenderAll();
    for (size_t i = 0; checks_ && i < checks_->size(); ++i) {
      for (int* at : {&(*checks_)[i].first, &(*checks_)[i].end}) {
        *at = dispatch_of_kernel_[static_cast<size_t>(*at)];
      }
    }
    const size_t room = Room();
    QUADRA_RETURN_IF_ERROR(allocator_.Reserve(room));
    builder_ = flatbuffers::FlatBufferBuilder(room, &allocator_, /*own_allocator=*/false,
                                              PlanBytes::kAlignment);
    Write(plan);
    return Status();
  }

 private:
  // Kernels of all nodes, between those that bring inputs in and outputs out.
  Status CollectKernels() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Shape& shape = graph_.shape(graph_.inputs[i]);
      const Value& value = graph_.value(graph_.inputs[i]);
      const Node* dequantize = OnlyDequantized(graph_.inputs[i]);
      // The model's name of an input that no other tensor of the plan has.
      const std::string name = dequantize ? value.name : Format("input_%zu", i);
      inputs_.push_back(layout_.AddInput(name, shape, value.element));
      Node only;  // that the numbers come in
      only.outputs = {graph_.inputs[i]};
      QUADRA_RETURN_IF_ERROR(AddNode(dequantize ? *dequantize : only, inputs_.back()));
    }
    for (const Node& node : graph_.nodes) {
      if (!node.inputs.empty() && OnlyDequantized(node.inputs[0]) == &node) continue;
      if (OnlyQuantized(node.outputs[0]) == &node) continue;
      QUADRA_RETURN_IF_ERROR(AddNode(node, -1));
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Shape& shape = graph_.shape(graph_.outputs[i]);
      const Element element = graph_.value(graph_.outputs[i]).element;
      const int dense = layout_.AddDense(Format("output_%zu", i), shape, element);
      outputs_.push_back(dense);
      const Node* quantize = OnlyQuantized(graph_.outputs[i]);
      if (checks_) {
        const int made = static_cast<int>(kernels_.size());  // by the first copy
        const int copy = AddChecks(quantize ? CheckOf(*quantize) : Check(), made, made + 1, 1);
        AddCopy(graph_.outputs[i], {}, copy, false, quantize);
        AddCopy(graph_.outputs[i], {}, copy + 1, true, quantize);
        continue;
      }
      const ValueId made = quantize ? quantize->inputs[0] : graph_.outputs[i];
      AddKernel(FromSlices(context_, shape, made, dense, quantize),
                quantize ? quantize->sources : std::vector<int>(), IsFloat32(made));
    }
    return Status();
  }

  // The kernels that make a node's values, once or in both ways, and the copies behind them.
  // `dense`: the input that they bring in, which the node may dequantize; -1: none.
  Status AddNode(const Node& node, int dense) {
    const int first = static_cast<int>(kernels_.size());
    QUADRA_RETURN_IF_ERROR(AddKernels(node, dense, context_, false));
    if (!checks_) {
      for (ValueId value : node.outputs) AddCopies(value, node.sources);
      return Status();
    }
    const int end = static_cast<int>(kernels_.size());
    const int copy = AddChecks(CheckOf(node), first, end, node.outputs.size());
    for (int side = 0; side < 2; ++side) {
      // Where limits of the device exclude the plainest, the same again.
      if (side == 1 && !AddKernels(node, dense, plain_context_, true).ok()) {
        QUADRA_RETURN_IF_ERROR(AddKernels(node, dense, context_, true));
      }
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        AddCopy(node.outputs[i], node.sources, copy + 2 * static_cast<int>(i) + side, true);
      }
    }
    return Status();
  }

  Status AddKernels(const Node& node, int dense, const KernelContext& context, bool unoptimised) {
    KernelList list;
    list.first_scratch = layout_.size();
    bool float32 = node.float32;
    if (dense < 0) {
      QUADRA_RETURN_IF_ERROR(MakeKernels(context.For(float32), graph_, node, &list));
    } else {
      const Node* dequantize = node.op.empty() ? nullptr : &node;
      const ValueId made = node.outputs[0];
      float32 = IsFloat32(made);
      list.kernels.push_back(ToSlices(context, graph_.value(made), dense, made, dequantize));
      if (dequantize)
        QUADRA_RETURN_IF_ERROR(AttachEpilogue(context, graph_, node, 0, &list.kernels[0]));
    }
    for (const KernelList::Scratch& made : list.scratch) {
      layout_.AddSlices("scratch", made.shape, made.element, float32);
    }
    for (KernelDesc& kernel : list.kernels) {
      kernel.unoptimised = unoptimised;
      AddKernel(std::move(kernel), node.sources, float32);
    }
    return Status();
  }

  // Of so many results of the kernels from `first` to `end`; the first copy's number.
  int AddChecks(Check check, int first, int end, size_t count) {
    check.first = first;
    check.end = end;
    checks_->resize(checks_->size() + count, check);
    return 2 * static_cast<int>(checks_->size() - count);
  }

  Check CheckOf(const Node& node) const {
    Check check;
    const auto look_at = [&](const std::string& op, const Attributes& attributes) {
      const bool onto_grid = attributes.Has("inverse");
      check.jumps |= onto_grid || Jumps(op);
      if (onto_grid) check.step = std::max(check.step, attributes.Float("scale"));
    };
    look_at(node.op, node.attributes);
    for (const FusedStep& step : node.fused) look_at(step.op, step.attributes);
    for (ValueId output : node.outputs) check.jumps |= !IsFloat(graph_.value(output).element);
    return check;
  }

  // The one reader of an input that nobody wants as the integers that it is; or null.
  const Node* OnlyDequantized(ValueId input) const {
    const auto is = [input](ValueId other) { return other == input; };
    if (std::none_of(graph_.inputs.begin(), graph_.inputs.end(), is) ||
        std::any_of(graph_.outputs.begin(), graph_.outputs.end(), is)) {
      return nullptr;
    }
    const std::vector<int> readers = graph_.Consumers(input);
    if (readers.size() != 1) return nullptr;
    const Node& node = graph_.nodes[static_cast<size_t>(readers[0])];
    const auto is_ready = [this](const FusedStep& step) {
      return std::all_of(step.inputs.begin(), step.inputs.end(),
                         [this](ValueId id) { return graph_.IsConstant(id); });
    };
    return node.op == "dequantize" && std::all_of(node.fused.begin(), node.fused.end(), is_ready)
               ? &node
               : nullptr;
  }

  // The node that makes an output's integers of floats, if nobody else wants them; or null.
  const Node* OnlyQuantized(ValueId output) const {
    const auto is = [output](ValueId other) { return other == output; };
    const auto is_kept = [output](const auto& tensor) { return tensor.second == output; };
    if (std::count_if(graph_.outputs.begin(), graph_.outputs.end(), is) != 1 ||
        std::any_of(graph_.tensors.begin(), graph_.tensors.end(), is_kept) ||
        !graph_.Consumers(output).empty()) {
      return nullptr;
    }
    const int producer = graph_.Producer(output);
    const Node* node = producer < 0 ? nullptr : &graph_.nodes[static_cast<size_t>(producer)];
    return node && node->op == "quantize" && node->fused.empty() ? node : nullptr;
  }

  // Behind the kernels that make the value, where they store it: its memory is its own then.
  void AddCopies(ValueId id, const std::vector<int>& nodes) {
    for (const auto& [tensor, value] : graph_.tensors) {
      if (value == id) AddCopy(id, nodes, tensor, false);
    }
  }

  // `quantize`: the node that makes the value on its way out, if there is one.
  void AddCopy(ValueId id, const std::vector<int>& nodes, int number, bool unoptimised,
               const Node* quantize = nullptr) {
    const Shape& shape = graph_.shape(id);
    const int copy = layout_.AddDense("copy", shape, graph_.value(id).element, number + 1);
    const ValueId made = quantize ? quantize->inputs[0] : id;
    KernelDesc kernel =
        FromSlices(unoptimised ? plain_context_ : context_, shape, made, copy, quantize);
    kernel.unoptimised = unoptimised;
    AddKernel(std::move(kernel), nodes, IsFloat32(made));
  }

  bool IsFloat32(ValueId id) const { return graph_.value(id).float32; }

  void AddKernel(KernelDesc kernel, std::vector<int> nodes, bool float32) {
    kernel.float32 = float32;
    for (ConstantArg& constant : kernel.constants) {
      constant.half = constant.CellOf(precision_ != Precision::kF32 && !float32) == Cell::kHalf;
    }
    FitGroup(gpu_, &kernel);
    kernel.outlined = gpu_.is_cpu() && kernel.shared.empty() && !kernel.unoptimised;
    kernels_.push_back(std::move(kernel));
    nodes_of_kernel_.push_back(std::move(nodes));
  }

  // Texts; equal texts are one kernel. The entry's name comes from the text, so that a kernel is
  // the same in every plan: what was compiled for one partition serves another.
  void RenderAll() {
    size_t own = 0;  // dispatches of the graph's plan
    for (size_t i = 0; i < kernels_.size(); ++i) {
      KernelDesc& desc = kernels_[i];
      Dialect dialect = DialectFor(desc.float32);
      if (desc.unoptimised) dialect.max_trips /= kSlower;
      else Regroup(own, &desc, &dialect);
      std::vector<TensorLayout> layouts(desc.tensors.size());
      for (size_t k = 0; k < layouts.size(); ++k)
        layouts[k] = layout_.LayoutOf(desc.tensors[k].tensor);
      PlannedDispatch dispatch;
      dispatch.desc = &desc;
      dispatch.nodes = nodes_of_kernel_[i];
      dispatch.rendered = Render(desc, layouts, dialect, kEntry);
      dispatch.kernel = FindOrAdd(desc, dispatch.rendered);
      const size_t before = dispatches_.size();
      dispatch_of_kernel_.push_back(static_cast<int>(before));
      AddDispatches(std::move(dispatch), 0);
      if (!desc.unoptimised) own += dispatches_.size() - before;
    }
    dispatch_of_kernel_.push_back(static_cast<int>(dispatches_.size()));
    for (DistinctKernel& kernel : distinct_) {
      std::string& text = kernel.source;
      for (size_t at; (at = text.find(kEntry)) != std::string::npos;) {
        text.replace(at, sizeof(kEntry) - 1, kernel.entry);
      }
    }
  }

  // Work-items that know nothing of each other.
  static bool HasFreeGroup(const KernelDesc& desc) { return desc.shared.empty() && !desc.outlined; }
  static bool IsInParts(const RenderedKernel& rendered) {
    return rendered.base_arg[0] >= 0 || rendered.base_arg[1] >= 0 || rendered.base_arg[2] >= 0;
  }

  void Regroup(size_t dispatch, KernelDesc* desc, Dialect* dialect) const {
    if (dispatch >= groups_.size() || groups_[dispatch][0] < 1 || !HasFreeGroup(*desc)) return;
    const Group& group = groups_[dispatch];
    desc->Group(group[0], group[1], group[2]);
    if (dialect->flat_group > 0) dialect->flat_group = group[0];
  }

  // One dispatch, or several with a part each of a grid that is too large along `axis` or later
  // ones.
  void AddDispatches(PlannedDispatch dispatch, int axis) {
    if (axis == 3) {
      dispatches_.push_back(std::move(dispatch));
      return;
    }
    RenderedKernel& rendered = dispatch.rendered;
    const int base_arg = rendered.base_arg[axis];
    if (base_arg < 0) return AddDispatches(std::move(dispatch), axis + 1);
    const int most = rendered.group[axis] * rendered.max_groups[axis];
    const int all = rendered.grid[axis];
    for (int first = 0; first < all; first += most) {
      rendered.args[static_cast<size_t>(base_arg)].i = first;
      rendered.grid[axis] = std::min(most, all - first);
      AddDispatches(dispatch, axis + 1);
    }
  }

  int FindOrAdd(const KernelDesc& desc, const RenderedKernel& rendered) {
    const std::string& source = rendered.source;
    for (size_t k = 0; k < distinct_.size(); ++k) {
      if (distinct_[k].source == source && distinct_[k].float32 == desc.float32 &&
          distinct_[k].unoptimised == desc.unoptimised)
        return static_cast<int>(k);
    }
    DistinctKernel kernel;
    kernel.float32 = desc.float32;
    kernel.unoptimised = desc.unoptimised;
    kernel.program = ProgramFor(desc);
    kernel.name = desc.name;
    kernel.source = source;
    uint32_t number = static_cast<uint32_t>(Hash(source.data(), source.size()) >> 16);
    const auto taken = [&](const DistinctKernel& other) { return other.entry == kernel.entry; };
    do {
      // Names of the graph's plan stay.
      kernel.entry = desc.name + Format(desc.unoptimised ? "_plain_%08x" : "_%08x", number++);
    } while (std::any_of(distinct_.begin(), distinct_.end(), taken));
    // A common entry point knows no numbers of its own.
    if (kHasCpuShapes && desc.outlined && !IsInParts(rendered) &&
        desc.group[0] * desc.group[1] * desc.group[2] == 1) {
      kernel.parameters = rendered.types;
    }
    distinct_.push_back(std::move(kernel));
    return static_cast<int>(distinct_.size()) - 1;
  }

  bool one_program() const { return gpu_.one_program && dialect_.language == Language::kOpenCl; }
  // A new kernel's: its own, or that of all which have the same prelude.
  size_t ProgramFor(const KernelDesc& desc) {
    size_t& shared = program_of_[desc.float32][desc.unoptimised];
    if (shared == 0 || !one_program()) shared = ++programs_;
    return shared - 1;
  }
  Dialect DialectFor(bool float32) const { return context_.For(float32).DialectOf(); }

  // For all of the plan at once: a builder that grows copies what it has. Pages that nothing is
  // written to cost nothing.
  size_t Room() const {
    constexpr size_t kTables = 1 << 20, kProgram = 1 << 14, kDispatch = 1 << 10;
    size_t room = static_cast<size_t>(layout_.constant_bytes()) + kTables + kProgram * programs_ +
                  kDispatch * dispatches_.size();
    for (const DistinctKernel& kernel : distinct_) room += kernel.source.size();
    constexpr size_t kAligned = PlanBytes::kAlignment;
    return (room + kAligned - 1) / kAligned * kAligned;
  }

  Offset<fb::Program> WriteProgram(size_t index) {
    std::string sources;
    bool float32 = false, unoptimised = false;
    for (const DistinctKernel& kernel : distinct_) {
      if (kernel.program != index) continue;
      sources += kernel.source;
      float32 = kernel.float32;
      unoptimised = kernel.unoptimised;
    }
    std::string prelude = Prelude(DialectFor(float32), sources);
    std::string options;
    if (dialect_.language == Language::kOpenCl) {
      options = unoptimised ? "-cl-std=CL1.2 -cl-opt-disable" : "-cl-std=CL1.2 -cl-mad-enable";
    } else if (unoptimised) {
      prelude += "#pragma optimize(off)\n";
    }
    uint64_t fingerprint = Hash(prelude.data(), prelude.size());
    fingerprint = Hash(options.data(), options.size(), fingerprint);
    std::vector<Offset<fb::Kernel>> kernels;
    for (const DistinctKernel& kernel : distinct_) {
      if (kernel.program != index) continue;
      fingerprint = Hash(kernel.source.data(), kernel.source.size(), fingerprint);
      const auto parameters = builder_.CreateVectorOfStrings(kernel.parameters);
      const auto source = builder_.CreateString(kernel.source);
      const auto name = builder_.CreateString(kernel.name);
      const auto entry = builder_.CreateString(kernel.entry);
      kernels.push_back(fb::CreateKernel(builder_, entry, name, source, parameters));
    }
    return fb::CreateProgramDirect(builder_, prelude.c_str(), &kernels, options.c_str(),
                                   fingerprint);
  }

  // Every part is written in a statement of its own, here and below: compilers evaluate arguments
  // in different orders, and the same plan is the same bytes.
  Offset<fb::Dispatch> WriteDispatch(size_t i) {
    const PlannedDispatch& dispatch = dispatches_[i];
    const KernelDesc& desc = *dispatch.desc;
    const RenderedKernel& rendered = dispatch.rendered;
    std::vector<fb::Arg> args;
    for (const RenderedArg& arg : rendered.args) {
      switch (arg.kind) {
        case RenderedArg::Kind::kTensor: {
          const TensorArg& tensor = desc.tensors[static_cast<size_t>(arg.index)];
          args.emplace_back(fb::ArgKind_Buffer, tensor.access == Access::kWrite, ViewOf(arg),
                            layout_.RegionOf(tensor.tensor), 0, 0.0f);
          break;
        }
        case RenderedArg::Kind::kConstant:
          args.emplace_back(fb::ArgKind_Buffer, false, ViewOf(arg),
                            layout_.RegionOf(desc.constants[static_cast<size_t>(arg.index)]), 0,
                            0.0f);
          break;
        case RenderedArg::Kind::kInt:
          args.emplace_back(fb::ArgKind_Int, false, fb::View_Memory, 0, arg.i, 0.0f);
          break;
        case RenderedArg::Kind::kFloat:
          args.emplace_back(fb::ArgKind_Float, false, fb::View_Memory, 0, 0, arg.f);
          break;
      }
    }
    std::vector<int> global, local, grid;
    for (int a = 0; a < 3; ++a) {
      local.push_back(rendered.group[a]);
      global.push_back(CeilDiv(rendered.grid[a], rendered.group[a]) * rendered.group[a]);
      if (HasFreeGroup(desc) && !IsInParts(rendered)) grid.push_back(rendered.grid[a]);
    }
    const DistinctKernel& distinct = distinct_[static_cast<size_t>(dispatch.kernel)];
    const auto args_at = builder_.CreateVectorOfStructs(args);
    const auto grid_at = builder_.CreateVector(grid);
    const auto nodes_at = builder_.CreateVector(dispatch.nodes);
    const auto local_at = builder_.CreateVector(local);
    const auto global_at = builder_.CreateVector(global);
    const auto entry = builder_.CreateString(distinct.entry);
    const auto kernel = builder_.CreateString(desc.name);
    const auto name = builder_.CreateString(Format("%03zu_", i) + desc.name);
    return fb::CreateDispatch(builder_, name, kernel, static_cast<int>(distinct.program), entry,
                              args_at, global_at, local_at, nodes_at, grid_at, desc.shares_sums);
  }

  std::vector<Offset<fb::Io>> WriteIo(const std::vector<int>& tensors) {
    std::vector<Offset<fb::Io>> ios;
    for (int tensor : tensors) {
      const Shape& s = layout_.LayoutOf(tensor).shape;
      const std::vector<int> shape = {s.b, s.h, s.w, s.c};
      ios.push_back(fb::CreateIoDirect(builder_, tensor, &shape));
    }
    return ios;
  }

  void Write(PlanBytes* plan) {
    const auto buffers = layout_.WriteBuffers(&builder_);
    const auto regions = layout_.WriteRegions(&builder_);
    const auto tensors = layout_.WriteTensors(&builder_, dispatch_of_kernel_);
    std::vector<Offset<fb::Program>> program_list(programs_);
    for (size_t i = 0; i < programs_; ++i) program_list[i] = WriteProgram(i);
    const auto programs = builder_.CreateVector(program_list);
    std::vector<Offset<fb::Dispatch>> dispatch_list(dispatches_.size());
    for (size_t i = 0; i < dispatches_.size(); ++i) dispatch_list[i] = WriteDispatch(i);
    const auto dispatches = builder_.CreateVector(dispatch_list);
    const auto inputs = builder_.CreateVector(WriteIo(inputs_));
    const auto outputs = builder_.CreateVector(WriteIo(outputs_));
    const auto precision = builder_.CreateString(NameOf(precision_));
    const auto device = builder_.CreateString(gpu_.device_name);
    const auto target = builder_.CreateString(gpu_.name);
    const auto api =
        builder_.CreateString(dialect_.language == Language::kGles ? "gles" : "opencl");
    const auto version = builder_.CreateString(kVersion);
    const auto root = fb::CreatePlan(
        builder_, /*version=*/1, version, api, target, device, precision, buffers, regions, tensors,
        programs, dispatches, inputs, outputs, layout_.activation_bytes(),
        layout_.activation_bytes_lower_bound(), layout_.constant_bytes());
    fb::FinishPlanBuffer(builder_, root);
    size_t bytes = 0, offset = 0;
    uint8_t* memory = builder_.ReleaseRaw(bytes, offset);
    *plan = PlanBytes(PlanBytes::Pages(memory, {bytes}), offset, bytes - offset);
  }

  const Graph& graph_;
  const GpuInfo& gpu_;
  const Precision precision_;
  const std::vector<Group>& groups_;
  std::vector<Check>* const checks_;  // null: the plan is the graph's own
  Dialect dialect_;
  KernelContext context_;
  KernelContext plain_context_;
  Layout layout_;
  std::vector<KernelDesc> kernels_;
  std::vector<std::vector<int>> nodes_of_kernel_;
  std::vector<PlannedDispatch> dispatches_;
  std::vector<int> dispatch_of_kernel_;  // its first; a last entry tells how many there are
  std::vector<DistinctKernel> distinct_;
  size_t programs_ = 0;
  // Where kernels share one, that of the plan's precision and that of float32, each optimised and
  // not, from 1; 0: none yet.
  size_t program_of_[2][2] = {};
  std::vector<int> inputs_, outputs_;
  PageAllocator allocator_;
  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace

Status MakePlan(const Graph& graph, const GpuInfo& gpu, const PlanRequest& request,
                PlanBytes* plan) {
  const GpuInfo asked = Asked(gpu, request);
  return Planner(graph, asked, request, asked, nullptr).Run(plan);
}

Status MakeChecks(const Graph& graph, const GpuInfo& gpu, const PlanRequest& request,
                  PlanBytes* plan, std::vector<Check>* checks) {
  const GpuInfo asked = Asked(gpu, request);
  // Each work-item makes one result, and shares nothing with others.
  GpuInfo plain = gpu;
  plain.vector_width = 4;
  plain.winograd_channels = GpuInfo::kNever;
  plain.flat_group = 0;
  plain.local_memory_bytes = 0;
  plain.enough_work_items = INT32_MAX;
  return Planner(graph, asked, request, plain, checks).Run(plan);
}

}  // namespace quadra
