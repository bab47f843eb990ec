#include "delegate_native/session/session.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "delegate_native/base/clock.h"
#include "delegate_native/base/log.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/pipeline.h"
#include "delegate_native/plan/binaries.h"
#include "delegate_native/plan/dispatch_group.h"
#include "delegate_native/session/dump.h"
#include "delegate_native/session/io_numbers.h"
#include "delegate_native/session/revise.h"
#include "delegate_native/session/tune.h"

namespace quadra {
namespace {

constexpr size_t kMostProfiles = 100;

std::vector<Port> PortsOf(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<Port> ports;
  for (ValueId id : values) {
    const Value& value = graph.value(id);
    ports.push_back({value.shape, value.rank, value.element});
  }
  return ports;
}

int64_t NumbersOf(const fb::Io& io) {
  int64_t numbers = 1;
  for (int32_t n : *io.shape()) numbers *= n;
  return numbers;
}

// Whether the plan has these inputs or outputs, by how many numbers they have.
bool Fit(const flatbuffers::Vector<flatbuffers::Offset<fb::Io>>& planned,
         const std::vector<Port>& ports, size_t count) {
  if (planned.size() != count) return false;
  for (unsigned i = 0; i < planned.size(); ++i) {
    const int64_t numbers = NumbersOf(*planned.Get(i));
    if (numbers != ports[i].shape.elements() && !HasWords(ports[i], numbers)) return false;
  }
  return true;
}

// Whose programs' binaries are: its version stands in either, as the maker likes.
std::string DriverOf(const GpuInfo& device) { return device.api_version + "; " + device.driver; }
constexpr size_t kNoDriver = 2;  // characters, of a plan that was made where there is none

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
  inputs_ = PortsOf(graph_, graph_.inputs);
  outputs_ = PortsOf(graph_, graph_.outputs);
  request_.precision = options_.precision;
  if (!options_.dump_tensors) graph_.tensors.clear();  // no plan copies them
}

Session::Session(std::vector<Port> inputs, int only_shapes, std::vector<Port> outputs,
                 const std::shared_ptr<Backend>& backend, const SessionOptions& options)
    : Session(Graph(), backend, options) {
  has_graph_ = false;
  graph_.only_shapes = only_shapes;
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
}

Status Session::Wait() {
  Events none;
  none.deadline_ms = deadline_ms_;
  return executable_ ? executable_->Await(none, false) : Status();
}

// What still runs works on the plan's constants: if it does not end, they stay for good.
void Session::LetGo() {
  if (!Wait().ok()) {
    Log(0, "an inference that goes on does not end: its memory is not given back");
    struct Kept {
      std::unique_ptr<Executable> executable;
      PlanBytes plan;
    };
    static_cast<void>(new Kept{std::move(executable_), std::move(plan_)});
  }
  executable_.reset();
}

bool Session::NeedsGraph(const std::vector<Shape>* input_shapes) const {
  if (has_graph_) return false;
  if (!ready_ || !executable_ || !executable_->is_intact()) return true;
  for (size_t i = 0; input_shapes && i < inputs_.size(); ++i) {
    if (inputs_[i].shape != (*input_shapes)[i]) return true;
  }
  return false;
}

Status Session::SetGraph(Graph graph) {
  if (graph.inputs.size() != inputs_.size() || graph.outputs.size() != outputs_.size() ||
      graph.only_shapes != graph_.only_shapes) {
    return Internal("the graph has other inputs or outputs than were kept");
  }
  graph_ = std::move(graph);
  graph_.tensors.clear();
  has_graph_ = true;
  return Status();
}

Status Session::Recall(const std::string& graph_hash) {
  graph_hash_ = graph_hash;
  const int64_t start = NowUs();
  PlanBytes plan;
  std::unique_ptr<Executable> executable;
  if (!LoadCached(&executable, &plan)) return Unsupported("%s", cached_.c_str());
  const int64_t end = NowUs();
  times_.Add("passes", start, end);
  times_.passes_us = end - start - times_.compile_us - times_.upload_us - times_.first_launch_us;
  Keep(std::move(plan), std::move(executable));
  ready_ = true;
  return Status();
}

Status Session::Prepare(const std::vector<Shape>& input_shapes) {
  if (input_shapes.size() != inputs_.size()) {
    return Internal("%zu shapes for %zu inputs", input_shapes.size(), inputs_.size());
  }
  for (size_t i = 0; i < input_shapes.size(); ++i) {
    Shape& shape = inputs_[i].shape;
    if (shape == input_shapes[i]) continue;
    shape = input_shapes[i];
    ready_ = false;
    request_ = {options_.precision, true, {}};
    notes_.clear();
    is_tuned_ = is_checked_ = false;
  }
  if (ready_) return Status();
  QUADRA_RETURN_IF_ERROR(Build());
  ready_ = true;
  return Status();
}

// Ops know no empty shapes. Sizes are sums and products with constants of the inputs' sizes: what
// they are for a number and twice of it in a size's place tells what they are for 0: for 60, which
// strides and blocks divide, and where that makes too many, for 1.
Status Session::OutputsOfNothing(const std::vector<Shape>& input_shapes,
                                 std::vector<Port>* outputs) const {
  const Status status = OutputsOfNothing(input_shapes, 60, outputs);
  return status.ok() ? status : OutputsOfNothing(input_shapes, 1, outputs);
}

Status Session::OutputsOfNothing(const std::vector<Shape>& input_shapes, int one,
                                 std::vector<Port>* outputs) const {
  std::vector<Shape> for_one(outputs_.size());
  *outputs = outputs_;
  for (int size : {one, 2 * one}) {
    Graph graph = graph_;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Shape shape = input_shapes[i];
      for (int axis = kFirstAxis; axis <= 3; ++axis) {
        if (shape.axis(axis) == 0) shape.set_axis(axis, size);
      }
      graph.value(graph.inputs[i]).shape = shape;
    }
    QUADRA_RETURN_IF_ERROR(InferShapes(&graph));
    for (size_t i = 0; i < outputs->size(); ++i) {
      const Value& value = graph.value(graph.outputs[i]);
      (*outputs)[i].rank = value.rank;
      (*outputs)[i].shape = value.shape;
      if (size == one) for_one[i] = value.shape;
    }
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    Shape& shape = (*outputs)[i].shape;
    for (int axis = kFirstAxis; axis <= 3; ++axis) {
      const int n = 2 * for_one[i].axis(axis) - shape.axis(axis);
      if (n < 0) return Unsupported("its outputs have no sizes then");
      shape.set_axis(axis, n);
    }
    if (shape.elements() > 0) return Unsupported("an output would have numbers all the same");
  }
  return Status();
}

