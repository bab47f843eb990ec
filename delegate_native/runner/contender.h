// A way to run the model: with Quadra, or on the CPU (XNNPACK). Started, it has run once.
#ifndef QUADRA_RUNNER_CONTENDER_H_
#define QUADRA_RUNNER_CONTENDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/runner/arrays.h"
#include "delegate_native/runner/graph.h"
#include "delegate_native/runner/libraries.h"
#include "delegate_native/runner/spec.h"

namespace quadra {

// Told before it is done: after a crash the last one says where.
void Stage(const std::string& text);

using Laps = std::vector<std::pair<const char*, int64_t>>;  // in us

class Contender {
 public:
  Contender(const char* name, const TfLiteApi& tflite) : name_(name), tflite_(tflite) {}
  ~Contender();
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  // With a delegate first where a library is given. Times each step.
  Outcome Start(const Spec& spec, const std::string& model, const Options& options,
                QuadraApi* quadra, const std::string& library, const std::vector<Array>& inputs);
  // Up to an interpreter whose graph the delegate has seen.
  Outcome Prepare(const Spec& spec, const std::string& model, const Options& options,
                  QuadraApi* quadra, const std::string& library);
  Outcome Allocate(const std::vector<Array>& inputs);  // for inputs of these shapes
  Outcome Run();
  Outcome RunOn(const std::vector<Array>& inputs);  // others than at its start
  Outcome Outputs(std::vector<Tensor>* tensors, std::vector<std::string>* values) const;
  std::vector<Tensor> Inputs() const;
  std::string Report() const;  // the delegate's

  const char* name() const { return name_; }
  const Laps& laps() const { return laps_; }
  // When each step began, ns of the monotonic clock.
  const Laps& starts() const { return starts_; }

 private:
  Outcome MakeDelegate(const Options& options, QuadraApi* quadra, const std::string& library);
  Outcome MakeInterpreter(const Spec& spec, const std::string& model);
  Outcome AddXnnpack(int threads);
  Outcome SetInputs(const std::vector<Array>& inputs);
  Outcome Failed(const std::string& tried) const;
  void Lap(const char* step);

  const char* const name_;
  const TfLiteApi& tflite_;
  QuadraApi* quadra_ = nullptr;  // null on the CPU
  TfLiteDelegate* delegate_ = nullptr;
  TfLiteDelegate* xnnpack_ = nullptr;
  TfLiteModel* model_ = nullptr;
  TfLiteInterpreter* interpreter_ = nullptr;
  std::unique_ptr<Graph> graph_;
  std::string heard_;  // what TFLite said last
  int64_t last_ns_ = 0;
  Laps laps_, starts_;
};

}  // namespace quadra

#endif  // QUADRA_RUNNER_CONTENDER_H_
