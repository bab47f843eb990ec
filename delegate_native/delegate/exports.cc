// The library's entry points: the external-delegate pair and the C API.
#include <cstring>
#include <utility>

#include "delegate_native/delegate/delegate.h"
#include "delegate_native/delegate/quadra.h"

namespace quadra {
namespace {

using ReportError = void (*)(const char*);

TfLiteDelegate* Refuse(const Status& status, ReportError report_error) {
  if (report_error) report_error(("Quadra: " + status.message()).c_str());
  return nullptr;
}

// Strings stay NULL (their default); numbers are what the table and the environment say.
void SetDefault(const char**, const std::string&) {}
void SetDefault(int* field, int value) { *field = value; }

TfLiteDelegate* Create(Options options) { return (new Delegate(std::move(options)))->c_delegate(); }

}  // namespace
}  // namespace quadra

extern "C" {

QUADRA_EXPORT TfLiteDelegate* tflite_plugin_create_delegate(const char* const* keys,
                                                            const char* const* values, size_t count,
                                                            void (*report_error)(const char*)) {
  quadra::Options options;
  quadra::Status status = quadra::DefaultOptions(&options);
  for (size_t i = 0; i < count && status.ok(); ++i) {
    status = quadra::SetOption(keys[i], values[i], &options);
  }
  return status.ok() ? quadra::Create(std::move(options)) : quadra::Refuse(status, report_error);
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
#define QUADRA_OPTION(field, kind, default_value, values, help) \
  quadra::SetDefault(&options.field, defaults.field);
#include "delegate_native/delegate/options.def"
#undef QUADRA_OPTION
  return options;
}

TfLiteDelegate* QuadraDelegateCreate(const QuadraDelegateOptions* c_options,
                                     void (*report_error)(const char*)) {
  quadra::Options options;
  quadra::Status status = quadra::DefaultOptions(&options);
  if (status.ok() && c_options) status = quadra::FromC(*c_options, &options);
  return status.ok() ? quadra::Create(std::move(options)) : quadra::Refuse(status, report_error);
}

void QuadraDelegateDelete(TfLiteDelegate* delegate) {
  if (delegate) delete quadra::Delegate::From(delegate);
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
