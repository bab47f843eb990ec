// Workarounds for drivers, named by symptom. A row says which devices show it and what changes;
// a target file switches rows by name: "quirks": {"compiler_starts_slowly": false}.
#ifndef QUADRA_DEVICE_QUIRKS_H_
#define QUADRA_DEVICE_QUIRKS_H_

#include <vector>

#include "delegate_native/device/gpu_info.h"

namespace quadra {

struct Quirk {
  const char* symptom;
  bool (*shown_by)(const GpuInfo& info);
  void (*mend)(GpuInfo* info);
};

const std::vector<Quirk>& Quirks();

// Mends what the device shows or the target file switched on; notes it in info->quirks.
void ApplyQuirks(GpuInfo* info);

}  // namespace quadra

#endif  // QUADRA_DEVICE_QUIRKS_H_
