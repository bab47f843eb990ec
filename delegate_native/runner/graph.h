// The entry of a run: a model's main graph, or one of its signatures, whose inputs and outputs are
// sorted by name.
#ifndef QUADRA_RUNNER_GRAPH_H_
#define QUADRA_RUNNER_GRAPH_H_

#include <string>
#include <vector>

#include "delegate_native/runner/libraries.h"

namespace quadra {

class Graph {
 public:
  explicit Graph(const TfLiteApi& tflite) : tflite_(tflite) {}
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // For an interpreter that outlives it; an empty signature means the main graph. False: the model
  // has no such signature.
  bool Open(TfLiteInterpreter* interpreter, const std::string& signature);
  bool Resize(int input, const std::vector<int>& shape);
  bool Allocate();
  bool Invoke();
  int InputCount() const;
  int OutputCount() const;
  TfLiteTensor* Input(int index) const;
  const TfLiteTensor* Output(int index) const;
  std::string InputName(int index) const;
  std::string OutputName(int index) const;

 private:
  const TfLiteApi& tflite_;
  TfLiteInterpreter* interpreter_ = nullptr;
  TfLiteSignatureRunner* runner_ = nullptr;  // null: the main graph
};

}  // namespace quadra

#endif  // QUADRA_RUNNER_GRAPH_H_
