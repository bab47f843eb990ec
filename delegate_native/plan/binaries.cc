#include "delegate_native/plan/binaries.h"

namespace quadra {
namespace {

using Kernels = std::vector<flatbuffers::Offset<fb::Kernel>>;

Kernels PackHeads(const std::vector<KernelHead>& heads, flatbuffers::FlatBufferBuilder* builder) {
  Kernels kernels;
  kernels.reserve(heads.size());
  for (const KernelHead& head : heads) {
    const auto entry = builder->CreateString(head.entry);
    const auto parameters = builder->CreateVectorOfStrings(head.parameters);
    kernels.push_back(fb::CreateKernel(*builder, entry, 0, 0, parameters));
  }
  return kernels;
}

}  // namespace

std::vector<uint8_t> PackBinaries(const fb::Plan& plan, const std::vector<ProgramBinary>& binaries,
                                  const std::string& driver) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::ProgramBinary>> programs;
  programs.reserve(binaries.size());
  unsigned next = 0;
  for (const ProgramBinary& binary : binaries) {
    next += binary.is_more ? 0 : 1;
    const Kernels kernels = PackHeads(binary.kernels, &builder);
    programs.push_back(fb::CreateProgramBinaryDirect(
        builder, plan.programs()->Get(next - 1)->fingerprint(), binary.format, &binary.bytes,
        kernels.empty() ? nullptr : &kernels));
  }
  builder.Finish(fb::CreateBinariesDirect(builder, &programs, driver.c_str()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace quadra
