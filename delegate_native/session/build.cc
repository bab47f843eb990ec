// The steps of a build, from a graph to an executable that is ready to run.
#include <algorithm>
#include <utility>

#include "delegate_native/base/lean/clock.h"
#include "delegate_native/base/log.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/passes/passes.h"
#include "delegate_native/passes/pipeline.h"
#include "delegate_native/plan/binaries.h"
#include "delegate_native/session/dump.h"
#include "delegate_native/session/io_memory.h"
#include "delegate_native/session/revise.h"
#include "delegate_native/session/session.h"
#include "delegate_native/session/tune.h"

namespace quadra {
namespace {

// Whether the plan has these inputs or outputs, by how many numbers they have.
bool Fit(const flatbuffers::Vector<flatbuffers::Offset<fb::Io>>& planned,
         const std::vector<IoTensor>& ports, size_t count) {
  if (planned.size() != count) return false;
  for (unsigned i = 0; i < planned.size(); ++i) {
    const int64_t numbers = NumbersOf(*planned.Get(i));
    if (numbers != ports[i].shape.elements() && !HasWords(ports[i], numbers)) return false;
  }
  return true;
}

// The driver that makes binaries of programs. Vendors put its version into either of the two.
std::string DriverOf(const GpuInfo& device) { return device.api_version + "; " + device.driver; }
constexpr size_t kNoDriver = 2;  // characters, of a plan that was made where there is none

}  // namespace

// One after the other; each says itself whether the options ask for it.
const Session::BuildStep Session::kBuildSteps[] = {
    &Session::InferGraph,    &Session::TakeCached,   &Session::MakeAndLoad,
    &Session::CheckPrograms, &Session::DumpBinaries, &Session::ObserveTensors,
    &Session::Install,
};

Status Session::MakeReady() {
  times_.Restart();
  Build build = {graph_, PlanBytes(), {}, nullptr};
  for (const BuildStep step : kBuildSteps) QUADRA_RETURN_IF_ERROR((this->*step)(&build));
  return Status();
}

Status Session::Restore(const std::string& graph_hash) {
  graph_hash_ = graph_hash;
  Build build;
  if (!LoadCached(&build)) return Unsupported("%s", cached_.c_str());
  QUADRA_RETURN_IF_ERROR(Install(&build));
  ready_ = true;
  return Status();
}

Status Session::InferGraph(Build* build) {
  const SessionTimes::Lap lap(&times_, "passes");
  Graph& imported = build->imported;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    imported.value(imported.inputs[i]).shape = inputs_[i].shape;
  }
  QUADRA_RETURN_IF_ERROR(InferShapes(&imported));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Value& value = imported.value(imported.outputs[i]);
    outputs_[i].shape = value.shape;
    outputs_[i].rank = value.rank;
  }
  if (imported.only_shapes > 0) {
    imported.inputs.resize(inputs_read());
    imported.only_shapes = 0;
    RemoveUnread(&imported);  // what only shapes were inferred of
  }
  graph_hash_ = UsesCache() ? ModelCache::HashOfGraph(imported) : "";
  return Status();
}

Status Session::TakeCached(Build* build) {
  return LoadCached(build) ? DumpPlan(*build, nullptr) : Status();
}

Status Session::DumpPlan(const Build& build, const Graph* optimized) const {
  const std::string& folder = options_.dump_dir;
  return folder.empty() ? Status() : Dump(folder, build.imported, optimized, build.plan);
}

Status Session::DumpBinaries(Build* build) {
  const std::string& folder = options_.dump_dir;
  const std::vector<ProgramBinary> binaries =
      folder.empty() ? std::vector<ProgramBinary>() : build->executable->Binaries();
  if (binaries.empty()) return Status();
  return quadra::DumpBinaries(
      folder, PackBinaries(*fb::GetPlan(build->plan.data()), binaries, DriverOf(backend_->info())));
}

Status Session::ObserveTensors(Build* build) {
  if (!options_.dump_tensors) return Status();
  build->executable->ObserveTensors(
      [](void* who, unsigned tensor, const std::vector<int32_t>& numbers) {
        return DumpTensor(static_cast<const Session*>(who)->options_.dump_dir, tensor, numbers);
      },
      this);
  return Status();
}

Status Session::Install(Build* build) {
  ReleaseExecutable();  // before its plan goes
  executable_ = std::move(build->executable);
  plan_ = std::move(build->plan);
  weights_ = std::move(build->weights);
  const auto us = [this](const char* step) { return static_cast<long long>(times_.SumOf(step)); };
  Log(2, "prepared %u dispatches: passes %lld us, plan %lld us, compile %lld us, upload %lld us",
      plan()->dispatches()->size(), us("passes"), us("plan"), us("compile"), us("upload"));
  // For a device that will. What is to be tuned is tuned there.
  if (!unsaved_.empty() && !backend_->runs() && options_.tuning == "none") BeginSave();
  DiscardConstants();
  return Status();
}

