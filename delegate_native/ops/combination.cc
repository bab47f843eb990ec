#include "delegate_native/ops/combination.h"

#include <vector>

#include "delegate_native/base/texts.h"
#include "delegate_native/ops/subgraph.h"
#include "delegate_native/tflite/builtin_params.h"
#include "delegate_native/tflite/model_nodes.h"

namespace quadra {
namespace {

// Converters write either TFLite's ops or StableHLO's there.
struct Row {
  int16_t builtin, stablehlo;
  Combination combination;
};
constexpr Row kRows[] = {
    {kTfLiteBuiltinAdd, kTfLiteBuiltinStablehloAdd, Combination::kAdd},
    {kTfLiteBuiltinMul, kTfLiteBuiltinStablehloMultiply, Combination::kMultiply},
    {kTfLiteBuiltinMaximum, kTfLiteBuiltinStablehloMaximum, Combination::kMaximum},
    {kTfLiteBuiltinMinimum, kTfLiteBuiltinStablehloMinimum, Combination::kMinimum},
};

// ADD's and MUL's parameters begin with it; the others have none of it.
bool Activates(const ModelNodes::Entry& entry) {
  const int builtin = entry.registration->builtin_code;
  if (builtin != kTfLiteBuiltinAdd && builtin != kTfLiteBuiltinMul) return false;
  const auto* params = static_cast<const TfLiteMulParams*>(entry.node->builtin_data);
  return !params || params->activation != kTfLiteActNone;
}

constexpr Combining kCombining[] = {
    // by Combination
    {"put", "v = u;", "v = u;", "v"},
    {"add", "v += u;", "v += u;", "num4(0)"},
    {"mul", "v *= u;", "v *= u;", "num4(1)"},
    {"max", QUADRA_TEXT("v = larger(u, v);"), QUADRA_TEXT("v = max(v, u);"), "v"},
    {"min", QUADRA_TEXT("v = smaller(u, v);"), QUADRA_TEXT("v = min(v, u);"), "v"},
};

}  // namespace

const Combining& CombiningOf(Combination combination) {
  return kCombining[static_cast<int>(combination)];
}

const Combining* FindCombining(const std::string& name) {
  for (const Combining& one : kCombining) {
    if (name == one.name) return &one;
  }
  return nullptr;
}

Status ReadCombination(const Importer& importer, int index, Combination* combination) {
  std::vector<const TfLiteContext*> outer = importer.known()->subgraphs;
  outer.push_back(importer.context());
  const Subgraph subgraph(importer.context(), index, outer);
  if (!subgraph.ok()) return InvalidModel("its computation, subgraph %d, is none", index);
  ModelNodes model;
  QUADRA_RETURN_IF_ERROR(ReadCalled(subgraph.context(), &model));
  *combination = Combination::kSecond;
  if (model.entries.empty()) return Status();
  if (model.entries.size() == 1 && !Activates(model.entries[0])) {
    const int builtin = model.entries[0].registration->builtin_code;
    for (const Row& row : kRows) {
      if (builtin != row.builtin && builtin != row.stablehlo) continue;
      *combination = row.combination;
      return Status();
    }
  }
  return Unsupported(
      "its computation has %zu nodes; none, or one ADD, MUL, MAXIMUM or MINIMUM are "
      "supported",
      model.entries.size());
}

}  // namespace quadra
