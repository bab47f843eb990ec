#include "delegate_native/runtime/opencl/cl_plan_memory.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "delegate_native/base/file_pages.h"

namespace quadra {
namespace {

struct RowFormat {
  cl_image_format format;
  size_t bytes;  // of a texel
};

RowFormat FormatOf(fb::View view) {
  switch (view) {
    case fb::View_TexelsHalf4: return {{CL_RGBA, CL_HALF_FLOAT}, 8};
    case fb::View_TexelsFloat: return {{CL_R, CL_FLOAT}, 4};
    case fb::View_TexelsInt4: return {{CL_RGBA, CL_SIGNED_INT32}, 16};
    case fb::View_TexelsInt: return {{CL_R, CL_SIGNED_INT32}, 4};
    default: return {{CL_RGBA, CL_FLOAT}, 16};
  }
}

}  // namespace

// NVIDIA's driver crashes where a part is released before one that was made later and lies in it.
ClPlanMemory::~ClPlanMemory() {
  rows_.clear();
  while (!parts_.empty()) parts_.pop_back();
  while (!buffers_.empty()) buffers_.pop_back();  // images come behind what they lie in
}

Status ClPlanMemory::MakeBuffer(const fb::Buffer& buffer, const uint8_t* constant, Memory* made) {
  if (buffer.bytes() > static_cast<uint64_t>(context_.info.max_buffer_bytes)) {
    return DeviceFailed("make a buffer of %llu bytes: the device allows %lld",
                        static_cast<unsigned long long>(buffer.bytes()),
                        static_cast<long long>(context_.info.max_buffer_bytes));
  }
  cl_mem_flags flags = constant ? CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR : CL_MEM_READ_WRITE;
  void* data = const_cast<uint8_t*>(constant);
  if (host_) host_->Choose(buffer.bytes(), &data, &flags);
  cl_int code = CL_SUCCESS;
  cl_mem raw = cl_.CreateBuffer(context_.context.get(), flags, buffer.bytes(), data, &code);
  if (!raw || code != CL_SUCCESS) {
    const auto bytes = static_cast<unsigned long long>(buffer.bytes());
    return context_.Failed(TextOf("make a buffer of %llu bytes", bytes).c_str(), code);
  }
  *made = std::make_shared<ClHandle<cl_mem>>(raw, cl_.ReleaseMemObject);
  return Status();
}

Status ClPlanMemory::MakeWeights(const fb::Buffer& buffer, Weights* weights, Memory* made) {
  *made = std::static_pointer_cast<ClHandle<cl_mem>>(weights->on_device.lock());
  if (*made) return Status();
  QUADRA_RETURN_IF_ERROR(MakeBuffer(buffer, weights->data, made));
  weights->on_device = *made;
  if (shares_constants()) return Status();
  // One by one, so that few are there twice: those that came from a file are its pages.
  if (weights->is_for_device_alone) {
    weights->KeepContent();
    weights->Drop();
  } else {
    GiveFilePagesBack(weights->data, weights->size);
  }
  return Status();
}

Status ClPlanMemory::MakeImage(const fb::Buffer& buffer, Memory* made) {
  const int channel = buffer.cell() == fb::Cell_Int    ? CL_SIGNED_INT32
                      : buffer.cell() == fb::Cell_Half ? CL_HALF_FLOAT
                                                       : CL_FLOAT;
  const cl_image_format format = {CL_RGBA, static_cast<cl_channel_type>(channel)};
  cl_image_desc desc = {};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = static_cast<size_t>(buffer.width());
  desc.image_height = static_cast<size_t>(buffer.height());
  // The image goes first.
  struct OverPart {
    ClHandle<cl_mem> part, image;
  };
  const auto over = std::make_shared<OverPart>();
  if (buffer.lies_in() > 0) {
    const auto arena = static_cast<size_t>(buffer.lies_in()) - 1;
    const uint64_t bytes = uint64_t{buffer.row_bytes()} * static_cast<uint64_t>(buffer.height());
    if (buffer.offset() > 0) {
      QUADRA_RETURN_IF_ERROR(MakePart(arena, buffer.offset(), bytes, &over->part));
    }
    desc.buffer = over->part ? over->part.get() : At(arena);
    desc.image_row_pitch = buffer.row_bytes();
  }
  cl_int code = CL_SUCCESS;
  cl_mem raw =
      cl_.CreateImage(context_.context.get(), CL_MEM_READ_WRITE, &format, &desc, nullptr, &code);
  if (!raw || code != CL_SUCCESS) {
    std::string tried = TextOf("make an image of %d x %d pixels", buffer.width(), buffer.height());
    if (desc.buffer) tried += TextOf(" over a buffer, in rows of %u bytes", buffer.row_bytes());
    return context_.Failed(tried.c_str(), code);
  }
  over->image = ClHandle<cl_mem>(raw, cl_.ReleaseMemObject);
  *made = Memory(over, &over->image);
  return Status();
}

Status ClPlanMemory::MakePart(size_t buffer, uint64_t offset, uint64_t bytes,
                              ClHandle<cl_mem>* part) {
  const cl_buffer_region bounds = {static_cast<size_t>(offset), static_cast<size_t>(bytes)};
  cl_int code = CL_SUCCESS;
  cl_mem raw = cl_.CreateSubBuffer(At(buffer), 0, CL_BUFFER_CREATE_TYPE_REGION, &bounds, &code);
  if (!raw || code != CL_SUCCESS) {
    const uint64_t all = plan_.buffers()->Get(static_cast<unsigned>(buffer))->bytes();
    return context_.Failed(TextOf("take %zu bytes at %zu of a buffer of %llu", bounds.size,
                                  bounds.origin, static_cast<unsigned long long>(all))
                               .c_str(),
                           code);
  }
  *part = ClHandle<cl_mem>(raw, cl_.ReleaseMemObject);
  return Status();
}

Status ClPlanMemory::Make(const PlanWeights& weights, Refusal* refusal) {
  if (context_.host) host_ = context_.host->MakeMemory();
  ports_ = PortsOf(plan_);
  callers_.resize(Count(plan_.buffers()));
  for (unsigned i = 0; i < Count(plan_.buffers()); ++i) {
    const fb::Buffer& buffer = *plan_.buffers()->Get(i);
    buffers_.emplace_back();
    if (buffer.kind() == fb::BufferKind_Image) {
      Status made = MakeImage(buffer, &buffers_.back());
      if (!made.ok() && buffer.lies_in() > 0 && !context_.lost) {
        refusal->stage = Refusal::Stage::kImages;
        refusal->why = made.message();
      }
      QUADRA_RETURN_IF_ERROR(std::move(made));
    } else if (i < weights.size() && weights[i]) {
      QUADRA_RETURN_IF_ERROR(MakeWeights(buffer, weights[i].get(), &buffers_.back()));
    } else if (buffer.bytes() > 0) {
      const bool constant = buffer.kind() == fb::BufferKind_Constant;
      QUADRA_RETURN_IF_ERROR(
          MakeBuffer(buffer, constant ? buffer.data()->data() : nullptr, &buffers_.back()));
    }
  }
  for (unsigned i = 0; i < Count(plan_.regions()); ++i) {
    const fb::Region& region = *plan_.regions()->Get(i);
    const fb::Buffer& buffer = *plan_.buffers()->Get(static_cast<unsigned>(region.buffer()));
    parts_.emplace_back();
    // At the begin of a buffer: it serves itself.
    if (buffer.kind() == fb::BufferKind_Image || region.offset() == 0) continue;
    QUADRA_RETURN_IF_ERROR(MakePart(static_cast<size_t>(region.buffer()), region.offset(),
                                    region.bytes(), &parts_.back()));
  }
  *refusal = Refusal();
  return Status();
}

bool ClPlanMemory::IsPorts(unsigned buffer) const {
  bool is = false;
  ports_.ForEach([&](const PlanPort& port) { is |= port.is_own && port.buffer == buffer; });
  return is;
}

// Its memory is never a caller's: only constants are seen so.
cl_int ClPlanMemory::FindRow(unsigned buffer, fb::View view, cl_mem* row) {
  for (const Row& known : rows_) {
    if (known.buffer == buffer && known.view == view) *row = known.image.get();
  }
  if (*row) return CL_SUCCESS;
  const RowFormat format = FormatOf(view);
  cl_image_desc desc = {};
  desc.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  desc.image_width = static_cast<size_t>(plan_.buffers()->Get(buffer)->bytes()) / format.bytes;
  desc.buffer = At(buffer);
  cl_int code = CL_SUCCESS;
  *row = cl_.CreateImage(context_.context.get(), 0, &format.format, &desc, nullptr, &code);
  if (!*row) return code == CL_SUCCESS ? CL_INVALID_MEM_OBJECT : code;
  rows_.push_back({buffer, view, ClHandle<cl_mem>(*row, cl_.ReleaseMemObject)});
  return code;
}

cl_int ClPlanMemory::SetArg(cl_kernel kernel, cl_uint index, const fb::Arg& arg) {
  const auto at = static_cast<unsigned>(arg.index());
  const auto buffer = static_cast<unsigned>(plan_.regions()->Get(at)->buffer());
  cl_mem memory = nullptr;
  if (arg.view() != fb::View_Memory) {
    const cl_int code = FindRow(buffer, arg.view(), &memory);
    if (code != CL_SUCCESS) return code;
  } else {
    if (IsPorts(buffer)) uses_.push_back({buffer, kernel, index});
    memory = callers_[buffer] ? callers_[buffer] : parts_[at] ? parts_[at].get() : At(buffer);
  }
  return cl_.SetKernelArg(kernel, index, sizeof(cl_mem), static_cast<void*>(&memory));
}

void ClPlanMemory::Forget(cl_kernel kernel) {
  while (!uses_.empty() && uses_.back().kernel == kernel) uses_.pop_back();
}

// The kernels that work on the buffer work on `memory`; null: on the buffer again.
Status ClPlanMemory::SetBuffer(unsigned buffer, cl_mem memory) {
  callers_[buffer] = memory;
  if (!memory) memory = At(buffer);
  for (const Use& use : uses_) {
    if (use.buffer != buffer) continue;
    const cl_int code =
        cl_.SetKernelArg(use.kernel, use.arg, sizeof(cl_mem), static_cast<void*>(&memory));
    if (code != CL_SUCCESS) return context_.Failed("set an argument to the caller's memory", code);
  }
  return Status();
}

Status ClPlanMemory::WrapHostMemory(PlanPort* port, void* callers) {
  if (!host_ || !port->is_own || port->bound) return Status();
  // Kernels may read four numbers at once.
  constexpr uintptr_t kAligned = 16;
  cl_mem memory = nullptr;
  port->is_copied = reinterpret_cast<uintptr_t>(callers) % kAligned != 0;
  if (!port->is_copied) QUADRA_RETURN_IF_ERROR(host_->Wrap(*port, callers, &memory));
  return memory == callers_[port->buffer] ? Status() : SetBuffer(port->buffer, memory);
}

// Kernels work where the output is. If the input is elsewhere, its numbers come first.
Status ClPlanMemory::BringStates(const std::vector<const void*>& inputs,
                                 const std::vector<void*>& outputs, cl_command_queue queue) {
  for (size_t i = 0; i < ports_.inputs.size(); ++i) {
    PlanPort& port = ports_.inputs[i];
    if (port.state < 0) continue;
    const auto state = static_cast<size_t>(port.state);
    const PlanPort& out = ports_.outputs[state];
    const bool in_place =
        port.bound ? port.bound == out.bound : !out.is_copied && inputs[i] == outputs[state];
    port.is_copied = !in_place;
    if (in_place) continue;
    cl_mem to = Used(port.buffer);
    const cl_int code = port.bound
                            ? cl_.EnqueueCopyBuffer(queue, static_cast<cl_mem>(port.bound), to, 0,
                                                    0, port.bytes, 0, nullptr, nullptr)
                            : cl_.EnqueueWriteBuffer(queue, to, CL_FALSE, 0, port.bytes, inputs[i],
                                                     0, nullptr, nullptr);
    if (code != CL_SUCCESS) return context_.Failed(Format("write input %zu", i).c_str(), code);
  }
  return Status();
}

Status ClPlanMemory::Write(const std::vector<const void*>& inputs,
                           const std::vector<void*>& outputs, cl_command_queue queue) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    PlanPort& port = ports_.inputs[i];
    if (port.state >= 0) continue;
    QUADRA_RETURN_IF_ERROR(WrapHostMemory(&port, const_cast<void*>(inputs[i])));
    if (callers_[port.buffer]) continue;
    const cl_int code = cl_.EnqueueWriteBuffer(queue, At(port.buffer), CL_FALSE, port.offset,
                                               port.bytes, inputs[i], 0, nullptr, nullptr);
    if (code != CL_SUCCESS) return context_.Failed(Format("write input %zu", i).c_str(), code);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    QUADRA_RETURN_IF_ERROR(WrapHostMemory(&ports_.outputs[i], outputs[i]));
  }
  return BringStates(inputs, outputs, queue);
}

