#include "delegate_native/ops/flex_map.h"

namespace quadra {
namespace {

Status Index(const flexbuffers::Reference& given, const char* name, int* place) {
  const int64_t number = given.IsIntOrUint() ? given.AsInt64() : -1;
  if (number < 0 || number > 1 << 20) return InvalidModel("its option %s is no place", name);
  *place = static_cast<int>(number);
  return Status();
}

}  // namespace

Status FlexMap::Read(const uint8_t* bytes, size_t size) {
  if (size < 3 || !flexbuffers::VerifyBuffer(bytes, size)) {
    return InvalidModel("its options are no FlexBuffer");
  }
  const flexbuffers::Reference root = flexbuffers::GetRoot(bytes, size);
  if (!root.IsMap()) return InvalidModel("its options are no map");
  map_ = root.AsMap();
  return Status();
}

Status FlexMap::Size(const char* name, int* size) const {
  const int64_t given = map_[name].AsInt64();
  if (given < 1 || given > 1 << 14) return InvalidModel("its option %s is no size", name);
  *size = static_cast<int>(given);
  return Status();
}

Status FlexMap::Place(const char* name, int* place) const { return Index(map_[name], name, place); }

Status FlexMap::Float(const char* name, float* number) const {
  if (!map_[name].IsNumeric()) return InvalidModel("its option %s is no number", name);
  *number = map_[name].AsFloat();
  return Status();
}

Status FlexMap::Places(const char* name, std::vector<int>* places) const {
  const flexbuffers::Reference given = map_[name];
  // Vectors know their types in two ways.
  const auto read = [&](const auto& vector) {
    places->resize(vector.size());
    for (size_t i = 0; i < places->size(); ++i) {
      QUADRA_RETURN_IF_ERROR(Index(vector[i], name, &(*places)[i]));
    }
    return places->empty() ? InvalidModel("its option %s is empty", name) : Status();
  };
  return given.IsTypedVector() ? read(given.AsTypedVector()) : read(given.AsVector());
}

Status FlexMap::Inner(const char* name, FlexMap* map) const {
  if (!map_[name].IsMap()) return InvalidModel("its option %s is no map", name);
  map->map_ = map_[name].AsMap();
  return Status();
}

}  // namespace quadra
