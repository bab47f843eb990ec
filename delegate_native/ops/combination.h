// Computations that a node names as subgraphs: how two numbers become one.
#ifndef QUADRA_OPS_COMBINATION_H_
#define QUADRA_OPS_COMBINATION_H_

#include <string>

#include "delegate_native/base/status.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {

enum class Combination : int8_t { kSecond, kAdd, kMultiply, kMaximum, kMinimum };

// How a number v and its update u are combined, both floats or ints; and which update leaves v as
// it is.
struct Combining {
  const char* name;  // in a node's attributes
  const char* text;
  const char* int_text;
  const char* neutral;
};
const Combining& CombiningOf(Combination combination);
// Null: there is none of this name.
const Combining* FindCombining(const std::string& name);

// Reads subgraph `index`: it returns its second input, or has one node. Others are
// refused.
Status ReadCombination(const Importer& importer, int index, Combination* combination);

}  // namespace quadra

#endif  // QUADRA_OPS_COMBINATION_H_
