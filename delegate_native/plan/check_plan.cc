#include "delegate_native/plan/check_plan.h"

#include <cstring>

#include "delegate_native/plan/dispatch_group.h"
#include "delegate_native/plan/plan_bytes.h"

namespace quadra {
namespace {

bool Within(int index, size_t size) { return index >= 0 && static_cast<size_t>(index) < size; }

bool Covers(uint64_t all, uint64_t offset, uint64_t bytes) {
  return offset <= all && bytes <= all - offset;
}

bool ArePositive(const flatbuffers::Vector<int32_t>* numbers, size_t count) {
  if (!numbers || numbers->size() != count) return false;
  for (int32_t number : *numbers) {
    if (number < 1) return false;
  }
  return true;
}

// FlatBuffers' verifier asks it of lengths, not of the elements behind them.
bool IsAligned(const void* data, size_t to) { return reinterpret_cast<uintptr_t>(data) % to == 0; }

bool IsBuffer(const fb::Buffer& buffer) {
  switch (buffer.kind()) {
    case fb::BufferKind_Image:
      return buffer.width() > 0 && buffer.height() > 0 && buffer.cell() <= fb::Cell_Int;
    case fb::BufferKind_Constant:
      return buffer.data() && buffer.data()->size() == buffer.bytes() &&
             IsAligned(buffer.data()->data(), PlanBytes::kAlignment);
    default: return buffer.bytes() > 0 && buffer.kind() <= fb::BufferKind_MAX;
  }
}

bool IsProgram(const fb::Program& program) {
  if (!program.prelude() || !program.kernels() || program.kernels()->size() == 0) return false;
  for (const fb::Kernel* kernel : *program.kernels()) {
    if (!kernel->entry() || !kernel->name() || !kernel->source()) return false;
  }
  return true;
}

class Checker {
 public:
  explicit Checker(const fb::Plan& plan) : plan_(plan) {}

  Status Run() const {
    const bool complete = plan_.api() && plan_.buffers() && plan_.regions() && plan_.tensors() &&
                          plan_.programs() && plan_.dispatches() && plan_.inputs() &&
                          plan_.outputs();
    if (!complete) return Unsupported("its plan lacks a list");
    if (!IsAligned(static_cast<const void*>(plan_.regions()->data()), alignof(fb::Region))) {
      return Unsupported("the regions of its plan are not aligned");
    }
    QUADRA_RETURN_IF_ERROR(Each("buffer", *plan_.buffers(), IsBuffer));
    for (unsigned i = 0; i < plan_.buffers()->size(); ++i) {
      if (!LiesInArena(i)) return Unsupported("image %u of its plan is not in its arena", i);
    }
    QUADRA_RETURN_IF_ERROR(Each("program", *plan_.programs(), IsProgram));
    QUADRA_RETURN_IF_ERROR(Each("region", *plan_.regions(), [this](const fb::Region& region) {
      return Holds(region.buffer(), region.offset(), region.bytes());
    }));
    QUADRA_RETURN_IF_ERROR(Each("tensor", *plan_.tensors(), [this](const fb::Tensor& tensor) {
      return tensor.shape() && (tensor.buffer() == -1 ||  // no kernel needs it
                                Holds(tensor.buffer(), tensor.offset(), tensor.bytes()));
    }));
    const auto is_dispatch = [this](const fb::Dispatch& dispatch) { return IsDispatch(dispatch); };
    QUADRA_RETURN_IF_ERROR(Each("dispatch", *plan_.dispatches(), is_dispatch));
    const auto is_io = [this](const fb::Io& io) { return IsIo(io); };
    QUADRA_RETURN_IF_ERROR(Each("input", *plan_.inputs(), is_io));
    return Each("output", *plan_.outputs(), is_io);
  }

 private:
  template <typename List, typename Fn>
  static Status Each(const char* what, const List& list, Fn is_right) {
    for (unsigned i = 0; i < list.size(); ++i) {
      if (!is_right(*list.Get(i))) return Unsupported("%s %u of its plan is wrong", what, i);
    }
    return Status();
  }

  // Buffers with memory of their own do, too.
  bool LiesInArena(unsigned index) const {
    const fb::Buffer& image = *plan_.buffers()->Get(index);
    if (image.lies_in() == 0) return true;
    const bool is_after = image.lies_in() > 0 && static_cast<unsigned>(image.lies_in()) <= index;
    if (!is_after || image.kind() != fb::BufferKind_Image) return false;
    const fb::Buffer& arena = *plan_.buffers()->Get(static_cast<unsigned>(image.lies_in()) - 1);
    const uint64_t pixel = image.cell() == fb::Cell_Half ? 8 : 16, row = image.row_bytes();
    return arena.kind() == fb::BufferKind_Arena && row % pixel == 0 &&
           row / pixel >= static_cast<uint64_t>(image.width()) &&
           Covers(arena.bytes(), image.offset(), row * static_cast<uint64_t>(image.height()));
  }

