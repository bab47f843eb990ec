// The one place that names concrete backends.
#ifndef QUADRA_DELEGATE_BACKENDS_H_
#define QUADRA_DELEGATE_BACKENDS_H_

#include <memory>
#include <string>
#include <vector>

#include "delegate_native/delegate/options.h"
#include "delegate_native/plan/weights.h"
#include "delegate_native/runtime/backend.h"

namespace quadra {

// A backend and the target to make its plans for: its own device, or that of the options' file.
struct Gpu {
  std::shared_ptr<Backend> backend;
  GpuInfo target;
  std::shared_ptr<WeightStore> weights;  // of all plans that the delegate makes for it
};

// Names of the backends that the options ask for, in the order in which they are tried.
std::vector<std::string> BackendsToTry(const Options& options);

// Reads the options' target file; null where they name none.
Status ReadTarget(const Options& options, std::unique_ptr<GpuInfo>* target);

// `target`: what to make plans for; null for the backend's own device.
// `shared`: contexts of the app that it runs in.
Status OpenGpu(const Options& options, const std::string& backend, const Contexts& shared,
               const GpuInfo* target, Gpu* gpu);

// Memory in an OpenCL context; null: the one that delegates of this process share. See
// Backend::MakeMemory. `*backend` must live as long.
Status MakeOpenClMemory(void* context, void* object, size_t bytes,
                        std::shared_ptr<Backend>* backend, std::unique_ptr<DeviceMemory>* memory);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_BACKENDS_H_
