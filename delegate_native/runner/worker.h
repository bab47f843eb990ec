// Does one run: reads spec.json and inputs/ of a run folder (docs/run_folder.md), leaves outputs,
// times, verdicts and plans there. Each stage writes its results before the next begins.
#ifndef QUADRA_RUNNER_WORKER_H_
#define QUADRA_RUNNER_WORKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/json_writer.h"
#include "delegate_native/runner/contender.h"
#include "delegate_native/runner/spec.h"

namespace quadra {

class Worker {
 public:
  Worker(const Arguments& arguments, const Spec& spec);

  Outcome Work();  // what --mode says

 private:
  struct Times {
    std::string name;
    Laps laps, starts;
    std::vector<int64_t> samples_us, cpu_us, starts_ns;
  };

  Outcome Run();
  Outcome Verdicts();
  Outcome Inputs();
  Outcome RunInput(const std::string& name, const std::vector<Array>& inputs, bool anew);
  Outcome StartPeer(std::vector<std::unique_ptr<Contender>>* contenders);
  Outcome Measure(const std::vector<std::unique_ptr<Contender>>& contenders);
  Outcome Sustain(Contender* quadra);
  Outcome Dump();
  Outcome Profile();
  Outcome SaveOutputs(const std::string& group, const Contender& contender);
  Outcome SaveGroup(const std::string& run, const std::string& group, const Contender& contender);
  Outcome KeepTimings();
  Outcome Write(const char* name, const std::string& text);
  Options With(Options more) const;

  const Arguments arguments_;
  const Spec spec_;
  const int64_t baseline_bytes_;
  const std::string cpu_model_;  // the one with custom ops rewritten, where there is one
  std::vector<Array> inputs_;
  TfLiteApi tflite_;
  QuadraApi quadra_;
  std::vector<std::pair<std::string, std::vector<Tensor>>> tensors_;  // by group
  std::vector<Times> times_;  // in the order of their starts
  std::string xnnpack_error_;
  std::unique_ptr<Contender> on_quadra_, on_xnnpack_;  // of many inputs
  int64_t peak_bytes_ = 0;
};

}  // namespace quadra

#endif  // QUADRA_RUNNER_WORKER_H_
