// In the place of pocl/, in libraries for phones.
#include "delegate_native/runtime/opencl/cl_host_device.h"

namespace quadra {

std::unique_ptr<ClHostDevice> MakeClHostDevice(ClContext*) { return nullptr; }

}  // namespace quadra
