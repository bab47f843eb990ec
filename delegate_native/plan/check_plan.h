// Whether bytes from outside are a plan that a backend can run as it stands.
#ifndef QUADRA_PLAN_CHECK_PLAN_H_
#define QUADRA_PLAN_CHECK_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "delegate_native/base/status.h"

namespace quadra {

// Every field that a backend reads is there, every index and range lies within what it points to.
// `bytes` are aligned as PlanBytes are.
Status CheckPlan(const uint8_t* bytes, size_t size);

// The same of fb::Binaries. What is in a binary only its driver can tell.
Status CheckBinaries(const uint8_t* bytes, size_t size);

// The same of fb::Verdicts. Their reader checks whether they fit the model.
Status CheckVerdicts(const uint8_t* bytes, size_t size);

}  // namespace quadra

#endif  // QUADRA_PLAN_CHECK_PLAN_H_
