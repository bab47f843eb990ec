// The verdicts and partitions of an earlier start, kept in the cache beside the plans, so that a
// later start need not judge the model again.
#ifndef QUADRA_DELEGATE_KEPT_VERDICTS_H_
#define QUADRA_DELEGATE_KEPT_VERDICTS_H_

#include <memory>
#include <string>
#include <vector>

#include "delegate_native/base/known_hashes.h"
#include "delegate_native/cache/model_cache.h"
#include "delegate_native/delegate/partition.h"
#include "delegate_native/delegate/verdicts.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {

// The hash of all that verdicts and partitions are made from: nodes with their parameters, tensors,
// and the numbers of constants; so too those of the subgraphs that composites stand for. Empty:
// one of these cannot be read.
std::string HashOfModel(TfLiteContext* context, const ModelNodes& model, ConstantHashes* constants);

// A file that cannot be written is none.
void SaveVerdicts(const ModelCache& cache, const std::string& key,
                  const std::vector<Verdict>& verdicts,
                  const std::vector<std::shared_ptr<Partition>>& partitions, const Status& result);

// Fills in what was saved of the nodes; `verdicts` has those of the model. Not ok: others were
// saved.
Status ReadVerdicts(const fb::Verdicts& saved, std::vector<Verdict>* verdicts);

// A partition, with its plan from the cache. The caller sets the model that it is imported from.
Status ReadPartition(const fb::PartitionRecord& saved, const TfLiteContext& context,
                     const SessionOptions& options, const std::shared_ptr<Backend>& backend,
                     Partition* partition);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_KEPT_VERDICTS_H_