Status ClPlanMemory::Read(unsigned buffer, size_t offset, size_t bytes, cl_command_queue queue,
                          cl_bool waits, void* to) const {
  const cl_int code =
      cl_.EnqueueReadBuffer(queue, Used(buffer), waits, offset, bytes, to, 0, nullptr, nullptr);
  return code == CL_SUCCESS ? Status() : context_.Failed("read an output", code);
}

Status ClPlanMemory::Read(const std::vector<void*>& outputs, cl_command_queue queue) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const PlanPort& port = ports_.outputs[i];
    if (callers_[port.buffer]) continue;
    QUADRA_RETURN_IF_ERROR(Read(port.buffer, port.offset, port.bytes, queue, CL_FALSE, outputs[i]));
  }
  return Status();
}

Status ClPlanMemory::ReadNow(const fb::Tensor& from, cl_command_queue queue, void* to) const {
  return Read(static_cast<unsigned>(from.buffer()), 0, from.bytes(), queue, CL_TRUE, to);
}

// A buffer that an object takes the place of goes: states of a decoder are as large as its weights,
// and each signature would have its own beside them.
Status ClPlanMemory::Replace(const PlanPort& port, cl_mem memory) {
  const unsigned i = port.buffer;
  const fb::Buffer& buffer = *plan_.buffers()->Get(i);
  if (!memory && !At(i)) QUADRA_RETURN_IF_ERROR(MakeBuffer(buffer, nullptr, &buffers_[i]));
  QUADRA_RETURN_IF_ERROR(SetBuffer(i, memory));
  if (memory && !HasParts(i)) buffers_[i] = Memory();
  return Status();
}

