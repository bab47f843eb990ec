// The constants of a model, dense, as an import reads them.
#ifndef QUADRA_TFLITE_CONSTANT_POOL_H_
#define QUADRA_TFLITE_CONSTANT_POOL_H_

#include <map>
#include <set>

#include "delegate_native/base/status.h"
#include "delegate_native/graph/graph.h"
#include "delegate_native/tflite/abi.h"

namespace quadra {

// Constants of a model; also what DEQUANTIZE and DENSIFY make of them, and what follows from
// shapes.
class ConstantPool {
 public:
  // The tensor's numbers, dense, or Unsupported with the reason. float16 gives floats, and so do
  // quantised integers; int32 only if floats are wanted.
  Status Get(const TfLiteContext* context, int tensor, bool wants_floats, ConstantData* data);
  void Put(int tensor, ConstantData data);
  // Numbers that follow from shapes, so that they change when these do.
  void PutSize(int tensor, ConstantData data);
  // Its bytes of uint8 are those of int8, without a zero point.
  void ReadAsInt8(int tensor) { int8_.insert(tensor); }
  bool Has(int tensor) const { return known_.count(tensor) != 0; }
  bool IsSize(int tensor) const { return sizes_.count(tensor) != 0; }

 private:
  Status ReadBlocks(const TfLiteContext* context, const TfLiteTensor& tensor, Scales* scales);

  std::map<int, ConstantData> known_;
  std::set<int> sizes_, int8_;
};

}  // namespace quadra

#endif  // QUADRA_TFLITE_CONSTANT_POOL_H_