Status Session::Build() {
  times_.compile_us = times_.upload_us = times_.first_launch_us = 0;
  times_.tune_us = times_.check_us = 0;
  times_.span_count = 0;
  int64_t mark = NowUs();
  const auto lap = [&] {
    const int64_t start = std::exchange(mark, NowUs());
    times_.Add("passes", start, mark);
    return mark - start;
  };
  Graph imported = graph_;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    imported.value(imported.inputs[i]).shape = inputs_[i].shape;
  }
  QUADRA_RETURN_IF_ERROR(InferShapes(&imported));
  SetOutputs(imported);
  if (imported.only_shapes > 0) {
    imported.inputs.resize(inputs_read());
    imported.only_shapes = 0;
    RemoveUnread(&imported);  // what only shapes were inferred of
  }
  graph_hash_ = UsesCache() ? ModelCache::HashOfGraph(imported) : "";
  const std::string& dump_dir = options_.dump_dir;
  PlanBytes plan;
  std::unique_ptr<Executable> executable;
  const bool cached = LoadCached(&executable, &plan);
  times_.passes_us = lap();
  if (cached) {
    // The file was looked for and read.
    times_.passes_us -= times_.compile_us + times_.upload_us + times_.first_launch_us;
    times_.plan_us = 0;
    if (!dump_dir.empty()) QUADRA_RETURN_IF_ERROR(Dump(dump_dir, imported, nullptr, plan));
  } else {
    Graph optimized = imported;
    QUADRA_RETURN_IF_ERROR(Optimize(&optimized));
    times_.passes_us += lap();
    QUADRA_RETURN_IF_ERROR(MakeAndLoad(imported, optimized, &plan, &executable));
  }
  QUADRA_RETURN_IF_ERROR(CheckPrograms(imported));
  if (!dump_dir.empty()) {
    const std::vector<ProgramBinary> binaries = executable->Binaries();
    if (!binaries.empty()) {
      QUADRA_RETURN_IF_ERROR(DumpBinaries(
          dump_dir, PackBinaries(*fb::GetPlan(plan.data()), binaries, DriverOf(backend_->info()))));
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
  Keep(std::move(plan), std::move(executable));
  return Status();
}

void Session::Keep(PlanBytes plan, std::unique_ptr<Executable> executable) {
  LetGo();  // before its plan goes
  executable_ = std::move(executable);
  plan_ = std::move(plan);
  // For a device that will. What is to be tuned is tuned there.
  if (!unsaved_.empty() && !backend_->runs() && options_.tuning == "none") SaveInCache();
  if (unsaved_.empty()) Settle();
}

// Plans with copies of tensors are not kept.
bool Session::UsesCache() const { return options_.cache.is_on() && !options_.dump_tensors; }

Status Session::Optimize(Graph* graph) const {
  QUADRA_RETURN_IF_ERROR(SplitInt64(graph));
  QUADRA_RETURN_IF_ERROR(RunPasses(graph, FitsTarget()));
  if (options_.precision == Precision::kF32) return Status();
  const int kept = KeepBeyondHalf(graph);
  if (kept > 0)
    Log(2, "nodes that stay in float32, as their numbers may be beyond half's: %d", kept);
  HoldFloat32(options_.float32_nodes, graph);
  return Status();
}

// Again with another request where the driver refuses the plan.
Status Session::MakeAndLoad(const Graph& imported, const Graph& optimized, PlanBytes* plan,
                            std::unique_ptr<Executable>* executable) {
  times_.plan_us = 0;
  Graph graph = optimized;
  AddBorders(&graph);
  CopyTensors(&graph);
  for (;;) {
    const int64_t start = NowUs();
    QUADRA_RETURN_IF_ERROR(MakePlan(graph, options_.target, request_, plan));
    const int64_t end = NowUs();
    times_.Add("plan", start, end);
    times_.plan_us += end - start;
    const std::string& dump_dir = options_.dump_dir;
    if (!dump_dir.empty()) QUADRA_RETURN_IF_ERROR(Dump(dump_dir, imported, &optimized, *plan));
    Refusal refusal;
    Status status = LoadPlan(*plan, nullptr, executable, &refusal);
    const fb::Plan& made = *fb::GetPlan(plan->data());
    if (!status.ok() && !AskAgain(made, refusal)) return status;
    if (status.ok() && !TuneGroups(made, executable->get())) return status;
    executable->reset();  // first: it may fill the device
  }
}

void Session::Note(std::string note) {
  Log(0, "%s", note.c_str());
  notes_.push_back(std::move(note));
}

// Once. While they are loaded: what is compiled is shared.
Status Session::CheckPrograms(const Graph& imported) {
  if (!options_.self_check || !backend_->runs() || is_checked_) return Status();
  miscompiled_.reset();
  const int64_t start = NowUs();
  Graph optimized = imported;
  QUADRA_RETURN_IF_ERROR(Optimize(&optimized));
  const Status status =
      SelfCheck(&optimized, inputs_, options_.target, request_, backend_.get(), &miscompiled_);
  const int64_t end = NowUs();
  times_.Add("check", start, end);
  times_.check_us = end - start;
  if (!status.ok()) {
    Note("self_check: not checked: " + status.message());
    miscompiled_.reset();  // it may be the fault of what failed
  }
  is_checked_ = !miscompiled_;
  if (is_checked_) return Status();
  return Status(Code::kMiscompiled, miscompiled_->why);
}

// Once. True: the plan is to be made again, with the groups that were found.
bool Session::TuneGroups(const fb::Plan& plan, Executable* executable) {
  if (is_tuned_ || options_.tuning == "none" || !backend_->runs()) return false;
  is_tuned_ = true;
  const int64_t start = NowUs();
  std::vector<Group> groups;
  const bool all = options_.tuning == "exhaustive";
  const Tuned tuned = Tune(plan, options_.target, all, executable, &groups);
  const int64_t end = NowUs();
  times_.Add("tune", start, end);
  times_.tune_us = end - start;
  if (tuned == Tuned::kFailed) Note("tuning: the driver failed");
  if (tuned == Tuned::kBetter) request_.groups.swap(groups);
  return tuned != Tuned::kSame;  // what was loaded may be spoilt
}

// False: the CPU gets the nodes.
bool Session::AskAgain(const fb::Plan& plan, const Refusal& refusal) {
  Revision next = Revise(request_, refusal, plan, options_.target);
  if (!next.change) return false;
  Log(0, "the driver refuses a plan: the next one has %s", next.change);  // a line for all kernels
  request_ = std::move(next.request);
  for (std::string& note : next.notes) {
    Log(1, "%s", note.c_str());
    notes_.push_back(std::move(note));
  }
  return true;
}

Status Session::LoadPlan(const PlanBytes& plan, const fb::Binaries* kept,
                         std::unique_ptr<Executable>* executable, Refusal* refusal) {
  LoadTimes load;
  const int64_t start = NowUs();
  Status status = backend_->Load(fb::GetPlan(plan.data()), kept, executable, &load);
  const int64_t loaded = NowUs();
  int launched = 0;
  if (status.ok()) status = (*executable)->LaunchFirst(&launched, &load.refusal);
  const int64_t end = NowUs();
  *refusal = std::move(load.refusal);
  if (!status.ok()) executable->reset();
  QUADRA_RETURN_IF_ERROR(std::move(status));
  const int64_t uploaded = start + load.upload_us;
  times_.Add("upload", start, uploaded);
  times_.Add("compile", uploaded, uploaded + load.compile_us);
  times_.compile_us += load.compile_us;
  times_.upload_us += load.upload_us;
  if (launched > 0) {
    times_.Add("first_launch", loaded, end);
    times_.first_launch_us += end - loaded;
  }
  programs_ = load.binaries;
  return Status();
}

// False: the plan must be made. Whatever the reason, the cache gets it after the first inference.
bool Session::LoadCached(std::unique_ptr<Executable>* executable, PlanBytes* plan) {
  unsaved_.clear();
  is_hit_ = false;
  if (!UsesCache()) return false;
  const std::string build_options =
      NameOf(options_.precision) +
      (", in float32 " + options_.float32_nodes + ", tuning " + options_.tuning) +
      (options_.self_check ? ", checked" : "");
  const std::string key =
      ModelCache::KeyOfPlan(graph_hash_, build_options, options_.target, backend_->info());
  const fb::Binaries* kept = nullptr;
  bool of_another_driver = false;
  Status status = options_.cache.Load(key, plan, &kept);
  if (status.ok()) {
    const flatbuffers::String* driver = kept->driver();
    if (!driver || DriverOf(backend_->info()) != driver->c_str()) kept = nullptr;
    of_another_driver = !kept && driver && driver->size() > kNoDriver;
    const fb::Plan& found = *fb::GetPlan(plan->data());
    const bool fits = Fit(*found.inputs(), inputs_, inputs_read()) &&
                      Fit(*found.outputs(), outputs_, outputs_.size());
    Refusal refusal;
    status = fits ? LoadPlan(*plan, kept, executable, &refusal)
                  : Unsupported("its plan takes or gives other tensors than the model");
  }
  if (!status.ok()) {
    cached_ = "miss: " + status.message();
    unsaved_ = key;
    return false;
  }
  is_checked_ |= kept != nullptr;
  cached_ = "hit";
  is_hit_ = true;
  if (programs_.compiled > 0) {
    cached_ += TextOf(", but %d of %u programs were compiled", programs_.compiled,
                      fb::GetPlan(plan->data())->programs()->size());
    if (of_another_driver) cached_ += ": the driver is another one";
    if (programs_.refused > 0) cached_ += Format(": the driver refused %d", programs_.refused);
    unsaved_ = key;
  }
  return true;
}

// After an inference: some drivers compile the rest of a program when it first runs. A cache that
// cannot be written is no reason to fail.
void Session::SaveInCache() {
  const std::string key = std::exchange(unsaved_, "");
  const std::vector<ProgramBinary> binaries = executable_->Binaries();
  const auto given = std::count_if(binaries.begin(), binaries.end(),
                                   [](const ProgramBinary& one) { return !one.bytes.empty(); });
  // A file that has the plan, and as many binaries as the driver gives, would be the same again.
  if (is_hit_ && given <= programs_.loaded) return;
  const Status status =
      options_.cache.Save(key, plan_, PackBinaries(*plan(), binaries, DriverOf(backend_->info())));
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
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Value& value = imported.value(imported.outputs[i]);
    outputs_[i].shape = value.shape;
    outputs_[i].rank = value.rank;
  }
}

