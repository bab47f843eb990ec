#include "delegate_native/runtime/gles/gl_plan_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "delegate_native/base/file_pages.h"

namespace quadra {
namespace {

// The name that an object is for Bind.
GLuint NameOf(void* object) { return static_cast<GLuint>(reinterpret_cast<uintptr_t>(object)); }

}  // namespace

GLenum FormatOf(fb::Cell cell) {
  return cell == fb::Cell_Int ? GL_RGBA32I : cell == fb::Cell_Half ? GL_RGBA16F : GL_RGBA32F;
}

GLenum FormatOf(fb::View view) {
  switch (view) {
    case fb::View_TexelsFloat: return GL_R32F;
    case fb::View_TexelsInt: return GL_R32I;
    case fb::View_TexelsInt4: return FormatOf(fb::Cell_Int);
    case fb::View_TexelsHalf4: return FormatOf(fb::Cell_Half);
    default: return FormatOf(fb::Cell_Float);
  }
}

Status GlPlanMemory::MakeBuffer(const fb::Buffer& buffer, const uint8_t* constant, GLuint* made) {
  gl_.GenBuffers(1, made);
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, *made);
  gl_.BufferData(GL_SHADER_STORAGE_BUFFER, static_cast<GLsizeiptr>(buffer.bytes()), constant,
                 constant ? GL_STATIC_DRAW : GL_DYNAMIC_COPY);
  return CheckGl(
      gl_, TextOf("make a buffer of %llu bytes", static_cast<unsigned long long>(buffer.bytes()))
               .c_str());
}

// Into the buffer that is bound. Piece by piece, so that no weights are there twice, though they
// be a table of half the model: the host's pages of what the driver has go back.
void GlPlanMemory::Upload(Weights* weights) {
  constexpr size_t kPiece = 1 << 22;
  const uint8_t* const from = weights->data;
  if (weights->is_for_device_alone) weights->KeepContent();
  for (size_t at = 0; at < weights->size; at += kPiece) {
    const size_t piece = std::min(kPiece, weights->size - at);
    gl_.BufferSubData(GL_SHADER_STORAGE_BUFFER, static_cast<GLintptr>(at),
                      static_cast<GLsizeiptr>(piece), from + at);
    if (weights->is_for_device_alone) GiveBack(from + at, piece);
    else GiveFilePagesBack(from + at, piece);
  }
  if (weights->is_for_device_alone) weights->Drop();
}

Status GlPlanMemory::MakeWeights(const fb::Buffer& buffer, Weights* weights) {
  std::shared_ptr<GlWeights>& held = weights_.back();
  held = std::static_pointer_cast<GlWeights>(weights->on_device.lock());
  if (!held) {
    held = std::make_shared<GlWeights>(gl_);
    QUADRA_RETURN_IF_ERROR(MakeBuffer(buffer, nullptr, &held->buffer));
    Upload(weights);
    QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "write weights"));
    weights->on_device = held;
  }
  buffers_.back() = held->buffer;
  return Status();
}

Status GlPlanMemory::MakeImage(const fb::Buffer& buffer, GLuint* made) {
  gl_.GenTextures(1, made);
  gl_.BindTexture(GL_TEXTURE_2D, *made);
  gl_.TexStorage2D(GL_TEXTURE_2D, 1, FormatOf(buffer.cell()), buffer.width(), buffer.height());
  // Pixels are fetched as they are; a float texture with another filter reads as zeros.
  gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  gl_.TexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  return CheckGl(
      gl_, TextOf("make an image of %d x %d pixels", buffer.width(), buffer.height()).c_str());
}

