// Keeps the cache's folder within its limit.
#ifndef QUADRA_CACHE_PRUNE_H_
#define QUADRA_CACHE_PRUNE_H_

#include <cstdint>
#include <string>

namespace quadra {

extern const char kEnding[], kVerdicts[], kHashes[];  // of files of plans, verdicts, hashes

// Removes what was not used for longest until all files together have at most `most_bytes` (0: any
// number), but neither `just_saved` nor what a HeldFile has. Files of weights go with the last
// plan that has them. What was abandoned goes whatever the limit. A sentence on what was removed
// for the limit, or on why it is exceeded all the same; empty: neither.
std::string Prune(const std::string& folder, const std::string& just_saved, int64_t most_bytes);

}  // namespace quadra

#endif  // QUADRA_CACHE_PRUNE_H_
