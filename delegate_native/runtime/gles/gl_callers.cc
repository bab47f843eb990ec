// What an executable does with buffers of its callers.
#include <utility>

#include "delegate_native/runtime/gles/gl_executable.h"

namespace quadra {

Status GlExecutable::CheckBound(const Port& port, GLuint buffer) const {
  if (!port.is_own) return Unsupported("its memory serves another tensor, too");
  if (!gl_.IsBuffer(buffer)) {
    return Unsupported("there is no buffer %u in the contexts that share with the delegate's",
                       buffer);
  }
  GLint64 bytes = 0;
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, buffer);
  gl_.GetBufferParameteri64v(GL_SHADER_STORAGE_BUFFER, GL_BUFFER_SIZE, &bytes);
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "read how large it is"));
  if (bytes >= port.bytes) return Status();
  return TooSmall(static_cast<size_t>(bytes), static_cast<size_t>(port.bytes));
}

// What kernels work on in the place of an own buffer.
GLuint GlExecutable::Resolve(GLuint own) const {
  if (!has_bound_) return own;
  for (const std::vector<Port>* ports : {&inputs_, &outputs_}) {
    for (const Port& port : *ports) {
      if (port.buffer == own && port.bound) return port.bound;
    }
  }
  return own;
}

Status GlExecutable::BindHere(const std::vector<void*>& objects) {
  QUADRA_RETURN_IF_ERROR(TakeBindings());
  Status first;
  has_bound_ = false;
  for (size_t i = 0; i < objects.size(); ++i) {
    Port& port = *PortAt(i);
    const auto buffer = static_cast<GLuint>(reinterpret_cast<uintptr_t>(objects[i]));
    Status status = buffer ? CheckBound(port, buffer) : Status();
    port.bound = status.ok() ? buffer : 0;
    has_bound_ |= port.bound != 0;
    if (first.ok()) first = OfBuffer(std::move(status), i, inputs_.size());
  }
  // Another buffer may have the name of the last one.
  for (const Texels& texels : texels_) {
    const fb::Region& region = *plan_.regions()->Get(static_cast<unsigned>(texels.region));
    const GLuint own = buffers_[static_cast<size_t>(region.buffer())];
    if (first.ok()) View(texels, Resolve(own));
  }
  return first;
}

// Nothing that is loaded is spoilt by a buffer that is refused.
Status GlExecutable::Bind(const std::vector<void*>& objects) {
  return device_->thread.Do([&] { return BindHere(objects); });
}

}  // namespace quadra
