#include "delegate_native/plan/binaries.h"

namespace quadra {

std::vector<uint8_t> PackBinaries(const fb::Plan& plan, const std::vector<ProgramBinary>& binaries,
                                  const std::string& driver) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::ProgramBinary>> programs;
  programs.reserve(binaries.size());
  for (unsigned i = 0; i < binaries.size(); ++i) {
    programs.push_back(fb::CreateProgramBinaryDirect(
        builder, plan.programs()->Get(i)->fingerprint(), binaries[i].format, &binaries[i].bytes));
  }
  builder.Finish(fb::CreateBinariesDirect(builder, &programs, driver.c_str()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace quadra