bool ClPlanMemory::HasParts(unsigned buffer) const {
  for (unsigned i = 0; i < parts_.size(); ++i) {
    if (parts_[i] && plan_.regions()->Get(i)->buffer() == static_cast<int>(buffer)) return true;
  }
  return false;
}

Status ClPlanMemory::Measure(cl_mem memory, size_t* bytes) const {
  cl_context context = nullptr;
  cl_int code = cl_.GetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof(cl_context),
                                     static_cast<void*>(&context), nullptr);
  if (code == CL_SUCCESS) {
    code = cl_.GetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(*bytes), bytes, nullptr);
  }
  if (code != CL_SUCCESS) return ClFailed("read what buffer it is", code);
  if (context == context_.context.get()) return Status();
  return Unsupported("it is in another OpenCL context than the delegate's");
}

Status ClPlanMemory::Bind(const PortObjects& objects) {
  Status status = BindObjects(
      objects,
      [this](void* object, size_t* bytes) { return Measure(static_cast<cl_mem>(object), bytes); },
      &ports_);
  external_.clear();
  ports_.ForEach([&](const PlanPort& port) {
    const auto memory = static_cast<cl_mem>(port.bound);
    const bool is_new = std::find(external_.begin(), external_.end(), memory) == external_.end();
    if (memory && is_new && IsExternal(memory)) external_.push_back(memory);
    if (port.state >= 0 || (!memory && !callers_[port.buffer])) return;
    Status set = Replace(port, memory);
    if (status.ok()) status = std::move(set);
  });
  if (host_ && !objects.any()) host_->UnwrapAll();
  return status;
}

