// Each program's first launch, when a plan is loaded: drivers refuse then what needs too much, and
// some compile.
#ifndef QUADRA_RUNTIME_GLES_GL_FIRST_LAUNCHES_H_
#define QUADRA_RUNTIME_GLES_GL_FIRST_LAUNCHES_H_

#include <atomic>
#include <cstddef>
#include <vector>

#include "delegate_native/runtime/gles/gl_executable.h"

namespace quadra {

class GlExecutable::FirstLaunches {
 public:
  explicit FirstLaunches(const GlExecutable& executable);

  size_t size() const { return launches_.size(); }
  const GlContext& context() const { return *executable_.device_->context; }

  // All of them: on the context, or on others beside it too (llvmpipe/).
  void LaunchAll();
  // Those that no thread has taken yet, one group each. A program is taken by one thread only.
  void Work(const GlApi& gl);
  // The first that was refused.
  Status Finish(Refusal* refusal) const;

 private:
  struct First {
    unsigned dispatch;  // the first of its program
    GLenum code;
  };

  bool Holds(const GlProgram* program) const;

  const GlExecutable& executable_;
  std::vector<First> launches_;
  std::atomic<size_t> next_{0};
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GL_FIRST_LAUNCHES_H_
