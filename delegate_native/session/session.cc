#include "delegate_native/session/session.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "delegate_native/base/clock.h"
#include "delegate_native/base/log.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/passes/pipeline.h"
#include "delegate_native/plan/binaries.h"
#include "delegate_native/session/dump.h"
#include "delegate_native/session/hold_float32.h"
#include "delegate_native/session/io_numbers.h"

namespace quadra {
namespace {

constexpr size_t kMostProfiles = 100;

// Whether the plan's ports have as many numbers as these values of the graph.
bool Fit(const flatbuffers::Vector<flatbuffers::Offset<fb::Io>>& ports, const Graph& graph,
         const std::vector<ValueId>& values) {
  if (ports.size() != values.size()) return false;
  for (unsigned i = 0; i < ports.size(); ++i) {
    int64_t numbers = 1;
    for (int32_t n : *ports.Get(i)->shape()) numbers *= n;
    if (numbers != graph.shape(values[i]).elements()) return false;
  }
  return true;
}

// Gives the memory of a plan's constants back. They read as zeros then, or as the file has them.
void LetConstantsGo(const fb::Plan& plan) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));  // a power of two
  for (const fb::Buffer* buffer : *plan.buffers()) {
    if (buffer->kind() != fb::BufferKind_Constant) continue;
    uint8_t* data = const_cast<uint8_t*>(buffer->data()->data());
    const size_t before = -reinterpret_cast<uintptr_t>(data) & (page - 1);  // its first whole page
    const size_t size = buffer->data()->size();
    const size_t whole = size > before ? (size - before) & ~(page - 1) : 0;
    if (whole > 0) madvise(data + before, whole, MADV_DONTNEED);
  }
}

}  // namespace

Session::Session(Graph graph, std::shared_ptr<Backend> backend, SessionOptions options)
    : graph_(std::move(graph)), backend_(std::move(backend)), options_(std::move(options)) {
  if (!options_.dump_tensors) graph_.tensors.clear();  // no plan copies them
}

Status Session::Prepare(const std::vector<Shape>& input_shapes) {
  if (input_shapes.size() != graph_.inputs.size()) {
    return Internal("%zu shapes for %zu inputs", input_shapes.size(), graph_.inputs.size());
  }
  for (size_t i = 0; i < input_shapes.size(); ++i) {
    Shape& shape = graph_.value(graph_.inputs[i]).shape;
    if (shape == input_shapes[i]) continue;
    shape = input_shapes[i];
    ready_ = false;
  }
  if (ready_) return Status();
  QUADRA_RETURN_IF_ERROR(Build());
  ready_ = true;
  return Status();
}

Status Session::Build() {
  int64_t mark = NowUs();
  const auto lap = [&mark] {
    const int64_t start = std::exchange(mark, NowUs());
    return mark - start;
  };
  Graph imported = graph_;
  QUADRA_RETURN_IF_ERROR(InferShapes(&imported));
  const std::string& dump_dir = options_.dump_dir;
  PlanBytes plan;
  std::unique_ptr<Executable> executable;
  const bool cached = LoadCached(imported, &executable, &plan);
  times_.passes_us = lap();
  if (cached) {
    times_.passes_us -= times_.compile_us + times_.upload_us;  // the file was looked for and read
    times_.plan_us = 0;
    if (!dump_dir.empty()) QUADRA_RETURN_IF_ERROR(Dump(dump_dir, imported, nullptr, plan));
  } else {
    Graph optimized = imported;
    QUADRA_RETURN_IF_ERROR(Optimize(&optimized));
    times_.passes_us += lap();
    QUADRA_RETURN_IF_ERROR(MakePlan(optimized, options_.target, options_.precision, &plan));
    times_.plan_us = lap();
    if (!dump_dir.empty()) QUADRA_RETURN_IF_ERROR(Dump(dump_dir, imported, &optimized, plan));
    QUADRA_RETURN_IF_ERROR(LoadPlan(plan, nullptr, &executable));
  }
  if (!dump_dir.empty()) {
    const std::vector<ProgramBinary> binaries = executable->Binaries();
    if (!binaries.empty()) {
      QUADRA_RETURN_IF_ERROR(
          DumpBinaries(dump_dir, PackBinaries(*fb::GetPlan(plan.data()), binaries)));
    }
  }
  if (options_.dump_tensors) {
    executable->HandOver(
        [](void* who, unsigned tensor, const std::vector<int32_t>& numbers) {
          return DumpTensor(static_cast<const Session*>(who)->options_.dump_dir, tensor, numbers);
        },
        this);
  }
  Log(2, "prepared %u dispatches: passes %lld us, plan %lld us, compile %lld us, upload %lld us",
      fb::GetPlan(plan.data())->dispatches()->size(), static_cast<long long>(times_.passes_us),
      static_cast<long long>(times_.plan_us), static_cast<long long>(times_.compile_us),
      static_cast<long long>(times_.upload_us));
  executable_ = std::move(executable);  // before its plan goes
  plan_ = std::move(plan);
  SetOutputs(imported);
  if (!unsaved_.empty() && !backend_->runs()) SaveInCache();  // for a device that will
  if (unsaved_.empty()) Settle();
  return Status();
}

Status Session::Optimize(Graph* graph) const {
  QUADRA_RETURN_IF_ERROR(RunPasses(graph, FitsTarget()));
  if (options_.precision != Precision::kF32) HoldFloat32(options_.float32_nodes, graph);
  return Status();
}

Status Session::LoadPlan(const PlanBytes& plan, const fb::Binaries* kept,
                         std::unique_ptr<Executable>* executable) {
  LoadTimes load;
  QUADRA_RETURN_IF_ERROR(backend_->Load(fb::GetPlan(plan.data()), kept, executable, &load));
  times_.compile_us = load.compile_us;
  times_.upload_us = load.upload_us;
  programs_ = load.binaries;
  return Status();
}

