#include "delegate_native/runner/contender.h"

#include <cstdio>

#include "delegate_native/base/lean/clock.h"
#include "delegate_native/base/status.h"

namespace quadra {
namespace {

char refusal[1024];  // what the delegate said when it was not made

void HearRefusal(const char* text) { snprintf(refusal, sizeof(refusal), "%s", text); }

void Hear(void* heard, const char* format, va_list list) {
  char text[1024];
  vsnprintf(text, sizeof(text), format, list);
  *static_cast<std::string*>(heard) = text;
}

}  // namespace

void Stage(const std::string& text) {
  fprintf(stdout, "stage: %s\n", text.c_str());
  fflush(stdout);
}

Contender::~Contender() {
  graph_.reset();
  if (interpreter_) tflite_.TfLiteInterpreterDelete(interpreter_);
  if (delegate_) quadra_->destroy(delegate_);
  if (xnnpack_) tflite_.TfLiteXNNPackDelegateDelete(xnnpack_);
  if (model_) tflite_.TfLiteModelDelete(model_);
}

Outcome Contender::Start(const Spec& spec, const std::string& model, const Options& options,
                         QuadraApi* quadra, const std::string& library,
                         const std::vector<Array>& inputs) {
  const std::string name = name_;
  const int64_t started_cpu_us = ProcessCpuUs();
  Stage(quadra ? "load the delegate" : "start " + name);
  QUADRA_RETURN_IF_FAILED(Prepare(spec, model, options, quadra, library));
  QUADRA_RETURN_IF_FAILED(Allocate(inputs));
  Lap("allocate_us");
  Stage("first inference of " + name);
  const int64_t before_cpu_us = ProcessCpuUs();
  QUADRA_RETURN_IF_FAILED(SetInputs(inputs));
  QUADRA_RETURN_IF_FAILED(Run());
  Lap("first_invoke_us");
  int64_t total_us = 0;
  for (const auto& lap : laps_) total_us += lap.second;
  const int64_t invoke_cpu_us = ProcessCpuUs() - before_cpu_us;
  laps_.emplace_back("total_us", total_us);
  laps_.emplace_back("cpu_us", before_cpu_us - started_cpu_us + invoke_cpu_us);
  laps_.emplace_back("first_invoke_cpu_us", invoke_cpu_us);
  return Outcome();
}

Outcome Contender::Prepare(const Spec& spec, const std::string& model, const Options& options,
                           QuadraApi* quadra, const std::string& library) {
  last_ns_ = NowNs();
  if (quadra) {
    QUADRA_RETURN_IF_FAILED(MakeDelegate(options, quadra, library));
    Lap("load_delegate_us");
    Stage("give the model's nodes to the delegate");
  }
  QUADRA_RETURN_IF_FAILED(MakeInterpreter(spec, model));
  Lap("interpreter_us");
  return Outcome();
}

Outcome Contender::MakeDelegate(const Options& options, QuadraApi* quadra,
                                const std::string& library) {
  QUADRA_RETURN_IF_FAILED(quadra->Load(library));
  quadra_ = quadra;
  std::vector<const char*> keys, values;
  for (const auto& option : options) {
    keys.push_back(option.first.c_str());
    values.push_back(option.second.c_str());
  }
  HearRefusal("it gives no reason");
  delegate_ = quadra->create(keys.data(), values.data(), keys.size(), HearRefusal);
  if (delegate_) return Outcome();
  return Outcome::Misuse("make the delegate", refusal, "see docs/options.md");
}

Outcome Contender::MakeInterpreter(const Spec& spec, const std::string& model) {
  const std::string tried = "make an interpreter for " + spec.model_name + " on " + name_;
  model_ = spec.model_data ? tflite_.TfLiteModelCreate(spec.model_data, spec.model_bytes)
                           : tflite_.TfLiteModelCreateFromFile(model.c_str());
  if (!model_) {
    return Outcome::Misuse("read the model " + model, "TFLite does not take it",
                           "give a .tflite file; a damaged one: fetch it again");
  }
  TfLiteInterpreterOptions* options = tflite_.TfLiteInterpreterOptionsCreate();
  tflite_.TfLiteInterpreterOptionsSetNumThreads(options, spec.threads);
  tflite_.TfLiteInterpreterOptionsSetErrorReporter(options, Hear, &heard_);
  if (delegate_) tflite_.TfLiteInterpreterOptionsAddDelegate(options, delegate_);
  interpreter_ = tflite_.TfLiteInterpreterCreate(model_, options);
  tflite_.TfLiteInterpreterOptionsDelete(options);
  if (!interpreter_) return Failed(tried);
  QUADRA_RETURN_IF_FAILED(AddXnnpack(spec.threads));
  graph_ = std::make_unique<Graph>(tflite_);
  if (graph_->Open(interpreter_, spec.signature)) return Outcome();
  return Outcome::Misuse("find the signature " + spec.signature + " of the model",
                         "the model has none of this name", "give one that it has");
}

// The rest runs by XNNPACK, as in an app; what XNNPACK does not take, by plain kernels.
Outcome Contender::AddXnnpack(int threads) {
  XnnpackOptions options = tflite_.TfLiteXNNPackDelegateOptionsDefault();
  options.num_threads = threads;
  xnnpack_ = tflite_.TfLiteXNNPackDelegateCreate(&options);
  const bool failed = !xnnpack_ || tflite_.TfLiteInterpreterModifyGraphWithDelegate(
                                       interpreter_, xnnpack_) == kTfLiteError;
  return failed ? Failed(std::string("give XNNPACK its nodes, beside ") + name_) : Outcome();
}

Outcome Contender::Allocate(const std::vector<Array>& inputs) {
  const int count = graph_->InputCount();
  if (static_cast<size_t>(count) != inputs.size()) {
    return Outcome::Misuse(
        "set the inputs",
        Format("the run folder has %zu, the model expects %d", inputs.size(), count),
        "make the run folder again");
  }
  for (int i = 0; i < count; ++i) {
    const Array& input = inputs[static_cast<size_t>(i)];
    const Tensor tensor = Describe(tflite_, graph_->Input(i), graph_->InputName(i));
    QUADRA_RETURN_IF_FAILED(RequireType(input, tensor));
    if (tensor.shape != input.shape && !graph_->Resize(i, input.shape)) {
      return Failed("give another size to the input " + graph_->InputName(i));
    }
  }
  return graph_->Allocate() ? Outcome() : Failed(std::string("prepare the model for ") + name_);
}

Outcome Contender::SetInputs(const std::vector<Array>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int index = static_cast<int>(i);
    TfLiteTensor* tensor = graph_->Input(index);
    const std::string& values = inputs[i].values;
    QUADRA_RETURN_IF_FAILED(
        RequireFits(inputs[i], Describe(tflite_, tensor, graph_->InputName(index))));
    if (tflite_.TfLiteTensorCopyFromBuffer(tensor, values.data(), values.size()) != kTfLiteOk) {
      return Failed("set the input " + graph_->InputName(index));
    }
  }
  return Outcome();
}

