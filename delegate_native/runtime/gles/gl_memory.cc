#include "delegate_native/runtime/gles/gl_memory.h"

#include <cstdint>
#include <utility>

namespace quadra {
namespace {

// Its object is the name of a buffer of the device's own context.
class GlMemory : public DeviceMemory {
 public:
  GlMemory(std::shared_ptr<GlDevice> device, size_t bytes)
      : device_(std::move(device)), bytes_(static_cast<GLsizeiptr>(bytes)) {}
  ~GlMemory() override {
    const Status freed = Do([this](const GlApi& gl) {
      gl.DeleteBuffers(1, &buffer_);
      return Status();
    });
    static_cast<void>(freed);
  }

  Status Make() {
    return Do([this](const GlApi& gl) {
      gl.GenBuffers(1, &buffer_);
      gl.BindBuffer(GL_SHADER_STORAGE_BUFFER, buffer_);
      gl.BufferData(GL_SHADER_STORAGE_BUFFER, bytes_, nullptr, GL_DYNAMIC_COPY);
      return CheckGl(gl, "make a buffer for a variable");
    });
  }

  void* object() const override {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an object of either API is a pointer
    return reinterpret_cast<void*>(static_cast<uintptr_t>(buffer_));
  }

  Status Lock(bool reads, void** host) override {
    return Do([&](const GlApi& gl) {
      const GLbitfield how = reads ? GL_MAP_READ_BIT | GL_MAP_WRITE_BIT
                                   : GL_MAP_WRITE_BIT | GL_MAP_INVALIDATE_BUFFER_BIT;
      gl.MemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
      gl.BindBuffer(GL_SHADER_STORAGE_BUFFER, buffer_);
      *host = gl.MapBufferRange(GL_SHADER_STORAGE_BUFFER, 0, bytes_, how);
      return *host ? Status() : GlFailed(gl, "map a variable");
    });
  }

  Status Unlock(bool) override {
    return Do([this](const GlApi& gl) {
      gl.BindBuffer(GL_SHADER_STORAGE_BUFFER, buffer_);
      if (gl.UnmapBuffer(GL_SHADER_STORAGE_BUFFER)) return Status();
      return DeviceFailed("write a variable: the driver lost the memory");
    });
  }

 private:
  template <typename Job>
  Status Do(Job job) {
    return device_->thread.Do([&] { return job(device_->context->gl); });
  }

  std::shared_ptr<GlDevice> device_;
  const GLsizeiptr bytes_;
  GLuint buffer_ = 0;
};

}  // namespace

Status MakeGlMemory(std::shared_ptr<GlDevice> device, size_t bytes,
                    std::unique_ptr<DeviceMemory>* memory) {
  auto made = std::make_unique<GlMemory>(std::move(device), bytes);
  QUADRA_RETURN_IF_ERROR(made->Make());
  *memory = std::move(made);
  return Status();
}

}  // namespace quadra
