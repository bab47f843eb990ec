// Compiles the programs of a plan, or takes them from its binaries; no kernel twice. On the
// context's thread.
#ifndef QUADRA_RUNTIME_GLES_GL_PROGRAMS_H_
#define QUADRA_RUNTIME_GLES_GL_PROGRAMS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "delegate_native/base/program_binary.h"
#include "delegate_native/plan/dispatch_group.h"
#include "delegate_native/plan/plan_generated.h"
#include "delegate_native/runtime/gles/gl_context.h"

namespace quadra {

// Owns one program object.
class GlProgram {
 public:
  GlProgram(const GlApi& gl, GLuint id) : gl_(gl), id_(id) {}
  ~GlProgram() { gl_.DeleteProgram(id_); }
  GlProgram(const GlProgram&) = delete;
  GlProgram& operator=(const GlProgram&) = delete;

  GLuint id() const { return id_; }

  // Whether the driver took it; else its launch may be refused.
  mutable bool launched = false;

 private:
  const GlApi& gl_;
  const GLuint id_;
};
using GlProgramPtr = std::shared_ptr<const GlProgram>;

// Keeps what it built: a second interpreter, another partition or a resized model finds it there.
class GlPrograms {
 public:
  explicit GlPrograms(const GlContext& context) : context_(context), gl_(context.gl) {}

  // The plan's programs, in its order, from what a driver once made of them (or null) where it
  // takes that. After an error those are null that did not compile.
  Status Build(const fb::Plan& plan, const fb::Binaries* kept, std::vector<GlProgramPtr>* programs,
               BinaryCount* count);
  // The program with groups of another size, kept by nobody; null: the driver refuses it.
  GlProgramPtr WithGroup(const fb::Program& program, const Group& from, const Group& to) const;
  ProgramBinary BinaryOf(const GlProgram& program) const;

 private:
  GlProgramPtr FromBinary(const fb::Program& program, const fb::ProgramBinary& binary) const;
  GLuint Shader(const std::string& source) const;
  Status Finish(const fb::Program& program, GLuint shader, const GlProgram& built) const;
  std::string Log(GLuint object, bool is_shader) const;

  const GlContext& context_;
  const GlApi& gl_;
  std::map<std::string, GlProgramPtr> built_;  // by source
};

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GL_PROGRAMS_H_