Outcome Contender::RunOn(const std::vector<Array>& inputs) {
  bool fits = static_cast<size_t>(graph_->InputCount()) == inputs.size();
  for (int i = 0; fits && i < graph_->InputCount(); ++i) {
    const Tensor tensor = Describe(tflite_, graph_->Input(i), graph_->InputName(i));
    fits = tensor.shape == inputs[static_cast<size_t>(i)].shape;
  }
  if (!fits) QUADRA_RETURN_IF_FAILED(Allocate(inputs));
  QUADRA_RETURN_IF_FAILED(SetInputs(inputs));
  return Run();
}

Outcome Contender::Run() {
  return graph_->Invoke() ? Outcome() : Failed(std::string("run the model on ") + name_);
}

Outcome Contender::Outputs(std::vector<Tensor>* tensors, std::vector<std::string>* values) const {
  for (int i = 0; i < graph_->OutputCount(); ++i) {
    const TfLiteTensor* output = graph_->Output(i);
    const Tensor tensor = Describe(tflite_, output, graph_->OutputName(i));
    if (!TypeName(tensor.type)) {
      return Outcome::Misuse("read the output " + tensor.name, "its type is not numeric",
                             "give a model with numeric outputs");
    }
    std::string bytes(tensor.bytes, '\0');
    if (tflite_.TfLiteTensorCopyToBuffer(output, &bytes[0], bytes.size()) != kTfLiteOk) {
      return Failed("read the output " + tensor.name);
    }
    tensors->push_back(tensor);
    values->push_back(bytes);
  }
  return Outcome();
}

std::vector<Tensor> Contender::Inputs() const {
  std::vector<Tensor> tensors;
  tensors.reserve(static_cast<size_t>(graph_->InputCount()));
  for (int i = 0; i < graph_->InputCount(); ++i) {
    tensors.push_back(Describe(tflite_, graph_->Input(i), graph_->InputName(i)));
  }
  return tensors;
}

std::string Contender::Report() const {
  std::string text(quadra_->report(delegate_, nullptr, 0), '\0');
  quadra_->report(delegate_, &text[0], text.size());
  text.resize(text.size() - 1);  // its final NUL
  return text;
}

Outcome Contender::Failed(const std::string& tried) const {
  return Outcome::Failed(tried, heard_.empty() ? "TFLite gave no reason" : heard_,
                         "see the log of the device");
}

void Contender::Lap(const char* step) {
  const int64_t now_ns = NowNs();
  laps_.emplace_back(step, (now_ns - last_ns_) / 1000);
  starts_.emplace_back(step, last_ns_);
  last_ns_ = now_ns;
}

}  // namespace quadra
