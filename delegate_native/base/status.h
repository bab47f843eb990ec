// The result of a step: OK, or a code with a sentence a person can act on.
#ifndef QUADRA_BASE_STATUS_H_
#define QUADRA_BASE_STATUS_H_

#include <cstdarg>
#include <string>
#include <utility>

#include "delegate_native/base/texts.h"

namespace quadra {

enum class Code {
  kOk,
  kUnsupported,   // the node or option is beyond this delegate; the CPU can have it
  kInvalidModel,  // the model contradicts itself
  kDeviceFailed,  // a driver or the GPU refused
  kInternal,      // our own mistake
  kMiscompiled,   // a driver's program computes wrong numbers, and will again
};

const char* CodeName(Code code);

// Null when all is well, so that success costs nothing. With clang it travels in a register.
#ifdef __clang__
#define QUADRA_IN_REGISTER __attribute__((trivial_abi))
#else
#define QUADRA_IN_REGISTER
#endif

class [[nodiscard]] QUADRA_IN_REGISTER Status {
 public:
  Status() = default;
  Status(Code code, std::string message);
  Status(const Status& other);
  Status(Status&& other) noexcept : failure_(other.failure_) { other.failure_ = nullptr; }
  Status& operator=(Status other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  // In place: where it is known that all is well, nothing is left of it.
  __attribute__((always_inline)) ~Status() {
    if (failure_) Free();
  }

  bool ok() const { return !failure_; }
  Code code() const;
  const std::string& message() const;

 private:
  struct Failure;
  void Free();

  Failure* failure_ = nullptr;
};

// printf into a string.
std::string Format(const char* format, ...) __attribute__((format(printf, 1, 2)));

std::string FormatList(const char* format, va_list arguments);

template <typename... Arguments>
__attribute__((always_inline)) inline std::string FormatOf(const char* format,
                                                           const char* /*literal*/,
                                                           Arguments... arguments) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
  return Format(format, arguments...);
#pragma GCC diagnostic pop
}

// printf into a failure.
Status Failed(Code code, const char* format, ...);

template <typename... Arguments>
__attribute__((always_inline)) inline Status FailedOf(Code code, const char* format,
                                                      const char* /*literal*/,
                                                      Arguments... arguments) {
  return Failed(code, format, arguments...);
}

// Never called: compilers check the arguments against its format.
inline void CheckFormat(const char*, ...) __attribute__((format(printf, 1, 2)));
inline void CheckFormat(const char*, ...) {}

}  // namespace quadra

#define QUADRA_FIRST(first, ...) first

// TextOf("a format of printf", arguments…): one of the library's texts (texts.h), filled in.
#define TextOf(...)                                       \
  ((false ? ::quadra::CheckFormat(__VA_ARGS__) : void()), \
   ::quadra::FormatOf(QUADRA_TEXT(QUADRA_FIRST(__VA_ARGS__, 0)), __VA_ARGS__))

// Unsupported("a format of printf", arguments…) and the like make a Status. Macros, because the
// format is one of the library's texts (texts.h): it must be a literal.
#define QUADRA_FAILED(code, ...)                          \
  ((false ? ::quadra::CheckFormat(__VA_ARGS__) : void()), \
   ::quadra::FailedOf(code, QUADRA_TEXT(QUADRA_FIRST(__VA_ARGS__, 0)), __VA_ARGS__))
#define Unsupported(...) QUADRA_FAILED(::quadra::Code::kUnsupported, __VA_ARGS__)
#define InvalidModel(...) QUADRA_FAILED(::quadra::Code::kInvalidModel, __VA_ARGS__)
#define DeviceFailed(...) QUADRA_FAILED(::quadra::Code::kDeviceFailed, __VA_ARGS__)
#define Internal(...) QUADRA_FAILED(::quadra::Code::kInternal, __VA_ARGS__)

#define QUADRA_RETURN_IF_ERROR(expression)           \
  do {                                               \
    ::quadra::Status status_of_step = (expression);  \
    if (!status_of_step.ok()) return status_of_step; \
  } while (0)

#endif  // QUADRA_BASE_STATUS_H_
