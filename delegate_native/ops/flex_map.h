// Options that a model keeps as a map in a FlexBuffer: those of custom ops, and the attributes of
// composites.
#ifndef QUADRA_OPS_FLEX_MAP_H_
#define QUADRA_OPS_FLEX_MAP_H_

#include <flatbuffers/flexbuffers.h>

#include <vector>

#include "delegate_native/base/status.h"

namespace quadra {

class FlexMap {
 public:
  // The bytes have to live as long as this.
  Status Read(const uint8_t* bytes, size_t size);

  size_t size() const { return map_.size(); }
  bool Has(const char* name) const { return !map_[name].IsNull(); }
  // Whether it is there and not 0.
  bool Flag(const char* name) const { return map_[name].AsInt64() != 0; }
  Status Size(const char* name, int* size) const;
  Status Place(const char* name, int* place) const;
  Status Float(const char* name, float* number) const;
  Status Places(const char* name, std::vector<int>* places) const;
  // A map in the map, for as long as this one lives.
  Status Inner(const char* name, FlexMap* map) const;

 private:
  flexbuffers::Map map_ = flexbuffers::Map::EmptyMap();
};

}  // namespace quadra

#endif  // QUADRA_OPS_FLEX_MAP_H_