Status GlPlanMemory::Make(const PlanWeights& weights) {
  ports_ = PortsOf(plan_);
  emptied_.resize(Count(plan_.buffers()));
  for (unsigned i = 0; i < plan_.buffers()->size(); ++i) {
    const fb::Buffer& buffer = *plan_.buffers()->Get(i);
    buffers_.push_back(0);
    weights_.emplace_back();
    if (buffer.kind() == fb::BufferKind_Image) {
      QUADRA_RETURN_IF_ERROR(MakeImage(buffer, &buffers_.back()));
    } else if (i < weights.size() && weights[i]) {
      QUADRA_RETURN_IF_ERROR(MakeWeights(buffer, weights[i].get()));
    } else if (buffer.bytes() > 0) {
      const bool constant = buffer.kind() == fb::BufferKind_Constant;
      QUADRA_RETURN_IF_ERROR(
          MakeBuffer(buffer, constant ? buffer.data()->data() : nullptr, &buffers_.back()));
    }
  }
  return Status();
}

void GlPlanMemory::Free() {
  for (unsigned i = 0; i < buffers_.size(); ++i) {
    if (weights_[i]) continue;
    const bool image = plan_.buffers()->Get(i)->kind() == fb::BufferKind_Image;
    (image ? gl_.DeleteTextures : gl_.DeleteBuffers)(1, &buffers_[i]);
  }
  for (const Texels& texels : texels_) gl_.DeleteTextures(1, &texels.texture);
  weights_.clear();
}

GLuint GlPlanMemory::TexelsOf(const fb::Arg& arg) {
  for (const Texels& known : texels_) {
    if (known.region == arg.index() && known.view == arg.view()) return known.texture;
  }
  const fb::Region& region = *plan_.regions()->Get(static_cast<unsigned>(arg.index()));
  Texels made = {arg.index(), arg.view(), 0};
  gl_.GenTextures(1, &made.texture);
  View(made, buffer(region.buffer()));
  texels_.push_back(made);
  return made.texture;
}

// The texture shows its region of this buffer.
void GlPlanMemory::View(const Texels& texels, GLuint buffer) const {
  const fb::Region& region = *plan_.regions()->Get(static_cast<unsigned>(texels.region));
  gl_.BindTexture(GL_TEXTURE_BUFFER_EXT, texels.texture);
  gl_.TexBufferRange(GL_TEXTURE_BUFFER_EXT, FormatOf(texels.view), buffer,
                     static_cast<GLintptr>(region.offset()),
                     static_cast<GLsizeiptr>(region.bytes()));
}

Status GlPlanMemory::Write(const PlanPort& port, GLuint buffer, const void* from) {
  if (port.bytes == 0 || port.bound) return Status();
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, buffer);
  void* to = gl_.MapBufferRange(GL_SHADER_STORAGE_BUFFER, static_cast<GLintptr>(port.offset),
                                static_cast<GLsizeiptr>(port.bytes),
                                GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_RANGE_BIT);
  if (!to) return GlFailed(gl_, "map an input");
  memcpy(to, from, port.bytes);
  if (gl_.UnmapBuffer(GL_SHADER_STORAGE_BUFFER)) return Status();
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "write an input"));
  return DeviceFailed("write an input: the driver lost the memory; next: invoke again");
}

// Kernels work where the output is. If the input is elsewhere, its numbers come first.
Status GlPlanMemory::BringState(const void* from, PlanPort* port) {
  void* const out = ports_.outputs[static_cast<size_t>(port->state)].bound;
  const GLuint to = out ? NameOf(out) : buffers_[port->buffer];
  port->is_copied = !port->bound || port->bound != out;
  if (!port->bound || !port->is_copied) return Write(*port, to, from);
  gl_.BindBuffer(GL_COPY_READ_BUFFER, NameOf(port->bound));
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, to);
  gl_.CopyBufferSubData(GL_COPY_READ_BUFFER, GL_SHADER_STORAGE_BUFFER, 0, 0,
                        static_cast<GLsizeiptr>(port->bytes));
  return CheckGl(gl_, "copy a state");
}

