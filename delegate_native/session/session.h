// One partition of a model, ready to run: owns the Graph it came from, the Plan and the loaded
// executable. Rebuilt when input shapes change.
#ifndef QUADRA_SESSION_SESSION_H_
#define QUADRA_SESSION_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/cache/model_cache.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/kernel/dialect.h"
#include "delegate_native/passes/pipeline.h"
#include "delegate_native/plan/make_plan.h"
#include "delegate_native/plan/weights.h"
#include "delegate_native/runtime/backend.h"
#include "delegate_native/session/io_numbers.h"
#include "delegate_native/session/plan_writer.h"
#include "delegate_native/session/self_check.h"
#include "delegate_native/session/session_times.h"

namespace quadra {

struct SessionOptions {
  GpuInfo target;  // the backend's own, or the one that the user named
  Precision precision = Precision::kF32;
  std::string float32_nodes;    // of the model, kept out of half precision: "3,7-9"
  std::string tuning = "none";  // or "fast", "exhaustive"
  bool self_check = false;
  bool profile = false;
  std::string dump_dir;  // of this partition; empty: nothing is written
  bool dump_tensors = false;
  ModelCache cache = ModelCache("", "", 0);
  std::shared_ptr<WeightStore> weights;  // that it shares with others; null: with none
};

class Session {
 public:
  // `graph` as imported (before passes), with its input shapes set.
  Session(Graph graph, std::shared_ptr<Backend> backend, SessionOptions options);
  // Without the graph, which would have these inputs and outputs: for Restore.
  Session(std::vector<IoTensor> inputs, int only_shapes, std::vector<IoTensor> outputs,
          const std::shared_ptr<Backend>& backend, const SessionOptions& options);
  ~Session() { ReleaseExecutable(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Takes the place of Prepare where the cache has the plan of the graph with this hash. Not ok:
  // why it has not.
  Status Restore(const std::string& graph_hash);
  // Whether Prepare for these shapes, or Invoke (null), would need a graph that is not there:
  // SetGraph gives it.
  bool NeedsGraph(const std::vector<Shape>* input_shapes) const;
  Status SetGraph(Graph graph);

  // Infers shapes, runs the passes, makes the plan and loads it. Calling it again with the same
  // input shapes does nothing; with others it builds anew.
  Status Prepare(const std::vector<Shape>& input_shapes);
  // The outputs for shapes of which one is empty; the graph must be there. Nothing is built: there
  // is nothing to compute. Not ok where an output would have numbers all the same, as a mean of
  // none.
  Status OutputsOfNothing(const std::vector<Shape>& input_shapes,
                          std::vector<IoTensor>* outputs) const;

  const SessionOptions& options() const { return options_; }
  // Those of which only the shape is read are the last ones: Invoke takes none for them.
  const std::vector<IoTensor>& inputs() const { return inputs_; }
  // With their shapes and ranks after Prepare.
  const std::vector<IoTensor>& outputs() const { return outputs_; }
  // The hash of the graph that was prepared last; empty without a cache.
  const std::string& graph_hash() const { return graph_hash_; }

  // Dense numbers in and out, as the model has them, in the order of the graph's inputs and
  // outputs. Where there is an object the host's memory may be null (see Executable::Bind).
  // `events`: null: none.
  Status Invoke(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                const PortObjects& objects = {}, Events* events = nullptr);
  // The objects take their places before the first inference: memory of the plan's own goes.
  Status Place(const PortObjects& objects);
  // Until all inferences that go on have ended, or the deadline of the last one.
  Status Wait();
  // In the last inference; see Executable.
  CopiedBytes copied_bytes() const {
    return executable_ ? executable_->copied_bytes() : CopiedBytes();
  }
  const Backend& backend() const { return *backend_; }

  const fb::Plan* plan() const { return fb::GetPlan(plan_.data()); }
  size_t plan_bytes() const { return plan_.size(); }
  // Bytes of the plan's constants that are in memory once for it and other plans.
  size_t shared_constant_bytes() const;
  // Whether the plan came from the cache, why not, and whether it is kept for the next start. Waits
  // for a file that is being written.
  const std::string& cached();
  // Sentences on what the driver forced to be done otherwise than planned.
  const std::vector<std::string>& notes() const { return notes_; }
  // The programs for which Prepare failed; none: it failed otherwise, or did not.
  const Miscompiled* miscompiled() const { return miscompiled_.get(); }
  SessionTimes& times() { return times_; }
  // Times of the last invocations (at most 100), newest last.
  const std::vector<RunTimes>& profile() const { return profile_; }

 private:
  // Made step by step (build.cc).
  struct Build {
    Graph imported;  // for the shapes of these inputs
    PlanBytes plan;
    PlanWeights weights;                     // of the plan that was loaded
    std::unique_ptr<Executable> executable;  // null until the plan is loaded
  };
  using BuildStep = Status (Session::*)(Build* build);
  static const BuildStep kBuildSteps[];

  Status MakeReady();
  Status InferGraph(Build* build);
  Status TakeCached(Build* build);
  Status MakeAndLoad(Build* build);
  Status CheckPrograms(Build* build);
  Status DumpBinaries(Build* build);
  Status ObserveTensors(Build* build);
  Status Install(Build* build);

  bool UsesCache() const;
  Status ReadCached(const std::string& key, const fb::Binaries** kept, Build* build);
  bool LoadCached(Build* build);
  bool HasPlenty() const;
  Fits FitsTarget() const;
  Status Optimize(Graph* graph) const;
  void AddPorts(Graph* graph) const;
  Status DumpPlan(const Build& build, const Graph* optimized) const;
  PlanWeights ShareWeights(const PlanBytes& plan) const;
  Status LoadPlan(const fb::Binaries* kept, Build* build, Refusal* refusal);
  bool TuneGroups(const fb::Plan& plan, Executable* executable);
  bool AskAgain(const fb::Plan& plan, const Refusal& refusal);
  void Note(std::string note);
  void BeginSave();
  void EndSave();
  void DiscardConstants();

  // Made step by step, too (session.cc).
  struct Inference {
    const std::vector<const void*>& inputs;
    const std::vector<void*>& outputs;
    const PortObjects& objects;
    Events* events;
    bool measures;
    RunTimes times;
  };
  using RunStep = Status (Session::*)(Inference* inference);
  static const RunStep kRunSteps[];

  Status LoadAgain(Inference* inference);
  Status CollectSave(Inference* inference);
  Status Bind(Inference* inference);
  Status Execute(Inference* inference);
  Status SavePlan(Inference* inference);
  Status KeepTimes(Inference* inference);

  void ReleaseExecutable();
  Status Run(std::vector<const void*> inputs, std::vector<void*> outputs, RunTimes* times);

  // Count of inputs whose numbers are read.
  size_t inputs_read() const { return inputs_.size() - static_cast<size_t>(graph_.only_shapes); }

  Graph graph_;
  std::shared_ptr<Backend> backend_;
  SessionOptions options_;
  bool has_graph_ = true;
  std::vector<IoTensor> inputs_, outputs_;
  std::string graph_hash_;
  std::vector<std::string> notes_;
  PlanRequest request_;      // for these shapes
  bool is_tuned_ = false;    // its groups are
  bool is_checked_ = false;  // its programs are, for these shapes
  std::unique_ptr<Miscompiled> miscompiled_;
  bool ready_ = false;
  bool has_bound_ = false;
  int deadline_ms_ = 0;  // of an inference that goes on
  PlanBytes plan_;
  PlanWeights weights_;
  std::unique_ptr<Executable> executable_;
  SessionTimes times_;
  BinaryCount programs_;  // of the plan
  bool is_hit_ = false;   // the plan came from the cache
  std::string cached_ = "off";
  std::string unsaved_;  // key of a plan that the cache is to have after the first inference
  std::unique_ptr<HeldFile> saved_as_;  // the plan's file in the cache, whether it is there or not
  std::unique_ptr<PlanWriter> writer_;  // null: nothing is being written
  Ports<std::vector<int32_t>> staged_;  // those that a plan has as ints
  std::vector<RunTimes> profile_;
};

}  // namespace quadra

#endif  // QUADRA_SESSION_SESSION_H_
