// The memory of a plan on OpenGL ES: its buffers, images and textures over parts of buffers, and
// the callers' buffers in the place of its own. Everything happens on the context's thread.
#ifndef QUADRA_RUNTIME_GLES_GL_PLAN_MEMORY_H_
#define QUADRA_RUNTIME_GLES_GL_PLAN_MEMORY_H_

#include <memory>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/plan/plan_generated.h"
#include "delegate_native/plan/weights.h"
#include "delegate_native/runtime/gles/gl_api.h"
#include "delegate_native/runtime/ports.h"

namespace quadra {

// Formats of pixels of four numbers, and of texels.
GLenum FormatOf(fb::Cell cell);
GLenum FormatOf(fb::View view);

// Owns a buffer of weights.
struct GlWeights {
  explicit GlWeights(const GlApi& api) : gl(api) {}
  ~GlWeights() { gl.DeleteBuffers(1, &buffer); }
  GlWeights(const GlWeights&) = delete;
  GlWeights& operator=(const GlWeights&) = delete;

  const GlApi& gl;
  GLuint buffer = 0;
};

class GlPlanMemory {
 public:
  GlPlanMemory(const GlApi& gl, const fb::Plan& plan) : gl_(gl), plan_(plan) {}

  Status Make(const PlanWeights& weights);
  void Free();

  // The plan's buffer, or image.
  GLuint buffer(int index) const { return buffers_[static_cast<size_t>(index)]; }
  // A texture over the argument's region.
  GLuint TexelsOf(const fb::Arg& arg);
  // The buffer that kernels work on in the place of an own one.
  GLuint Resolve(GLuint own) const;

  // The list may be empty where all are bound.
  Status Write(const std::vector<const void*>& inputs);
  Status Read(const std::vector<void*>& outputs);
  Status Read(const fb::Tensor& from, void* to) { return Read(PortOf(plan_, from), to); }

  Status Bind(const PortObjects& objects);
  bool has_bound() const { return has_bound_; }
  CopiedBytes copied_bytes() const { return CopiedBytesOf(ports_); }

 private:
  struct Texels {
    int region;
    fb::View view;
    GLuint texture;
  };

  Status MakeBuffer(const fb::Buffer& buffer, const uint8_t* constant, GLuint* made);
  Status MakeWeights(const fb::Buffer& buffer, Weights* weights);
  void Upload(Weights* weights);
  Status MakeImage(const fb::Buffer& buffer, GLuint* made);
  void View(const Texels& texels, GLuint buffer) const;
  Status Write(const PlanPort& port, GLuint buffer, const void* from);
  Status BringState(const void* from, PlanPort* port);
  Status Read(const PlanPort& port, void* to);
  Status Measure(GLuint buffer, size_t* bytes) const;
  Status SetStore(const PlanPort& port, bool is_there);

  const GlApi& gl_;
  const fb::Plan& plan_;
  std::vector<GLuint> buffers_;  // parallel to plan.buffers: buffer or texture objects
  std::vector<std::shared_ptr<GlWeights>> weights_;  // likewise: those that other plans may have
  std::vector<Texels> texels_;
  Ports<PlanPort> ports_;
  std::vector<bool> emptied_;  // parallel to plan.buffers: an object is in its place
  bool has_bound_ = false;
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GL_PLAN_MEMORY_H_