Status GlPlanMemory::Write(const std::vector<const void*>& inputs) {
  for (size_t i = 0; i < ports_.inputs.size(); ++i) {
    PlanPort& port = ports_.inputs[i];
    const void* from = i < inputs.size() ? inputs[i] : nullptr;
    QUADRA_RETURN_IF_ERROR(port.state < 0 ? Write(port, buffers_[port.buffer], from)
                                          : BringState(from, &port));
  }
  return Status();
}

Status GlPlanMemory::Read(const PlanPort& port, void* to) {
  if (port.bytes == 0 || port.bound) return Status();
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, Resolve(buffers_[port.buffer]));
  const void* from =
      gl_.MapBufferRange(GL_SHADER_STORAGE_BUFFER, static_cast<GLintptr>(port.offset),
                         static_cast<GLsizeiptr>(port.bytes), GL_MAP_READ_BIT);
  if (!from) return GlFailed(gl_, "map an output");
  memcpy(to, from, port.bytes);
  if (gl_.UnmapBuffer(GL_SHADER_STORAGE_BUFFER)) return Status();
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "read an output"));
  return DeviceFailed("read an output: the driver lost the memory; next: invoke again");
}

Status GlPlanMemory::Read(const std::vector<void*>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    QUADRA_RETURN_IF_ERROR(Read(ports_.outputs[i], outputs[i]));
  }
  return Status();
}

Status GlPlanMemory::Measure(GLuint buffer, size_t* bytes) const {
  if (!gl_.IsBuffer(buffer)) {
    return Unsupported("there is no buffer %u in the contexts that share with the delegate's",
                       buffer);
  }
  GLint64 size = 0;
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, buffer);
  gl_.GetBufferParameteri64v(GL_SHADER_STORAGE_BUFFER, GL_BUFFER_SIZE, &size);
  *bytes = static_cast<size_t>(size);
  return CheckGl(gl_, "read how large it is");
}

GLuint GlPlanMemory::Resolve(GLuint own) const {
  GLuint resolved = own;
  if (!has_bound_) return own;
  ports_.ForEach([&](const PlanPort& port) {
    if (port.state < 0 && port.bound && buffers_[port.buffer] == own) resolved = NameOf(port.bound);
  });
  return resolved;
}

// A buffer that an object takes the place of needs no memory: states of a decoder are as large as
// its weights, and each signature would have its own beside them. It keeps its name.
Status GlPlanMemory::SetStore(const PlanPort& port, bool is_there) {
  if (!port.is_own || emptied_[port.buffer] != is_there) return Status();
  const fb::Buffer& buffer = *plan_.buffers()->Get(port.buffer);
  gl_.BindBuffer(GL_SHADER_STORAGE_BUFFER, buffers_[port.buffer]);
  gl_.BufferData(GL_SHADER_STORAGE_BUFFER,
                 is_there ? static_cast<GLsizeiptr>(buffer.bytes()) : sizeof(int32_t), nullptr,
                 GL_DYNAMIC_COPY);
  QUADRA_RETURN_IF_ERROR(CheckGl(gl_, "make an input's or an output's buffer again"));
  emptied_[port.buffer] = !is_there;
  return Status();
}

Status GlPlanMemory::Bind(const PortObjects& objects) {
  Status status = BindObjects(
      objects, [this](void* object, size_t* bytes) { return Measure(NameOf(object), bytes); },
      &ports_);
  has_bound_ = false;
  ports_.ForEach([&](const PlanPort& port) {
    has_bound_ |= port.bound != nullptr;
    if (port.state >= 0) return;  // the output's
    Status set = SetStore(port, !port.bound);
    if (status.ok()) status = std::move(set);
  });
  // Another buffer may have the name of the last one.
  for (const Texels& texels : texels_) {
    const fb::Region& region = *plan_.regions()->Get(static_cast<unsigned>(texels.region));
    if (status.ok()) View(texels, Resolve(buffer(region.buffer())));
  }
  return status;
}

}  // namespace quadra