// False: the plan must be made. Whatever the reason, the cache gets it after the first inference.
bool Session::LoadCached(const Graph& imported, std::unique_ptr<Executable>* executable,
                         PlanBytes* plan) {
  unsaved_.clear();
  is_hit_ = false;
  if (!options_.cache.is_on() || options_.dump_tensors) return false;  // its plan has copies
  const std::string words =
      PlanCache::WordsFor(imported, options_.target, backend_->info(),
                          NameOf(options_.precision) + (", in float32 " + options_.float32_nodes));
  const fb::Binaries* kept = nullptr;
  Status status = options_.cache.Load(words, plan, &kept);
  if (status.ok()) {
    const fb::Plan& found = *fb::GetPlan(plan->data());
    const bool fits = Fit(*found.inputs(), imported, imported.inputs) &&
                      Fit(*found.outputs(), imported, imported.outputs);
    status = fits ? LoadPlan(*plan, kept, executable)
                  : Unsupported("its plan takes or gives other tensors than the model");
  }
  if (!status.ok()) {
    cached_ = "miss: " + status.message();
    unsaved_ = words;
    return false;
  }
  cached_ = "hit";
  is_hit_ = true;
  if (programs_.compiled > 0) {
    cached_ += Format(", but %d of %u programs were compiled", programs_.compiled,
                      fb::GetPlan(plan->data())->programs()->size());
    if (programs_.refused > 0) cached_ += Format(": the driver refused %d", programs_.refused);
    unsaved_ = words;
  }
  return true;
}

// After an inference: some drivers compile the rest of a program when it first runs. A cache that
// cannot be written is no reason to fail.
void Session::SaveInCache() {
  const std::string words = std::exchange(unsaved_, "");
  const std::vector<ProgramBinary> binaries = executable_->Binaries();
  const auto given = std::count_if(binaries.begin(), binaries.end(),
                                   [](const ProgramBinary& one) { return !one.bytes.empty(); });
  // A file that has the plan, and as many binaries as the driver gives, would be the same again.
  if (is_hit_ && given <= programs_.loaded) return;
  const Status status = options_.cache.Save(words, plan_, PackBinaries(*plan(), binaries));
  cached_ += status.ok() ? "; saved" : "; not saved: " + status.message();
  Log(status.ok() ? 2 : 1, "cache: %s", cached_.c_str());
}

// Nobody will read the plan's constants again where the device has copied them.
void Session::Settle() {
  if (!executable_->shares_constants()) LetConstantsGo(*plan());
}

// Only OpenGL ES has so few bindings that a merge may take too many. Where there are plenty, asking
// would cost more than the passes do.
Fits Session::FitsTarget() const {
  constexpr int kPlenty = 12;  // no kernel has more tensors and constants, with all that steps read
  const GpuInfo& gpu = options_.target;
  const int fewest =
      std::min({gpu.max_storage_blocks, gpu.max_output_resources, gpu.max_texture_units});
  if (gpu.api != Api::kGles || fewest >= kPlenty) return nullptr;
  return [this](const Graph& graph, const Node& node) {
    KernelContext context;
    context.gpu = &options_.target;
    context.precision = options_.precision;
    KernelList list;
    list.first_scratch = static_cast<int>(graph.values.size());
    return MakeKernels(context, graph, node, &list).ok();
  };
}

void Session::SetOutputs(const Graph& imported) {
  output_shapes_.clear();
  output_ranks_.clear();
  for (ValueId output : imported.outputs) {
    output_shapes_.push_back(imported.shape(output));
    output_ranks_.push_back(imported.value(output).rank);
  }
}

// Plans take and give floats and int32: other elements are brought from and to these here.
Status Session::Run(std::vector<const void*> inputs, std::vector<void*> outputs,
                    std::vector<float>* dispatch_us) {
  staged_.resize(inputs.size() + outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph_.value(graph_.inputs[i]);
    if (IsPlain(value.element)) continue;
    QUADRA_RETURN_IF_ERROR(Widen(inputs[i], value, &staged_[i]));
    inputs[i] = staged_[i].data();
  }
  std::vector<void*> results = outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (IsPlain(output_element(static_cast<int>(i)))) continue;
    std::vector<int32_t>& staged = staged_[inputs.size() + i];
    staged.resize(static_cast<size_t>(output_shapes_[i].elements()));
    results[i] = staged.data();
  }
  QUADRA_RETURN_IF_ERROR(executable_->Run(inputs, results, dispatch_us));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (results[i] == outputs[i]) continue;
    Narrow(staged_[inputs.size() + i], output_element(static_cast<int>(i)), outputs[i]);
  }
  return Status();
}

Status Session::Invoke(const std::vector<const void*>& inputs, const std::vector<void*>& outputs) {
  if (!ready_) return Internal("invoked before it was prepared");
  if (!executable_ || !executable_->is_intact()) {
    executable_.reset();  // first: it may fill the device
    QUADRA_RETURN_IF_ERROR(Build());
  }
  const bool measures = options_.profile && !options_.dump_tensors;
  std::vector<float> dispatch_us;
  QUADRA_RETURN_IF_ERROR(Run(inputs, outputs, measures ? &dispatch_us : nullptr));
  if (!unsaved_.empty()) {
    SaveInCache();
    Settle();
  }
  if (!measures) return Status();
  if (profile_.size() == kMostProfiles) profile_.erase(profile_.begin());
  profile_.push_back(std::move(dispatch_us));
  return Status();
}

}  // namespace quadra
