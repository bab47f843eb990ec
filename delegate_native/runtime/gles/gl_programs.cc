#include "delegate_native/runtime/gles/gl_programs.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/log.h"
#include "delegate_native/runtime/backend.h"

namespace quadra {
namespace {

constexpr size_t kMostKept = 256;  // programs; those in use are kept beyond that
constexpr GLint kMostLog = 4000;

std::string SourceOf(const fb::Program& program) {
  return program.prelude()->str() + program.kernels()->Get(0)->source()->str();
}

const char* NameOf(const fb::Program& program) {
  return program.kernels()->Get(0)->entry()->c_str();
}

}  // namespace

// A binary of another driver, or a damaged one, does not link: then the source is compiled.
GlProgramPtr GlPrograms::FromBinary(const fb::Program& program,
                                    const fb::ProgramBinary& binary) const {
  auto made = std::make_shared<const GlProgram>(gl_, gl_.CreateProgram());
  gl_.ProgramBinary(made->id(), binary.format(), binary.bytes()->data(),
                    static_cast<GLsizei>(binary.bytes()->size()));
  GLint linked = GL_FALSE;
  gl_.GetProgramiv(made->id(), GL_LINK_STATUS, &linked);
  const Status status = CheckGl(gl_, "load a program binary");
  made->launched = true;  // it was kept after an inference
  if (linked && status.ok()) return made;
  quadra::Log(2, "the driver refused the binary of %s: it is compiled anew", NameOf(program));
  return nullptr;
}

std::string GlPrograms::Log(GLuint object, bool is_shader) const {
  std::string log(static_cast<size_t>(kMostLog), '\0');
  GLsizei size = 0;
  (is_shader ? gl_.GetShaderInfoLog : gl_.GetProgramInfoLog)(object, kMostLog, &size, &log[0]);
  log.resize(static_cast<size_t>(std::max(0, std::min(size, kMostLog - 1))));
  while (!log.empty() && log.back() == '\n') log.pop_back();
  return log.empty() ? "(the driver left no log)" : log;
}

Status GlPrograms::Finish(const fb::Program& program, GLuint shader, const GlProgram& built) const {
  GLint compiled = GL_FALSE, linked = GL_FALSE;
  gl_.GetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
  gl_.GetProgramiv(built.id(), GL_LINK_STATUS, &linked);
  if (compiled && linked) return Status();
  const std::string log = compiled ? Log(built.id(), false) : Log(shader, true);
  Status pending =
      CheckGl(gl_, Format("%s %s", compiled ? "link" : "compile", NameOf(program)).c_str());
  if (gl_.lost) return pending;
  return DeviceFailed(
      "%s %s: the driver's log: %s; next: dump_dir keeps the kernel's text for a report",
      compiled ? "link" : "compile", NameOf(program), log.c_str());
}

GLuint GlPrograms::Shader(const std::string& source) const {
  const GLuint shader = gl_.CreateShader(GL_COMPUTE_SHADER);
  const char* text = source.c_str();
  gl_.ShaderSource(shader, 1, &text, nullptr);
  gl_.CompileShader(shader);
  return shader;
}

GlProgramPtr GlPrograms::WithGroup(const fb::Program& program, const Group& from,
                                   const Group& to) const {
  const GLuint shader =
      Shader(Replaced(SourceOf(program), GroupText(true, from), GroupText(true, to)));
  auto made = std::make_shared<const GlProgram>(gl_, gl_.CreateProgram());
  gl_.AttachShader(made->id(), shader);
  gl_.LinkProgram(made->id());
  const Status status = Finish(program, shader, *made);
  gl_.DeleteShader(shader);
  return status.ok() ? made : nullptr;
}

// First everything is handed to the driver, then it is asked for results: it may use several
// threads.
Status GlPrograms::Build(const fb::Plan& plan, const fb::Binaries* kept,
                         std::vector<GlProgramPtr>* programs, BinaryCount* count) {
  struct Pending {
    unsigned index;
    const fb::Program* program;
    std::string source;
    GLuint shader;
    GlProgramPtr made;
  };
  std::vector<Pending> pending;
  for (auto it = built_.begin(); it != built_.end() && built_.size() >= kMostKept;) {
    it = it->second.use_count() == 1 ? built_.erase(it) : std::next(it);
  }
  if (!context_.has_program_binary) kept = nullptr;
  for (unsigned i = 0; i < plan.programs()->size(); ++i) {
    const fb::Program* program = plan.programs()->Get(i);
    const std::string source = SourceOf(*program);
    GlProgramPtr& made = built_[source];
    if (!made) {
      const fb::ProgramBinary* binary = KeptBinary(plan, i, kept);
      if (binary) made = FromBinary(*program, *binary);
      ++(made ? count->loaded : count->compiled);
      if (binary && !made) ++count->refused;
    }
    if (!made) {
      quadra::Log(4, "compile %s\n%s", NameOf(*program), source.c_str());
      const GLuint shader = Shader(source);
      made = std::make_shared<const GlProgram>(gl_, gl_.CreateProgram());
      pending.push_back({i, program, source, shader, made});
    }
    programs->push_back(made);
  }
  for (const Pending& p : pending) {
    gl_.AttachShader(p.made->id(), p.shader);
    if (context_.has_program_binary) {
      gl_.ProgramParameteri(p.made->id(), GL_PROGRAM_BINARY_RETRIEVABLE_HINT, GL_TRUE);
    }
    gl_.LinkProgram(p.made->id());
  }
  Status status;
  for (const Pending& p : pending) {
    Status one = Finish(*p.program, p.shader, *p.made);
    gl_.DeleteShader(p.shader);
    if (one.ok()) continue;
    built_.erase(p.source);
    (*programs)[p.index].reset();
    if (status.ok()) status = std::move(one);
  }
  QUADRA_RETURN_IF_ERROR(std::move(status));
  return CheckGl(gl_, "compile the programs");
}

ProgramBinary GlPrograms::BinaryOf(const GlProgram& program) const {
  ProgramBinary binary;
  GLint size = 0;
  if (context_.has_program_binary) gl_.GetProgramiv(program.id(), GL_PROGRAM_BINARY_LENGTH, &size);
  if (size <= 0) return binary;
  binary.bytes.resize(static_cast<size_t>(size));
  GLsizei got = 0;
  GLenum format = 0;
  gl_.GetProgramBinary(program.id(), size, &got, &format, binary.bytes.data());
  binary.bytes.resize(
      CheckGl(gl_, "read a program binary").ok() ? static_cast<size_t>(std::max(0, got)) : 0);
  binary.format = format;
  return binary;
}

}  // namespace quadra