// Plans with copies of tensors are not kept.
bool Session::UsesCache() const { return options_.cache.is_on() && !options_.dump_tensors; }

Status Session::Optimize(Graph* graph) const {
  QUADRA_RETURN_IF_ERROR(SplitInt64(graph));
  QUADRA_RETURN_IF_ERROR(RunPasses(graph, HasPlenty() ? Fits() : FitsTarget()));
  if (options_.precision == Precision::kF32) return Status();
  const int kept = KeepBeyondHalf(graph);
  if (kept > 0)
    Log(2, "nodes that stay in float32, as their numbers may be beyond half's: %d", kept);
  HoldFloat32(options_.float32_nodes, graph);
  const int floats = ComputesHalf(options_.precision) ? ChooseFloatSums(graph) : 0;
  if (floats > 0) Log(2, "convolutions that have few products, and sums of floats: %d", floats);
  return Status();
}

void Session::AddPorts(Graph* graph) const {
  AddBorders(graph);
  UpdateInPlace(graph, FitsTarget());
  ShareMemory(graph, FitsTarget());
}

// Again with another request where the driver refuses the plan.
Status Session::MakeAndLoad(Build* build) {
  if (build->executable) return Status();
  Graph optimized = build->imported;
  {
    const SessionTimes::Lap lap(&times_, "passes");
    QUADRA_RETURN_IF_ERROR(Optimize(&optimized));
  }
  Graph graph = optimized;
  AddPorts(&graph);
  CopyTensors(&graph);
  for (;;) {
    {
      const SessionTimes::Lap lap(&times_, "plan");
      PlanRequest request = request_;
      request.joins_kernels &= !options_.self_check;  // which compares nodes one by one
      if (options_.dump_dir.empty()) request.known = options_.weights.get();
      QUADRA_RETURN_IF_ERROR(MakePlan(graph, options_.target, request, &build->plan));
    }
    QUADRA_RETURN_IF_ERROR(DumpPlan(*build, &optimized));
    Refusal refusal;
    Status status = LoadPlan(nullptr, build, &refusal);
    const fb::Plan& made = *fb::GetPlan(build->plan.data());
    if (!status.ok() && !AskAgain(made, refusal)) return status;
    if (status.ok() && !TuneGroups(made, build->executable.get())) return status;
    build->executable.reset();  // first: it may fill the device
  }
}

void Session::Note(std::string note) {
  Log(0, "%s", note.c_str());
  notes_.push_back(std::move(note));
}

// Once. While they are loaded: what is compiled is shared.
Status Session::CheckPrograms(Build* build) {
  if (!options_.self_check || !backend_->runs() || is_checked_) return Status();
  miscompiled_.reset();
  Status status;
  {
    const SessionTimes::Lap lap(&times_, "check");
    // None was optimised where the plan came from the cache.
    Graph graph = build->imported;
    QUADRA_RETURN_IF_ERROR(Optimize(&graph));
    AddPorts(&graph);
    status = SelfCheck(&graph, inputs_, options_.target, request_, backend_.get(), &miscompiled_);
  }
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
  const SessionTimes::Lap lap(&times_, "tune");
  std::vector<Group> groups;
  const bool all = options_.tuning == "exhaustive";
  const Tuned tuned = Tune(plan, options_.target, all, executable, &groups);
  if (tuned == Tuned::kFailed) Note("tuning: the driver failed");
  if (tuned == Tuned::kBetter) request_.groups.swap(groups);
  return tuned != Tuned::kSame;  // what was loaded may be invalid
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

// Where the device has copies, nobody reads those of the host again: a cache that is to have them
// gets them before. What came from the cache are pages of its files.
PlanWeights Session::ShareWeights(const PlanBytes& plan) const {
  if (!options_.weights) return {};
  const bool is_to_be_saved = !unsaved_.empty();
  PlanWeights all = options_.weights->Share(*fb::GetPlan(plan.data()), plan.memory(),
                                            is_to_be_saved || !UsesCache());
  for (const auto& one : all) {
    if (one && is_to_be_saved && !one->keeper) one->keeper = options_.cache.MakeKeeper(*one);
  }
  return all;
}

Status Session::LoadPlan(const fb::Binaries* kept, Build* build, Refusal* refusal) {
  LoadTimes load;
  const int64_t start = NowUs();
  const fb::Plan* plan = fb::GetPlan(build->plan.data());
  // Those of a plan before this one, which may count on them, go afterwards.
  PlanWeights weights = ShareWeights(build->plan);
  build->weights.swap(weights);
  Status status = backend_->Load(plan, build->weights, kept, &build->executable, &load);
  const int64_t loaded = NowUs();
  int launched = 0;
  if (status.ok()) status = build->executable->LaunchFirst(&launched, &load.refusal);
  const int64_t end = NowUs();
  *refusal = std::move(load.refusal);
  if (!status.ok()) {
    build->executable.reset();
    return status;
  }
  const int64_t uploaded = start + load.upload_us;
  times_.Add({"upload", start, uploaded});
  times_.Add({"compile", uploaded, uploaded + load.compile_us});
  if (launched > 0) times_.Add({"first_launch", loaded, end});
  programs_ = load.binaries;
  return status;
}

Status Session::ReadCached(const std::string& key, const fb::Binaries** kept, Build* build) {
  const SessionTimes::Lap lap(&times_, "passes");
  QUADRA_RETURN_IF_ERROR(options_.cache.Load(key, &build->plan, kept));
  const fb::Plan& found = *fb::GetPlan(build->plan.data());
  if (Fit(*found.inputs(), inputs_, inputs_read()) &&
      Fit(*found.outputs(), outputs_, outputs_.size())) {
    return Status();
  }
  return Unsupported("its plan takes or gives other tensors than the model");
}

// False: the plan must be made. Whatever the reason, the cache gets it after the first inference.
bool Session::LoadCached(Build* build) {
  EndSave();
  unsaved_.clear();
  is_hit_ = false;
  if (!UsesCache()) return false;
  const std::string build_options =
      NameOf(options_.precision) +
      (", in float32 " + options_.float32_nodes + ", tuning " + options_.tuning) +
      (options_.self_check ? ", checked" : "");
  const std::string key =
      ModelCache::KeyOfPlan(graph_hash_, build_options, options_.target, backend_->info());
  saved_as_ = options_.cache.HoldPlan(key);
  const fb::Binaries* kept = nullptr;
  bool of_another_driver = false;
  Status status = ReadCached(key, &kept, build);
  if (status.ok()) {
    const flatbuffers::String* driver = kept->driver();
    if (!driver || DriverOf(backend_->info()) != driver->c_str()) kept = nullptr;
    of_another_driver = !kept && driver && driver->size() > kNoDriver;
    Refusal refusal;
    status = LoadPlan(kept, build, &refusal);
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
                      fb::GetPlan(build->plan.data())->programs()->size());
    if (of_another_driver) cached_ += ": the driver is another one";
    if (programs_.refused > 0) cached_ += Format(": the driver refused %d", programs_.refused);
    unsaved_ = key;
  }
  return true;
}

