#include "delegate_native/runtime/opencl/pocl/cl_common_entry.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "delegate_native/base/status.h"

namespace quadra {

// The call of one kernel's body with the places that its arguments take.
std::string ClNumberedEntry::Call(const fb::Kernel& kernel) {
  std::string text = kernel.entry()->str() + "_body(";
  int numbers = 0, buffers = 0;
  for (const flatbuffers::String* type : *kernel.parameters()) {
    if (type->str() == "int") text += Format("given.number[%d], ", numbers++);
    else if (type->str() == "float") text += TextOf("as_float(given.number[%d]), ", numbers++);
    else text += "(" + type->str() + Format(")buffer_%d, ", buffers++);
  }
  numbers_ = std::max(numbers_, numbers);
  buffers_ = std::max(buffers_, buffers);
  return text + "x, y, z);";
}

int ClNumberedEntry::NumberOf(const std::string& kernel) const {
  const auto found = std::find(kernels_.begin(), kernels_.end(), kernel);
  return static_cast<int>(found - kernels_.begin());
}

Status ClNumberedEntry::SetNumbers(ClContext* context, const fb::Dispatch& dispatch,
                                   cl_kernel kernel) const {
  const ClApi& cl = context->api;
  std::vector<cl_int> numbers = {NumberOf(dispatch.entry()->str())};
  cl_uint place = 1;
  for (const fb::Arg* arg : *dispatch.args()) {
    if (arg->kind() == fb::ArgKind_Buffer) {
      ++place;
    } else if (arg->kind() == fb::ArgKind_Int) {
      numbers.push_back(arg->int_value());
    } else {
      const float value = arg->float_value();
      numbers.push_back(0);
      memcpy(&numbers.back(), &value, sizeof(value));
    }
  }
  numbers.resize(1 + static_cast<size_t>(std::max(numbers_, 1)));
  cl_int code = cl.SetKernelArg(kernel, 0, numbers.size() * sizeof(numbers[0]), numbers.data());
  for (; place <= static_cast<cl_uint>(buffers_) && code == CL_SUCCESS; ++place) {
    code = cl.SetKernelArg(kernel, place, sizeof(cl_mem), nullptr);
  }
  if (code == CL_SUCCESS) return Status();
  return context->Failed(Format("set the arguments of %s", dispatch.name()->c_str()).c_str(), code);
}

std::unique_ptr<const ClNumberedEntry> MakeCommonEntry(
    const std::vector<const fb::Kernel*>& kernels) {
  auto common = std::make_unique<ClNumberedEntry>();
  std::string cases;
  for (const fb::Kernel* kernel : kernels) {
    if (!kernel->parameters() || kernel->parameters()->size() == 0) return nullptr;
    cases += Format("case %zu: ", common->kernels_.size()) + common->Call(*kernel) + " break;\n";
    common->kernels_.push_back(kernel->entry()->str());
  }
  std::string buffers;
  for (int i = 0; i < common->buffers_; ++i) buffers += TextOf(", __global float* buffer_%d", i);
  common->source_ =
      TextOf("struct numbers { int entry, number[%d]; };\n", std::max(common->numbers_, 1)) +
      "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\nvoid " + common->name() +
      "(struct numbers given" + buffers + ") {\n" +
      "int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n" +
      "switch (given.entry) {\n" + cases + "}\n}\n";
  return common;
}

}  // namespace quadra
