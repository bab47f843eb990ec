// A plan's programs as the driver compiled them, to be kept beside the plan.
#ifndef QUADRA_PLAN_BINARIES_H_
#define QUADRA_PLAN_BINARIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "delegate_native/base/program_binary.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {

// The bytes of fb::Binaries. `binaries`: one or more for each program of the plan, or none at all.
std::vector<uint8_t> PackBinaries(const fb::Plan& plan, const std::vector<ProgramBinary>& binaries,
                                  const std::string& driver = "");

}  // namespace quadra

#endif  // QUADRA_PLAN_BINARIES_H_
