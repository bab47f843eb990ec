// Asks this machine which backends work.
#ifndef QUADRA_DELEGATE_PROBE_H_
#define QUADRA_DELEGATE_PROBE_H_

#include <string>

#include "delegate_native/delegate/options.h"

namespace quadra {

// Opens each backend that the options ask for, and closes it again. JSON: {"backends": [{"name":
// "opencl", "works": true, "reason": "", "device": "…", "vendor": "…", "version": "…", "driver":
// "…", "half": true, "cpu": false}]}; where it does not work, `reason` says why and the rest is
// empty. `half`: it computes in float16; `cpu`: the device is no GPU.
std::string ProbeBackends(const Options& options);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_PROBE_H_
