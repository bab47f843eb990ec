// A plan on OpenGL ES: its programs, its bindings.
#ifndef QUADRA_RUNTIME_GLES_GL_EXECUTABLE_H_
#define QUADRA_RUNTIME_GLES_GL_EXECUTABLE_H_

#include <memory>
#include <utility>
#include <vector>

#include "delegate_native/runtime/backend.h"
#include "delegate_native/runtime/gles/gl_device.h"
#include "delegate_native/runtime/gles/gl_plan_memory.h"

namespace quadra {

class GlExecutable : public Executable, private Build {
 public:
  GlExecutable(std::shared_ptr<GlDevice> device, const fb::Plan* plan);
  ~GlExecutable() override;

  Status Load(const PlanWeights& weights, const fb::Binaries* kept, LoadTimes* times);
  Status LaunchFirst(int* launched, Refusal* refusal) override;
  Status Run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
             RunTimes* times) override;
  Status Bind(const PortObjects& objects) override;
  bool can_start(const Events& events) const override;
  Status Await(const Events& events, bool on_device) override;
  Status Start(Events* events) override;
  CopiedBytes copied_bytes() const override { return memory_.copied_bytes(); }
  float Time(unsigned dispatch, const Group& group) override;
  bool is_intact() const override { return is_intact_ && !gl_.lost; }
  std::vector<ProgramBinary> Binaries() override;

 private:
  // A part of a buffer at a binding, a texture at a texture unit or an image unit.
  struct Binding {
    GLuint object = 0;
    GLintptr offset = 0;
    GLsizeiptr bytes = 0;
    GLenum format = 0;  // of an image
    GLenum access = GL_READ_ONLY;
  };
  struct Launch {
    GLuint program = 0;
    std::vector<Binding> buffers, textures, images;  // by unit
    GLintptr numbers = 0;                            // where they are in numbers_,
    GLsizeiptr numbers_bytes = 0;                    // and how many
    GLuint groups[3] = {1, 1, 1};
  };

  template <typename Job>
  Status Do(Job job) {
    Status status = device_->thread.Do([&] {
      QUADRA_RETURN_IF_ERROR(TakeBindings());
      Status done = job();
      device_->bound.Raise(uses_);
      return done;
    });
    if (!status.ok()) is_intact_ = false;
    return status;
  }
  // All of these on the device's thread.
  Status TakeBindings();
  const GlProgramPtr& ProgramOf(unsigned dispatch) const {
    return programs_[static_cast<size_t>(plan_.dispatches()->Get(dispatch)->program())];
  }
  bool Has(const fb::Dispatch& dispatch) const override;
  bool Compiles(const fb::Dispatch& dispatch, const Group& group) const override;
  Status MakeLaunches();
  Status MakeLaunch(const fb::Dispatch& dispatch, std::vector<int32_t>* numbers);
  void Bind(const fb::Arg& arg, Launch* launch);
  Status RunHere(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                 RunTimes* times);
  void BindLaunch(const GlApi& gl, const Launch& launch) const;
  void Dispatch(const Launch& launch);
  class FirstLaunches;
  Status LaunchFirstHere(int* launched, Refusal* refusal);
  Status DispatchAll();
  Status ReadCopy(const fb::Tensor& from, void* to) override;
  Status Profile(const std::vector<const void*>& inputs, size_t first, size_t count,
                 RunTimes* times);
  Status ProfileByTimers(size_t first, size_t count, RunTimes* times);
  Status TimeHere(unsigned dispatch, const Group& group, float* us);
  GLenum PollGpu(int64_t most_ms);
  Status WaitForGpu();
  Status WaitOnHost(EGLSyncKHR sync, int deadline_ms) const;
  Status WaitOnDevice(EGLSyncKHR sync, bool is_ours);
  Status AwaitHere(const Events& events, bool on_device);
  Status StartHere(EGLSyncKHR callers, Events* events);
  void EndDone();
  void Free();

  std::shared_ptr<GlDevice> device_;
  // Once a load or run failed, a command that was refused may have sent the next ones' data into
  // any of its buffers.
  bool is_intact_ = true;
  GlDevice::Bound uses_;  // of its launches
  const GlApi& gl_;
  const fb::Plan& plan_;
  GlPlanMemory memory_;
  GLuint numbers_ = 0;                  // the numbers of all dispatches
  std::vector<GlProgramPtr> programs_;  // parallel to plan.programs
  bool goes_on_ = false;                // what Start began last, as far as is known
  EGLSyncKHR done_ = EGL_NO_SYNC_KHR;   // of its end,
  int fence_ = -1;                      // and as a file descriptor
  std::vector<Launch> launches_;        // parallel to plan.dispatches
  unsigned timed_dispatch_ = 0;         // of the last Time
  Group timed_group_ = {0, 0, 0};
  GlProgramPtr timed_program_;
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GL_EXECUTABLE_H_
