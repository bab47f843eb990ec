// What a step answers: fine, or a code with a sentence a person can act on.
#ifndef QUADRA_BASE_STATUS_H_
#define QUADRA_BASE_STATUS_H_

#include <string>
#include <utility>

namespace quadra {

enum class Code {
  kOk,
  kUnsupported,   // the node or option is beyond this delegate; the CPU can have it
  kInvalidModel,  // the model contradicts itself
  kDeviceFailed,  // a driver or the GPU refused
  kInternal,      // our own mistake
};

const char* CodeName(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// printf into a string.
std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

Status Unsupported(const char* format, ...) __attribute__((format(printf, 1, 2)));
Status InvalidModel(const char* format, ...) __attribute__((format(printf, 1, 2)));
Status DeviceFailed(const char* format, ...) __attribute__((format(printf, 1, 2)));
Status Internal(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace quadra

#define QUADRA_RETURN_IF_ERROR(expression)           \
  do {                                               \
    ::quadra::Status status_of_step = (expression);  \
    if (!status_of_step.ok()) return status_of_step; \
  } while (0)

#endif  // QUADRA_BASE_STATUS_H_
