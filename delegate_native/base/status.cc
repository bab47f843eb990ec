#include "delegate_native/base/status.h"

#include <cstdio>

namespace quadra {
std::string FormatList(const char* format, va_list arguments) {
  char short_text[512];
  va_list again;
  va_copy(again, arguments);
  const int size = vsnprintf(short_text, sizeof(short_text), format, arguments);
  std::string text;
  if (size > 0 && static_cast<size_t>(size) < sizeof(short_text)) {
    text.assign(short_text, static_cast<size_t>(size));
  } else if (size > 0) {
    text.resize(static_cast<size_t>(size));
    vsnprintf(&text[0], text.size() + 1, format, again);
  }
  va_end(again);
  return text;
}

struct Status::Failure {
  Code code;
  std::string message;
};

Status::Status(Code code, std::string message) : failure_(new Failure{code, std::move(message)}) {}

Status::Status(const Status& other)
    : failure_(other.failure_ ? new Failure(*other.failure_) : nullptr) {}

void Status::Free() { delete failure_; }

Code Status::code() const { return failure_ ? failure_->code : Code::kOk; }

const std::string& Status::message() const {
  static const std::string* const kNone = new std::string();
  return failure_ ? failure_->message : *kNone;
}

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "Ok";
    case Code::kUnsupported: return "Unsupported";
    case Code::kInvalidModel: return "InvalidModel";
    case Code::kDeviceFailed: return "DeviceFailed";
    case Code::kInternal: return "Internal";
    case Code::kMiscompiled: return "Miscompiled";
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

Status Failed(Code code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = FormatList(format, arguments);
  va_end(arguments);
  return Status(code, std::move(text));
}

}  // namespace quadra
