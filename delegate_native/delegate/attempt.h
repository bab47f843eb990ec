// One backend's attempt at a subgraph of a model: which nodes it takes, and its partitions, ready
// to run.
#ifndef QUADRA_DELEGATE_ATTEMPT_H_
#define QUADRA_DELEGATE_ATTEMPT_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "delegate_native/delegate/backends.h"
#include "delegate_native/delegate/kept_verdicts.h"
#include "delegate_native/delegate/options.h"
#include "delegate_native/delegate/partition.h"
#include "delegate_native/delegate/verdicts.h"

namespace quadra {

struct Attempt {
  const Gpu* gpu = nullptr;  // has no backend where it could not be opened
  std::vector<Verdict> verdicts;
  std::vector<std::shared_ptr<Partition>> partitions;
  Status status;  // not ok: nodes that the backend had accepted went back to the CPU
  // The verdicts' file in the cache; null: they are not kept.
  std::unique_ptr<HeldFile> saved_as;

  size_t nodes_on_gpu() const;
};

// A subgraph, as the interpreter shows it while the delegate is being applied.
struct SubgraphView {
  TfLiteContext* context;
  std::shared_ptr<ModelNodes> model;
  bool is_called;             // a node runs it, maybe again and again
  size_t first_partition;     // the number of its first partition among those of all subgraphs
  ConstantHashes* constants;  // of the model
};

ModelCache CacheOf(const Options& options);

// For a partition without dumps.
SessionOptions SessionOptionsFor(const Options& options, const Gpu& gpu);

// Takes the verdicts that the cache has of an earlier start. Otherwise judges each node, leaves out
// what is not worth it, and compiles partitions until none fails.
Attempt TryBackend(const Options& options, const SubgraphView& subgraph, const Gpu& gpu);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_ATTEMPT_H_
