// The library's entry points: the external-delegate pair and the C API.
#include <cstring>
#include <memory>
#include <utility>

#include "delegate_native/delegate/delegate.h"
#include "delegate_native/delegate/quadra.h"

namespace quadra {
namespace {

using ReportError = void (*)(const char*);

// False and a sentence where it is not ok.
bool Report(const Status& status, ReportError report_error) {
  if (!status.ok() && report_error) report_error(("Quadra: " + status.message()).c_str());
  return status.ok();
}

// A delegate, or null and a sentence.
TfLiteDelegate* Create(Status status, Options options, const VerdictListener& listener,
                       ReportError report_error) {
  if (status.ok()) status = CheckOptions(options);
  if (!Report(status, report_error)) return nullptr;
  return (new Delegate(std::move(options), listener))->c_delegate();
}

}  // namespace
}  // namespace quadra

extern "C" {

TfLiteDelegate* tflite_plugin_create_delegate(const char* const* keys, const char* const* values,
                                              size_t count, void (*report_error)(const char*)) {
  quadra::Options options;
  quadra::Status status = quadra::DefaultOptions(&options);
  for (size_t i = 0; i < count && status.ok(); ++i) {
    status = quadra::SetOption(keys[i], values[i], &options);
  }
  return quadra::Create(std::move(status), std::move(options), {}, report_error);
}

QUADRA_EXPORT void tflite_plugin_destroy_delegate(TfLiteDelegate* delegate) {
  QuadraDelegateDelete(delegate);
}

QuadraDelegateOptions QuadraDelegateOptionsDefault(void) {
  QuadraDelegateOptions options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  quadra::Options defaults;
  if (!quadra::DefaultOptions(&defaults).ok()) return options;  // Create says what is wrong
  quadra::ToC(defaults, &options);
  return options;
}

TfLiteDelegate* QuadraDelegateCreate(const QuadraDelegateOptions* c_options,
                                     void (*report_error)(const char*)) {
  quadra::Options options;
  quadra::Status status = quadra::DefaultOptions(&options);
  quadra::VerdictListener listener;
  if (status.ok() && c_options) {
    status = quadra::FromC(*c_options, &options);
    if (c_options->size >= sizeof(*c_options)) {
      listener = {c_options->on_verdict, c_options->on_verdict_data};
    }
  }
  return quadra::Create(std::move(status), std::move(options), listener, report_error);
}

void QuadraDelegateDelete(TfLiteDelegate* delegate) {
  if (delegate) delete quadra::Delegate::From(delegate);
}

int QuadraDelegateBindBuffer(TfLiteDelegate* delegate, int tensor, const QuadraBuffer* buffer,
                             void (*report_error)(const char*)) {
  return QuadraDelegateBindSubgraphBuffer(delegate, 0, tensor, buffer, report_error);
}

int QuadraDelegateBindSubgraphBuffer(TfLiteDelegate* delegate, int subgraph, int tensor,
                                     const QuadraBuffer* buffer,
                                     void (*report_error)(const char*)) {
  if (!delegate) return 0;
  return quadra::Report(quadra::Delegate::From(delegate)->BindBuffer(subgraph, tensor, buffer),
                        report_error);
}

int QuadraDelegateTakesBuffer(TfLiteDelegate* delegate, int tensor, const QuadraBuffer* buffer,
                              void (*report_error)(const char*)) {
  if (!delegate || !buffer) return 0;
  return quadra::Report(quadra::Delegate::From(delegate)->CheckBuffer(
                            quadra::Delegate::kAnySubgraph, tensor, *buffer),
                        report_error);
}

void QuadraDelegateUseContexts(TfLiteDelegate* delegate, const QuadraContexts* contexts) {
  if (delegate && contexts) quadra::Delegate::From(delegate)->UseContexts(quadra::FromC(*contexts));
}

QuadraContexts QuadraDelegateContexts(TfLiteDelegate* delegate) {
  return quadra::ForC(delegate ? quadra::Delegate::From(delegate)->contexts() : quadra::Contexts());
}

struct QuadraGpuBuffer {
  std::shared_ptr<quadra::Backend> backend;  // outlives its memory
  std::unique_ptr<quadra::DeviceMemory> memory;
};

QuadraGpuBuffer* QuadraGpuBufferCreate(void* context, void* handle, size_t bytes,
                                       void (*report_error)(const char*)) {
  auto made = std::make_unique<QuadraGpuBuffer>();
  const quadra::Status status =
      quadra::MakeOpenClMemory(context, handle, bytes, &made->backend, &made->memory);
  return quadra::Report(status, report_error) ? made.release() : nullptr;
}

void QuadraGpuBufferDelete(QuadraGpuBuffer* buffer) { delete buffer; }

void* QuadraGpuBufferHandle(QuadraGpuBuffer* buffer) { return buffer->memory->object(); }

void* QuadraGpuBufferLock(QuadraGpuBuffer* buffer, int reads) {
  void* host = nullptr;
  return buffer->memory->Lock(reads != 0, &host).ok() ? host : nullptr;
}

int QuadraGpuBufferUnlock(QuadraGpuBuffer* buffer, int writes) {
  return buffer->memory->Unlock(writes != 0).ok();
}

int QuadraDelegateReadState(TfLiteDelegate* delegate, const char* name, void* numbers, size_t bytes,
                            void (*report_error)(const char*)) {
  if (!delegate || !name || !numbers) return 0;
  return quadra::Report(quadra::Delegate::From(delegate)->states().Read(name, numbers, bytes),
                        report_error);
}

int QuadraDelegateWriteState(TfLiteDelegate* delegate, const char* name, const void* numbers,
                             size_t bytes, void (*report_error)(const char*)) {
  if (!delegate) return 0;
  return quadra::Report(quadra::Delegate::From(delegate)->states().Write(name, numbers, bytes),
                        report_error);
}

void QuadraDelegateSetBufferSource(TfLiteDelegate* delegate, const QuadraBufferSource* source) {
  if (delegate && source) quadra::Delegate::From(delegate)->SetBufferSource(*source);
}

size_t QuadraDelegateReport(TfLiteDelegate* delegate, char* buffer, size_t size) {
  if (!delegate) return 0;
  const std::string report = quadra::Delegate::From(delegate)->Report();
  if (buffer && size > 0) {
    const size_t copied = report.size() < size - 1 ? report.size() : size - 1;
    memcpy(buffer, report.data(), copied);
    buffer[copied] = '\0';
  }
  return report.size() + 1;
}

}  // extern "C"