// Plans take floats, int32, bytes and words of int64, and give the same but for bytes: other
// elements are brought from and to these here.
Status Session::Run(std::vector<const void*> inputs, std::vector<void*> outputs, RunTimes* times) {
  const fb::Plan& plan = *fb::GetPlan(plan_.data());
  staged_.inputs.resize(inputs.size());
  staged_.outputs.resize(outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const fb::Io& io = *plan.inputs()->Get(static_cast<unsigned>(i));
    const fb::Tensor& tensor = *plan.tensors()->Get(static_cast<unsigned>(io.tensor()));
    if (IsPlain(inputs_[i].element) || tensor.cell() > fb::Cell_Int) continue;
    if (HasWords(inputs_[i], NumbersOf(io))) continue;
    Widen(inputs[i], inputs_[i], &staged_.inputs[i]);
    inputs[i] = staged_.inputs[i].data();
  }
  std::vector<void*> results = outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int64_t numbers = NumbersOf(*plan.outputs()->Get(static_cast<unsigned>(i)));
    if (IsPlain(outputs_[i].element) || HasWords(outputs_[i], numbers)) continue;
    std::vector<int32_t>& staged = staged_.outputs[i];
    staged.resize(static_cast<size_t>(outputs_[i].shape.elements()));
    results[i] = staged.data();
  }
  QUADRA_RETURN_IF_ERROR(executable_->Run(inputs, results, times));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (results[i] == outputs[i]) continue;
    Narrow(staged_.outputs[i], outputs_[i].element, outputs[i]);
  }
  return Status();
}

