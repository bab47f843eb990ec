// Writes what a session made into a folder, for people and for the toolkit.
#ifndef QUADRA_SESSION_DUMP_H_
#define QUADRA_SESSION_DUMP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "delegate_native/base/status.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/plan/plan_bytes.h"

namespace quadra {

// graph.txt, graph.opt.txt, plan.quadra, kernels/NNN_NAME.cl or .comp (one for each distinct
// kernel). Makes the folder. An error names the file. `after`: null where the plan came from a
// cache, which graph.opt.txt then says.
Status Dump(const std::string& folder, const Graph& before, const Graph* after,
            const PlanBytes& plan);
// binaries.quadra, in a folder that is there: fb::Binaries of the plan.
Status DumpBinaries(const std::string& folder, const std::vector<uint8_t>& binaries);
// tensor_NNNN.bin: the numbers of plan.tensors[tensor].
Status DumpTensor(const std::string& folder, unsigned tensor, const std::vector<int32_t>& numbers);

}  // namespace quadra

#endif  // QUADRA_SESSION_DUMP_H_
