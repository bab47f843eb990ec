#include "delegate_native/plan/write_plan.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "delegate_native/base/hash.h"
#include "delegate_native/base/status.h"
#include "delegate_native/base/version.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {
namespace {

template <typename T>
using Offset = flatbuffers::Offset<T>;

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
  // Reserves what a builder takes first: a builder cannot report that memory is refused.
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

class Writer {
 public:
  explicit Writer(const PlannedGraph& planned)
      : planned_(planned),
        rendered_(planned.rendered),
        layout_(planned.layout),
        is_gles_(planned.context.gpu->api == Api::kGles) {}

  Status Run(PlanBytes* plan) {
    const size_t room = Room();
    QUADRA_RETURN_IF_ERROR(allocator_.Reserve(room));
    builder_ =
        flatbuffers::FlatBufferBuilder(room, &allocator_, /*own_allocator=*/false, PageBytes());
    Write(plan);
    return Status();
  }

 private:
  // For all of the plan at once: a builder that grows copies what it has. Pages that nothing is
  // written to cost nothing.
  size_t Room() const {
    constexpr size_t kTables = 1 << 20, kProgram = 1 << 14, kDispatch = 1 << 10;
    size_t room = static_cast<size_t>(layout_.constant_bytes()) + kTables +
                  kProgram * rendered_.programs.size() + kDispatch * rendered_.dispatches.size();
    for (const DistinctKernel& kernel : rendered_.kernels) room += kernel.source.size();
    // Whole pages, which the builder begins to fill at their end.
    return (room / PageBytes() + 1 + layout_.large_constants()) * PageBytes();
  }

  Offset<fb::Program> WriteProgram(size_t index) {
    std::string sources;
    for (const DistinctKernel& kernel : rendered_.kernels) {
      if (kernel.program == index) sources += kernel.source;
    }
    const size_t any = static_cast<size_t>(rendered_.programs[index]);
    const auto [float32, unoptimised] = planned_.kernels.kernels[any].variant;
    std::string prelude = Prelude(planned_.context.For(float32).DialectOf(), sources);
    std::string options;
    if (!is_gles_) {
      options = unoptimised ? "-cl-std=CL1.2 -cl-opt-disable" : "-cl-std=CL1.2 -cl-mad-enable";
    } else if (unoptimised) {
      prelude += "#pragma optimize(off)\n";
    }
    uint64_t fingerprint = Hash(prelude.data(), prelude.size());
    fingerprint = Hash(options.data(), options.size(), fingerprint);
    std::vector<Offset<fb::Kernel>> kernels;
    for (const DistinctKernel& kernel : rendered_.kernels) {
      if (kernel.program != index) continue;
      fingerprint = Hash(kernel.source.data(), kernel.source.size(), fingerprint);
      const auto parameters = builder_.CreateVectorOfStrings(kernel.parameters);
      const auto source = builder_.CreateString(kernel.source);
      const auto name = builder_.CreateString(kernel.name);
      const auto entry = builder_.CreateString(kernel.entry);
      kernels.push_back(fb::CreateKernel(builder_, entry, name, source, parameters));
    }
    return fb::CreateProgramDirect(builder_, prelude.c_str(), &kernels, options.c_str(),
                                   fingerprint, float32, unoptimised);
  }

  // Every part is written in a statement of its own, here and below: compilers evaluate arguments
  // in different orders, and the same plan is the same bytes.
  Offset<fb::Dispatch> WriteDispatch(size_t i) {
    const PlannedDispatch& dispatch = rendered_.dispatches[i];
    const KernelDesc& desc = planned_.kernels.kernels[dispatch.kernel];
    std::vector<int> sources;
    for (int node : planned_.kernels.nodes[dispatch.kernel]) {
      const std::vector<int>& own = planned_.graph.nodes[static_cast<size_t>(node)].sources;
      for (int source : own) {
        if (std::find(sources.begin(), sources.end(), source) == sources.end())
          sources.push_back(source);
      }
    }
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
        case RenderedArg::Kind::kFirstTexel: {
          const int region = layout_.RegionOf(desc.constants[static_cast<size_t>(arg.index)]);
          const unsigned bytes = arg.view == RenderedArg::View::kTexelsHalf4 ? 8 : 16;
          const auto first = static_cast<int>(layout_.OffsetOf(region) / bytes);
          args.emplace_back(fb::ArgKind_Int, false, fb::View_Memory, 0, first, 0.0f);
          break;
        }
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
      grid.push_back(rendered.grid[a]);
    }
    const DistinctKernel& distinct = rendered_.kernels[dispatch.distinct];
    const auto args_at = builder_.CreateVectorOfStructs(args);
    const auto grid_at = builder_.CreateVector(grid);
    const auto nodes_at = builder_.CreateVector(sources);
    const auto local_at = builder_.CreateVector(local);
    const auto global_at = builder_.CreateVector(global);
    const auto entry = builder_.CreateString(distinct.entry);
    const auto kernel = builder_.CreateString(desc.name);
    const auto name = builder_.CreateString(Format("%03zu_", i) + desc.name);
    return fb::CreateDispatch(builder_, name, kernel, static_cast<int>(distinct.program), entry,
                              args_at, global_at, local_at, nodes_at, grid_at, desc.shares_sums,
                              desc.HasFreeGroup() && !dispatch.IsPart(), desc.parts > 1);
  }

  std::vector<Offset<fb::Io>> WriteIo(const std::vector<ValueId>& tensors) {
    std::vector<Offset<fb::Io>> ios;
    for (int tensor : tensors) {
      const Shape& s = layout_.LayoutOf(tensor).shape;
      const std::vector<int> shape = {s.b, s.h, s.w, s.c};
      ios.push_back(fb::CreateIoDirect(builder_, tensor, &shape));
    }
    return ios;
  }

  void Write(PlanBytes* plan) {
    const GpuInfo& gpu = *planned_.context.gpu;
    const auto buffers = layout_.WriteBuffers(&builder_, planned_.known);
    const auto regions = layout_.WriteRegions(&builder_);
    const auto tensors = layout_.WriteTensors(&builder_, rendered_.dispatch_of_kernel);
    std::vector<Offset<fb::Program>> program_list(rendered_.programs.size());
    for (size_t i = 0; i < program_list.size(); ++i) program_list[i] = WriteProgram(i);
    const auto programs = builder_.CreateVector(program_list);
    std::vector<Offset<fb::Dispatch>> dispatch_list(rendered_.dispatches.size());
    for (size_t i = 0; i < dispatch_list.size(); ++i) dispatch_list[i] = WriteDispatch(i);
    const auto dispatches = builder_.CreateVector(dispatch_list);
    const auto inputs = builder_.CreateVector(WriteIo(planned_.graph.inputs));
    const auto outputs = builder_.CreateVector(WriteIo(planned_.graph.outputs));
    const auto precision = builder_.CreateString(NameOf(planned_.context.precision));
    const auto device = builder_.CreateString(gpu.device_name);
    const auto target = builder_.CreateString(gpu.name);
    const auto api = builder_.CreateString(is_gles_ ? "gles" : "opencl");
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

  const PlannedGraph& planned_;
  const RenderedPlan& rendered_;
  const Layout& layout_;
  const bool is_gles_;
  PageAllocator allocator_;
  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace

Status WritePlan(const PlannedGraph& planned, PlanBytes* plan) { return Writer(planned).Run(plan); }

}  // namespace quadra
