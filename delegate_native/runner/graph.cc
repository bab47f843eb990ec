#include "delegate_native/runner/graph.h"

namespace quadra {

Graph::~Graph() {
  if (runner_) tflite_.TfLiteSignatureRunnerDelete(runner_);
}

bool Graph::Open(TfLiteInterpreter* interpreter, const std::string& signature) {
  interpreter_ = interpreter;
  if (signature.empty()) return true;
  runner_ = tflite_.TfLiteInterpreterGetSignatureRunner(interpreter, signature.c_str());
  return runner_ != nullptr;
}

bool Graph::Resize(int input, const std::vector<int>& shape) {
  const int rank = static_cast<int>(shape.size());
  const TfLiteStatus status =
      runner_ ? tflite_.TfLiteSignatureRunnerResizeInputTensor(runner_, InputName(input).c_str(),
                                                               shape.data(), rank)
              : tflite_.TfLiteInterpreterResizeInputTensor(interpreter_, input, shape.data(), rank);
  return status == kTfLiteOk;
}

bool Graph::Allocate() {
  return (runner_ ? tflite_.TfLiteSignatureRunnerAllocateTensors(runner_)
                  : tflite_.TfLiteInterpreterAllocateTensors(interpreter_)) == kTfLiteOk;
}

bool Graph::Invoke() {
  return (runner_ ? tflite_.TfLiteSignatureRunnerInvoke(runner_)
                  : tflite_.TfLiteInterpreterInvoke(interpreter_)) == kTfLiteOk;
}

int Graph::InputCount() const {
  return runner_ ? static_cast<int>(tflite_.TfLiteSignatureRunnerGetInputCount(runner_))
                 : tflite_.TfLiteInterpreterGetInputTensorCount(interpreter_);
}

int Graph::OutputCount() const {
  return runner_ ? static_cast<int>(tflite_.TfLiteSignatureRunnerGetOutputCount(runner_))
                 : tflite_.TfLiteInterpreterGetOutputTensorCount(interpreter_);
}

TfLiteTensor* Graph::Input(int index) const {
  return runner_ ? tflite_.TfLiteSignatureRunnerGetInputTensor(runner_, InputName(index).c_str())
                 : tflite_.TfLiteInterpreterGetInputTensor(interpreter_, index);
}

const TfLiteTensor* Graph::Output(int index) const {
  return runner_ ? tflite_.TfLiteSignatureRunnerGetOutputTensor(runner_, OutputName(index).c_str())
                 : tflite_.TfLiteInterpreterGetOutputTensor(interpreter_, index);
}

std::string Graph::InputName(int index) const {
  const char* name = runner_ ? tflite_.TfLiteSignatureRunnerGetInputName(runner_, index)
                             : tflite_.TfLiteTensorName(Input(index));
  return name ? name : "";
}

std::string Graph::OutputName(int index) const {
  const char* name = runner_ ? tflite_.TfLiteSignatureRunnerGetOutputName(runner_, index)
                             : tflite_.TfLiteTensorName(Output(index));
  return name ? name : "";
}

}  // namespace quadra