Status Session::Bind(const PortObjects& objects) {
  const bool any = objects.any();
  if (!any && !has_bound_) return Status();
  const auto check = [](const char* kind, const std::vector<void*>& given,
                        const std::vector<Port>& ports) {
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i] || IsPlain(ports[i].element)) continue;
      return Unsupported("the buffer for %s %zu: only float32 and int32 can be in one", kind, i);
    }
    return Status();
  };
  QUADRA_RETURN_IF_ERROR(check("input", objects.inputs, inputs_));
  QUADRA_RETURN_IF_ERROR(check("output", objects.outputs, outputs_));
  has_bound_ = any;
  return executable_->Bind(objects);
}

Status Session::Invoke(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                       const PortObjects& objects, Events* events) {
  if (!ready_) return Internal("invoked before it was prepared");
  if (!executable_ || !executable_->is_intact()) {
    LetGo();  // first: it may fill the device
    QUADRA_RETURN_IF_ERROR(Build());
  }
  QUADRA_RETURN_IF_ERROR(Bind(objects));
  const bool measures = options_.profile && !options_.dump_tensors;
  // Drivers give the binaries of a program that has run.
  const bool goes_on = events && events->goes_on && executable_->can_start(*events) &&
                       !options_.profile && !options_.dump_tensors && unsaved_.empty() &&
                       objects.all();
  QUADRA_RETURN_IF_ERROR(executable_->Await(events ? *events : Events(), goes_on));
  if (goes_on) {
    deadline_ms_ = events->deadline_ms;
    return executable_->Start(events);
  }
  RunTimes times;
  QUADRA_RETURN_IF_ERROR(Run(inputs, outputs, measures ? &times : nullptr));
  if (!unsaved_.empty()) {
    SaveInCache();
    Settle();
  }
  if (!measures) return Status();
  if (profile_.size() == kMostProfiles) profile_.erase(profile_.begin());
  profile_.push_back(std::move(times));
  return Status();
}

}  // namespace quadra
