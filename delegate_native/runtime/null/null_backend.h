// A backend without a driver: accepts every plan and runs none. For coverage and tests.
#ifndef QUADRA_RUNTIME_NULL_NULL_BACKEND_H_
#define QUADRA_RUNTIME_NULL_NULL_BACKEND_H_

#include <memory>

#include "delegate_native/runtime/backend.h"

namespace quadra {

std::shared_ptr<Backend> MakeNullBackend(const GpuInfo& info);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_NULL_NULL_BACKEND_H_
