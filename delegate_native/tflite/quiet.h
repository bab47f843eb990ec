#ifndef QUADRA_TFLITE_QUIET_H_
#define QUADRA_TFLITE_QUIET_H_

#include "delegate_native/tflite/abi.h"

namespace quadra {

// While it lives the interpreter reports no errors: for questions whose answer may be no.
class Quiet {
 public:
  explicit Quiet(TfLiteContext* context) : context_(context), report_(context->ReportError) {
    context->ReportError = ReportNothing;
  }
  ~Quiet() { context_->ReportError = report_; }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  static void ReportNothing(TfLiteContext*, const char*, ...) {}

  TfLiteContext* context_;
  decltype(TfLiteContext::ReportError) report_;
};

// A subgraph of the model, or nullptr where the model has no more.
inline TfLiteContext* AcquireIfThere(TfLiteContext* context, int subgraph) {
  const Quiet quiet(context);
  TfLiteContext* acquired = nullptr;
  return context->AcquireSubgraphContext(context, subgraph, &acquired) == kTfLiteOk ? acquired
                                                                                    : nullptr;
}

}  // namespace quadra

#endif  // QUADRA_TFLITE_QUIET_H_
