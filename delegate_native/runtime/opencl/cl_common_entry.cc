#include "delegate_native/runtime/opencl/cl_common_entry.h"

#include <algorithm>

#include "delegate_native/base/status.h"

namespace quadra {
namespace {

// The call of one kernel's body with the places that its arguments take.
std::string Call(const fb::Kernel& kernel, ClCommonEntry* common) {
  std::string text = kernel.entry()->str() + "_body(";
  int numbers = 0, buffers = 0;
  for (const flatbuffers::String* type : *kernel.parameters()) {
    if (type->str() == "int") text += Format("given.number[%d], ", numbers++);
    else if (type->str() == "float") text += TextOf("as_float(given.number[%d]), ", numbers++);
    else text += "(" + type->str() + Format(")buffer_%d, ", buffers++);
  }
  common->numbers = std::max(common->numbers, numbers);
  common->buffers = std::max(common->buffers, buffers);
  return text + "x, y, z);";
}

}  // namespace

int ClCommonEntry::NumberOf(const std::string& kernel) const {
  const auto found = std::find(kernels.begin(), kernels.end(), kernel);
  return static_cast<int>(found - kernels.begin());
}

ClCommonEntry MakeCommonEntry(const std::vector<const fb::Kernel*>& kernels) {
  ClCommonEntry common;
  std::string cases;
  for (const fb::Kernel* kernel : kernels) {
    if (!kernel->parameters() || kernel->parameters()->size() == 0) return ClCommonEntry();
    cases += Format("case %zu: ", common.kernels.size()) + Call(*kernel, &common) + " break;\n";
    common.kernels.push_back(kernel->entry()->str());
  }
  std::string buffers;
  for (int i = 0; i < common.buffers; ++i) buffers += TextOf(", __global float* buffer_%d", i);
  common.source =
      TextOf("struct numbers { int entry, number[%d]; };\n", std::max(common.numbers, 1)) +
      "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\nvoid " + ClCommonEntry::name() +
      "(struct numbers given" + buffers + ") {\n" +
      "int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n" +
      "switch (given.entry) {\n" + cases + "}\n}\n";
  return common;
}

}  // namespace quadra