// Whether it was made of memory that cl_khr_external_memory shares with others.
bool ClPlanMemory::IsExternal(cl_mem memory) const {
  size_t bytes = 0;
  if (!context_.acquire || cl_.GetMemObjectInfo(memory, CL_MEM_PROPERTIES, 0, nullptr, &bytes)) {
    return false;
  }
  // The zero behind them ends a list that the driver left open, too.
  std::vector<cl_mem_properties> found(bytes / sizeof(cl_mem_properties) + 2);
  if (cl_.GetMemObjectInfo(memory, CL_MEM_PROPERTIES, bytes, found.data(), nullptr)) return false;
  for (const cl_mem_properties* at = found.data(); *at; at += 2) {
    if (*at / 32 == CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR / 32) return true;
    // Its value is a list of devices, which ends with a zero.
    if (*at == CL_DEVICE_HANDLE_LIST_KHR) {
      while (at[1]) ++at;
    }
  }
  return false;
}

// All external ones of the bound buffers, or none.
Status ClPlanMemory::Exchange(ClContext::Exchange function, cl_command_queue queue,
                              const char* tried) {
  if (external_.empty()) return Status();
  const cl_int code = function(queue, static_cast<cl_uint>(external_.size()), external_.data(), 0,
                               nullptr, nullptr);
  return code == CL_SUCCESS ? Status() : context_.Failed(tried, code);
}

Status ClPlanMemory::Acquire(cl_command_queue queue) {
  return Exchange(context_.acquire, queue, "acquire the caller's memory");
}

Status ClPlanMemory::Release(cl_command_queue queue) {
  return Exchange(context_.release, queue, "release the caller's memory");
}

}  // namespace quadra
