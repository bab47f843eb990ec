// The kernels of wide vectors that cpu_kernels.cc lists.
#ifndef QUADRA_OPS_CPU_WIDE_KERNELS_H_
#define QUADRA_OPS_CPU_WIDE_KERNELS_H_

#include <string>

#include "delegate_native/ops/cpu_kernels.h"

namespace quadra {

void AddWideConv(const KernelContext& context, const Conv& conv, KernelList* list);
bool MakeWideDepthwise(const Conv& conv, KernelDesc* kernel);
void MakeRowOfSteps(const Shape& out, KernelDesc* kernel);
void MakeRowToSlices(const Value& made, bool dequantize, bool bounded, const std::string& pixel,
                     KernelDesc* kernel);
void MakeRowFromSlices(const Shape& shape, const char* from, const char* to, KernelDesc* kernel);
void MakeWideArgMax(const Shape& out, bool is_float, bool least, const std::string& body,
                    KernelDesc* kernel);
void AddWideResize(const Node& node, KernelList* list, std::string* row, std::string* pixel);

// A statement that brings a vector of `lanes` within the bounds, as Bounded does it for a vec4.
std::string BoundWide(bool round, int lanes, const char* vector);

}  // namespace quadra

#endif  // QUADRA_OPS_CPU_WIDE_KERNELS_H_
