// The verdicts and partitions of an earlier start, kept in the cache beside the plans, so that a
// later start need not judge the model again.
#ifndef QUADRA_DELEGATE_KEPT_VERDICTS_H_
#define QUADRA_DELEGATE_KEPT_VERDICTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "delegate_native/cache/model_cache.h"
#include "delegate_native/delegate/partition.h"
#include "delegate_native/delegate/verdicts.h"

namespace quadra {

// Of all that verdicts and partitions are made from: nodes with their parameters, tensors, and the
// numbers of constants. Empty where a node stands for another subgraph: that is not looked into.
std::string HashOfModel(const TfLiteContext& context, const ModelNodes& model);

// A file that cannot be written is none.
void SaveVerdicts(const ModelCache& cache, const std::string& key,
                  const std::vector<Verdict>& verdicts,
                  const std::vector<std::shared_ptr<Partition>>& partitions, const Status& result);

// Reads a file of verdicts and partitions: whole numbers, and texts that each end in a zero, both
// in the order in which they are read.
//
//   numbers   how many nodes; of each: 0 CPU, 1 GPU, 2 GPU and its result is a constant; then of
//             each partition three lists (nodes, input tensors, output tensors), each behind its
//             length; how many of the outputs are states, and how many inputs are only shapes; of
//             each input and output six sizes and the rank
//   texts     of each node why it is left to the CPU; of each partition the hash of its graph; why
//             a program is not trusted, or nothing
class KeptVerdicts {
 public:
  // `verdicts` has the model's nodes.
  Status Load(const ModelCache& cache, const std::string& key, std::vector<Verdict>* verdicts);
  // Behind the last partition: not ok where programs are not trusted.
  Status Result();
  // The next partition, with its plan. What it is imported from it does not know.
  Status Next(const TfLiteContext& context, const SessionOptions& options,
              const std::shared_ptr<Backend>& backend, Partition* partition);

 private:
  int Number();
  const int32_t* Take(int count);
  void List(std::vector<int>* list);
  const char* Text();
  Status Fits() const;
  Status Ports(const TfLiteContext& context, const std::vector<int>& tensors,
               std::vector<Port>* ports);

  PlanBytes file_;
  const int32_t* number_ = nullptr;
  const int32_t* numbers_end_ = nullptr;
  const char* text_ = nullptr;
  const char* texts_end_ = nullptr;
  bool fits_ = true;
};

}  // namespace quadra

#endif  // QUADRA_DELEGATE_KEPT_VERDICTS_H_
