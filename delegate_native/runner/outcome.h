// The result of a run's step: OK, or what was tried, what came back and what to do next.
#ifndef QUADRA_RUNNER_OUTCOME_H_
#define QUADRA_RUNNER_OUTCOME_H_

#include <string>

namespace quadra {

class [[nodiscard]] Outcome {
 public:
  Outcome() = default;
  // The request cannot be carried out as it is.
  static Outcome Misuse(std::string tried, std::string came_back, std::string do_next);
  // A run of a model did not finish.
  static Outcome Failed(std::string tried, std::string came_back, std::string do_next);

  bool ok() const { return exit_code_ == 0; }
  int exit_code() const { return exit_code_; }  // as host_tools/base/errors.py counts
  std::string Sentence() const;
  std::string Json() const;  // of error.json

 private:
  int exit_code_ = 0;
  std::string tried_, came_back_, do_next_;
};

}  // namespace quadra

#define QUADRA_RETURN_IF_FAILED(expression)            \
  do {                                                 \
    ::quadra::Outcome outcome_of_step = (expression);  \
    if (!outcome_of_step.ok()) return outcome_of_step; \
  } while (0)

#endif  // QUADRA_RUNNER_OUTCOME_H_
