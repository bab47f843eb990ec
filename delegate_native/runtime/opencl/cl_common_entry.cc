#include "delegate_native/runtime/opencl/cl_common_entry.h"

#include <algorithm>

#include "delegate_native/base/status.h"

namespace quadra {
namespace {

std::string List(const char* declared, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += Format(", %s_%d", declared, i);
  return text;
}

// The call of one kernel's body with the places that its arguments take.
std::string Call(const fb::Kernel& kernel, ClCommonEntry* common) {
  std::string text = kernel.entry()->str() + "_body(";
  int buffers = 0, ints = 0, floats = 0;
  for (const flatbuffers::String* type : *kernel.parameters()) {
    if (type->str() == "int") text += Format("int_%d, ", ints++);
    else if (type->str() == "float") text += Format("float_%d, ", floats++);
    else text += "(" + type->str() + Format(")buffer_%d, ", buffers++);
  }
  common->buffers = std::max(common->buffers, buffers);
  common->ints = std::max(common->ints, ints);
  common->floats = std::max(common->floats, floats);
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
  common.source = std::string("__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\nvoid ") +
                  ClCommonEntry::name() + "(int number" +
                  List("__global float* buffer", common.buffers) + List("int int", common.ints) +
                  List("float float", common.floats) + ") {\n" +
                  "int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n" +
                  "switch (number) {\n" + cases + "}\n}\n";
  return common;
}

}  // namespace quadra
