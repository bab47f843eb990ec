// The one place that names concrete backends.
#ifndef QUADRA_DELEGATE_BACKENDS_H_
#define QUADRA_DELEGATE_BACKENDS_H_

#include <memory>
#include <string>
#include <vector>

#include "delegate_native/delegate/options.h"
#include "delegate_native/runtime/backend.h"

namespace quadra {

// The backend that the options ask for and the target to make plans for (the backend's own device
// unless the options name a file). `notes` says what was tried. On failure nothing can run on a
// GPU: the status is the reason for every node's verdict.
Status MakeBackend(const Options& options, std::shared_ptr<Backend>* backend, GpuInfo* target,
                   std::vector<std::string>* notes);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_BACKENDS_H_
