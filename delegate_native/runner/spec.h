// The request for a run: spec.json (host_tools/record/spec.py) and the command line's arguments.
#ifndef QUADRA_RUNNER_SPEC_H_
#define QUADRA_RUNNER_SPEC_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/runner/outcome.h"

namespace quadra {

using Options = std::vector<std::pair<std::string, std::string>>;  // of the delegate: key, value

struct Arguments {
  std::string folder;  // the run folder: spec.json and inputs/ before the run
  std::string mode = "run";
  std::string runtime;  // TFLite's library
  std::string quadra;   // the delegate's
  std::string model;    // where it lies on this device; empty: where spec.json says
  std::string peers;    // who runs beside Quadra, or "none"; empty: whom spec.json names
  std::string store;    // with mode inputs: the folder of the arrays that set.json names
  std::string cases;    // a list of cases (batch.h) instead of a folder
  std::string pack;     // their models and inputs
};

struct Spec {
  std::string model_name;
  std::string model_path;
  const char* model_data = nullptr;  // instead of a file: a model in memory that outlives the run
  size_t model_bytes = 0;
  std::string signature;  // empty: the main graph
  Options options;
  int repetitions = 0;
  int threads = 0;
  int deadline_s = 0;
  int warm_up = 2;
  int delay_ms = 0;
  std::string cpus;     // 4-7,0; empty: all
  int sustained_s = 0;  // Quadra alone, after the measurement; 0: not
  std::vector<std::string> peers;
  bool profile = false;
};

// --folder PATH --runtime PATH --quadra PATH [--mode run|verdicts|inputs]
// [--store FOLDER]
// [--model PATH] [--peers xnnpack|none]; or --cases PATH --pack PATH --runtime PATH --quadra PATH
Outcome ParseArguments(int count, char** words, Arguments* arguments);
Outcome ReadSpec(const Arguments& arguments, Spec* spec);

}  // namespace quadra

#endif  // QUADRA_RUNNER_SPEC_H_
