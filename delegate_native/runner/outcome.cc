#include "delegate_native/runner/outcome.h"

#include <utility>

#include "delegate_native/base/json_writer.h"

namespace quadra {
namespace {

constexpr int kMisuse = 2;
constexpr int kRunFailed = 77;

}  // namespace

Outcome Outcome::Misuse(std::string tried, std::string came_back, std::string do_next) {
  Outcome outcome = Failed(std::move(tried), std::move(came_back), std::move(do_next));
  outcome.exit_code_ = kMisuse;
  return outcome;
}

Outcome Outcome::Failed(std::string tried, std::string came_back, std::string do_next) {
  Outcome outcome;
  outcome.exit_code_ = kRunFailed;
  outcome.tried_ = std::move(tried);
  outcome.came_back_ = std::move(came_back);
  outcome.do_next_ = std::move(do_next);
  return outcome;
}

std::string Outcome::Sentence() const { return tried_ + ": " + came_back_ + "; next: " + do_next_; }

std::string Outcome::Json() const {
  JsonWriter json;
  json.BeginObject();
  json.Key("kind").Text(exit_code_ == kMisuse ? "Misuse" : "RunFailed");
  json.Key("exit_code").Number(exit_code_);
  json.Key("parts").BeginArray().Text(tried_).Text(came_back_).Text(do_next_).EndArray();
  return json.EndObject().text();
}

}  // namespace quadra