// After an inference: some drivers compile the rest of a program when it first runs.
void Session::BeginSave() {
  const std::string key = std::exchange(unsaved_, "");
  const std::vector<ProgramBinary> binaries = executable_->Binaries();
  const auto given = std::count_if(binaries.begin(), binaries.end(),
                                   [](const ProgramBinary& one) { return !one.bytes.empty(); });
  // A file that has the plan, and as many binaries as the driver gives, would be the same again.
  if (is_hit_ && given <= programs_.loaded) return;
  writer_ =
      std::make_unique<PlanWriter>(options_.cache, key, plan_, weights_,
                                   PackBinaries(*plan(), binaries, DriverOf(backend_->info())));
}

// The constants are discarded once the file has them.
void Session::EndSave() {
  if (!writer_) return;
  cached_ += writer_->Result();
  writer_.reset();
  if (executable_) DiscardConstants();
}

// Nobody will read the plan's constants again where another plan's are used in their place or,
// once the cache has the plan, where the device has copied them.
void Session::DiscardConstants() {
  const bool is_saved = unsaved_.empty() && !writer_;
  for (unsigned i = 0; i < plan()->buffers()->size(); ++i) {
    const fb::Buffer& buffer = *plan()->buffers()->Get(i);
    if (buffer.kind() != fb::BufferKind_Constant) continue;
    Weights* shared = weights_.empty() ? nullptr : weights_[i].get();
    const bool is_own = !shared || shared->data == buffer.data()->data();
    if (is_own && (!is_saved || executable_->shares_constants())) continue;
    if (shared && is_own) shared->Drop();
    else GiveBack(buffer.data()->data(), buffer.data()->size());
  }
}

// Only OpenGL ES has so few bindings that a merge may take too many. Where there are plenty, asking
// would cost more than the passes do.
bool Session::HasPlenty() const {
  constexpr int kPlenty = 12;  // no kernel has more tensors and constants, with all that steps read
  const GpuInfo& gpu = options_.target;
  const int fewest =
      std::min({gpu.max_storage_blocks, gpu.max_output_resources, gpu.max_texture_units});
  return gpu.api != Api::kGles || fewest >= kPlenty;
}

Fits Session::FitsTarget() const {
  return [this](const Graph& graph, const Node& node) {
    KernelContext context;
    context.gpu = &options_.target;
    context.precision = options_.precision;
    KernelList list;
    list.first_scratch = static_cast<int>(graph.values.size());
    return MakeKernels(context.For(node.float32), graph, node, &list).ok();
  };
}

}  // namespace quadra
