#include "delegate_native/base/status.h"

#include <cstdarg>
#include <cstdio>

namespace quadra {
namespace {

std::string FormatList(const char* format, va_list arguments) {
  va_list copy;
  va_copy(copy, arguments);
  const int size = vsnprintf(nullptr, 0, format, copy);
  va_end(copy);
  if (size <= 0) return "";
  std::string text(static_cast<size_t>(size), '\0');
  vsnprintf(&text[0], text.size() + 1, format, arguments);
  return text;
}

}  // namespace

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "Ok";
    case Code::kUnsupported: return "Unsupported";
    case Code::kInvalidModel: return "InvalidModel";
    case Code::kDeviceFailed: return "DeviceFailed";
    case Code::kInternal: return "Internal";
  }
  return "?";
}

std::string Format(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = FormatList(format, arguments);
  va_end(arguments);
  return text;
}

#define QUADRA_STATUS_FUNCTION(name, code)              \
  Status name(const char* format, ...) {                \
    va_list arguments;                                  \
    va_start(arguments, format);                        \
    std::string text = FormatList(format, arguments);   \
    va_end(arguments);                                  \
    return Status(code, std::move(text));               \
  }
QUADRA_STATUS_FUNCTION(Unsupported, Code::kUnsupported)
QUADRA_STATUS_FUNCTION(InvalidModel, Code::kInvalidModel)
QUADRA_STATUS_FUNCTION(DeviceFailed, Code::kDeviceFailed)
QUADRA_STATUS_FUNCTION(Internal, Code::kInternal)
#undef QUADRA_STATUS_FUNCTION

}  // namespace quadra