  bool Holds(int index, uint64_t offset, uint64_t bytes) const {
    if (!Within(index, plan_.buffers()->size())) return false;
    const fb::Buffer& buffer = *plan_.buffers()->Get(static_cast<unsigned>(index));
    return buffer.kind() == fb::BufferKind_Image || Covers(buffer.bytes(), offset, bytes);
  }

  // Dense numbers, as many as its shape says.
  bool IsIo(const fb::Io& io) const {
    if (!Within(io.tensor(), plan_.tensors()->size()) || !io.shape()) return false;
    const fb::Tensor& tensor = *plan_.tensors()->Get(static_cast<unsigned>(io.tensor()));
    uint64_t bytes = tensor.cell() > fb::Cell_Int ? 1 : 4;
    for (int32_t n : *io.shape()) {
      if (n < 1 || bytes > tensor.bytes()) return false;
      bytes *= static_cast<uint64_t>(n);
    }
    if (!tensor.dense() || bytes != tensor.bytes() || tensor.buffer() < 0) return false;
    // `Each` has seen the tensor, so its buffer is there and holds it.
    return plan_.buffers()->Get(static_cast<unsigned>(tensor.buffer()))->kind() !=
           fb::BufferKind_Image;
  }

  // Whole groups of the size that the kernel's text says; they cover the grid, and no more.
  bool IsGrouped(const fb::Dispatch& dispatch) const {
    if (!ArePositive(dispatch.grid(), 3)) return false;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const int32_t all = dispatch.global()->Get(axis), own = dispatch.local()->Get(axis);
      if (all % own != 0) return false;
      const int32_t idle = all - dispatch.grid()->Get(axis);
      if (idle < 0 || idle >= own) return false;
    }
    const std::string text =
        GroupText(strcmp(plan_.api()->c_str(), "gles") == 0, GroupOf(dispatch));
    for (const fb::Kernel* kernel :
         *plan_.programs()->Get(static_cast<unsigned>(dispatch.program()))->kernels()) {
      if (strcmp(kernel->entry()->c_str(), dispatch.entry()->c_str()) != 0) continue;
      return strstr(kernel->source()->c_str(), text.c_str()) != nullptr;
    }
    return false;
  }

  bool IsDispatch(const fb::Dispatch& dispatch) const {
    if (!dispatch.name() || !dispatch.kernel() || !dispatch.entry() || !dispatch.args() ||
        !dispatch.nodes() || !ArePositive(dispatch.global(), 3) ||
        !ArePositive(dispatch.local(), 3) ||
        !Within(dispatch.program(), plan_.programs()->size()) || !IsGrouped(dispatch)) {
      return false;
    }
    for (const fb::Arg* arg : *dispatch.args()) {
      if (arg->kind() > fb::ArgKind_MAX || arg->view() > fb::View_MAX) return false;
      if (arg->kind() == fb::ArgKind_Buffer && !Within(arg->index(), plan_.regions()->size())) {
        return false;
      }
    }
    return true;
  }

  const fb::Plan& plan_;
};

bool AreWhole(const flatbuffers::Vector<flatbuffers::Offset<fb::ProgramBinary>>* binaries) {
  if (!binaries) return false;
  for (const fb::ProgramBinary* binary : *binaries) {
    if (!binary->kernels()) continue;
    for (const fb::Kernel* kernel : *binary->kernels()) {
      if (!kernel->entry()) return false;
    }
  }
  return true;
}

}  // namespace

Status CheckPlan(const uint8_t* bytes, size_t size) {
  flatbuffers::Verifier::Options options;
  options.max_tables = 10'000'000;
  flatbuffers::Verifier verifier(bytes, size, options);
  if (!fb::VerifyPlanBuffer(verifier))
    return Unsupported("its plan is no FlatBuffer of this schema");
  return Checker(*fb::GetPlan(bytes)).Run();
}

Status CheckBinaries(const uint8_t* bytes, size_t size) {
  flatbuffers::Verifier verifier(bytes, size);
  if (!verifier.VerifyBuffer<fb::Binaries>() ||
      !AreWhole(flatbuffers::GetRoot<fb::Binaries>(bytes)->programs())) {
    return Unsupported("its binaries are no FlatBuffer of this schema");
  }
  return Status();
}

Status CheckVerdicts(const uint8_t* bytes, size_t size) {
  flatbuffers::Verifier verifier(bytes, size);
  if (verifier.VerifyBuffer<fb::Verdicts>()) return Status();
  return Unsupported("they are no FlatBuffer of this schema");
}

}  // namespace quadra
