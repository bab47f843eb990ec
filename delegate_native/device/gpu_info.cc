#include "delegate_native/device/gpu_info.h"

#include <algorithm>

#include "delegate_native/base/json.h"
#include "delegate_native/base/json_writer.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/device/quirks.h"

namespace quadra {
namespace {

// The range of a number. Wide enough for every device there is, narrow enough that sizes and grids
// which follow from it cannot leave their types.
struct Range {
  int64_t least, most;
  bool power_of_two = false;
};
constexpr Range kItems = {1, 1 << 20};
constexpr Range kUnits = {0, 1 << 16};
constexpr Range kAtLeastOneUnit = {1, 1 << 16};
constexpr Range kGroups = {0, INT32_MAX};
constexpr Range kImageSide = {0, 1 << 20};
constexpr Range kImageRow = {0, int64_t{1} << 32};
constexpr Range kLocalBytes = {0, 1 << 30};
constexpr Range kBufferBytes = {1, int64_t{1} << 46};
constexpr Range kAlignment = {1, 1 << 16, true};
constexpr Range kRowBytes = {0, 1 << 16, true};
constexpr Range kPixels = {0, 1 << 12, true};
constexpr Range kVectorWidth = {4, 16, true};
constexpr Range kRegisters = {1, 1 << 10};
constexpr Range kRate = {1 << 16, kNoLimit};

int64_t Clamped(int64_t n, const Range& range) {
  n = std::min(std::max(n, range.least), range.most);
  if (n == 0) return 0;
  int64_t power = 1;
  while (range.power_of_two && power < n) power *= 2;
  return range.power_of_two ? power : n;
}

// The keys of a target file, once for reading, writing and clamping. A visitor has a method per
// kind.
template <typename Visitor>
void VisitFacts(Visitor* v, GpuInfo* info) {
  v->Text("name", &info->name);
  v->Text("vendor", &info->vendor);
  v->ApiWord("api", &info->api);
  v->Text(QUADRA_TEXT("opencl_version"), &info->opencl_version);
  v->Text(QUADRA_TEXT("device_name"), &info->device_name);
  v->Text("driver", &info->driver);
  v->Text(QUADRA_TEXT("api_version"), &info->api_version);
  v->Texts(QUADRA_TEXT("extensions"), &info->extensions);
  v->Number(QUADRA_TEXT("max_work_group_size"), &info->max_work_group_size, kItems);
  v->Numbers(QUADRA_TEXT("max_work_group"), info->max_work_group, 3, kItems);
  v->Number(QUADRA_TEXT("local_memory_bytes"), &info->local_memory_bytes, kLocalBytes);
  v->Number(QUADRA_TEXT("max_buffer_bytes"), &info->max_buffer_bytes, kBufferBytes);
  v->Number(QUADRA_TEXT("buffer_alignment_bytes"), &info->buffer_alignment_bytes, kAlignment);
  v->Numbers(QUADRA_TEXT("max_image2d"), info->max_image2d, 2, kImageSide);
  v->Number(QUADRA_TEXT("max_image_buffer_width"), &info->max_image_buffer_width, kImageRow);
  v->Number(QUADRA_TEXT("image_pitch_alignment"), &info->image_pitch_alignment, kPixels);
  v->Number(QUADRA_TEXT("image_base_alignment"), &info->image_base_alignment, kPixels);
  v->Number(QUADRA_TEXT("max_storage_blocks"), &info->max_storage_blocks, kAtLeastOneUnit);
  v->Number(QUADRA_TEXT("max_image_units"), &info->max_image_units, kUnits);
  v->Number(QUADRA_TEXT("max_output_resources"), &info->max_output_resources, kAtLeastOneUnit);
  v->Number(QUADRA_TEXT("max_texture_units"), &info->max_texture_units, kUnits);
  v->Numbers(QUADRA_TEXT("max_groups"), info->max_groups, 3, kGroups);
  v->Flag(QUADRA_TEXT("supports_fp16"), &info->supports_fp16);
  v->Quirks("quirks", &info->quirks);
}

template <typename Visitor>
void VisitDecisions(Visitor* v, GpuInfo* info) {
  v->StorageWord("storage", &info->storage);
  v->ImageMemoryWord(QUADRA_TEXT("image_memory"), &info->image_memory);
  v->Number(QUADRA_TEXT("image_row_bytes"), &info->image_row_bytes, kRowBytes);
  v->Number(QUADRA_TEXT("vector_width"), &info->vector_width, kVectorWidth);
  v->Number(QUADRA_TEXT("vector_registers"), &info->vector_registers, kRegisters);
  v->Number(QUADRA_TEXT("enough_work_items"), &info->enough_work_items, kItems);
  v->Number(QUADRA_TEXT("winograd_channels"), &info->winograd_channels, kItems);
  v->Number(QUADRA_TEXT("winograd_tiles"), &info->winograd_tiles, kItems);
  v->Number(QUADRA_TEXT("trips_per_second"), &info->trips_per_second, kRate);
  v->Flag(QUADRA_TEXT("reads_buffers_as_images"), &info->reads_buffers_as_images);
  v->Number(QUADRA_TEXT("flat_group"), &info->flat_group, kUnits);
  v->Flag(QUADRA_TEXT("has_timer_queries"), &info->has_timer_queries);
  v->Flag(QUADRA_TEXT("compiles_at_dispatch"), &info->compiles_at_dispatch);
  v->Number(QUADRA_TEXT("flush_every"), &info->flush_every, kUnits);
  v->Flag(QUADRA_TEXT("shares_sums"), &info->shares_sums);
  v->Flag(QUADRA_TEXT("one_program"), &info->one_program);
  v->Flag(QUADRA_TEXT("separate_buffers"), &info->separate_buffers);
  v->Flag(QUADRA_TEXT("whole_buffers"), &info->whole_buffers);
  v->Flag(QUADRA_TEXT("shares_host_memory"), &info->shares_host_memory);
}

// Words for the values of an enumeration, in their order.
constexpr const char* kStorageWords[] = {"buffer", "image2d"};
constexpr const char* kImageMemoryWords[] = {"own", "buffers", "arena"};
constexpr const char* kApiWords[] = {"opencl", "gles"};

class ReadVisitor {
 public:
  explicit ReadVisitor(const Json& json) : json_(json) {}

  const Status& status() const { return status_; }

  Status UnknownKeys() const {
    for (const auto& member : json_.members) {
      bool known = false;
      for (const char* key : known_) known |= member.first == key;
      if (!known) return Unsupported("key \"%s\" is unknown", member.first.c_str());
    }
    return Status();
  }

  void Text(const char* key, std::string* value) {
    if (const Json* json = Find(key, Json::Type::kString)) *value = json->string;
  }

  void Texts(const char* key, std::vector<std::string>* value) {
    const Json* json = Find(key, Json::Type::kArray);
    if (!json) return;
    value->clear();
    for (const Json& item : json->items) {
      if (item.type != Json::Type::kString) return Fail(key, "a list of strings", item);
      value->push_back(item.string);
    }
  }

  void Flag(const char* key, bool* value) {
    if (const Json* json = Find(key, Json::Type::kBool)) *value = json->boolean;
  }

  template <typename Integer>
  void Number(const char* key, Integer* value, const Range& range) {
    if (const Json* json = Find(key, Json::Type::kNumber)) Whole(key, *json, range, value);
  }

  void Numbers(const char* key, int* values, size_t count, const Range& range) {
    const Json* json = Find(key, Json::Type::kArray);
    if (!json) return;
    if (json->items.size() != count) {
      status_ =
          Unsupported("key \"%s\" has %zu numbers instead of %zu", key, json->items.size(), count);
      return;
    }
    for (size_t i = 0; i < count; ++i) Whole(key, json->items[i], range, &values[i]);
  }

  void StorageWord(const char* key, Storage* storage) { Word(key, kStorageWords, storage); }
  void ImageMemoryWord(const char* key, ImageMemory* memory) {
    Word(key, kImageMemoryWords, memory);
  }
  void ApiWord(const char* key, Api* api) { Word(key, kApiWords, api); }

  void Quirks(const char* key, std::vector<std::pair<std::string, bool>>* quirks) {
    const Json* json = Find(key, Json::Type::kObject);
    if (!json) return;
    for (const auto& member : json->members) {
      bool known = false;
      for (const Quirk& quirk : quadra::Quirks()) known |= member.first == quirk.symptom;
      if (!known) {
        status_ = Unsupported("key \"%s\" names \"%s\", which is not a known quirk", key,
                              member.first.c_str());
        return;
      }
      if (member.second.type != Json::Type::kBool) {
        return Fail(member.first.c_str(), TypeName(Json::Type::kBool), member.second);
      }
      quirks->emplace_back(member.first, member.second.boolean);
    }
  }

 private:
  const Json* Find(const char* key, Json::Type type) {
    known_.push_back(key);
    const Json* json = json_.Find(key);
    if (!json || !status_.ok()) return nullptr;
    if (json->type == type) return json;
    Fail(key, TypeName(type), *json);
    return nullptr;
  }

  void Fail(const char* key, const char* wanted, const Json& got) {
    status_ = Unsupported("key \"%s\" must be %s, and is %s", key, wanted, TypeName(got.type));
  }

  template <typename Enum, size_t kCount>
  void Word(const char* key, const char* const (&words)[kCount], Enum* value) {
    const Json* json = Find(key, Json::Type::kString);
    if (!json) return;
    std::string known;
    for (size_t i = 0; i < kCount; ++i) {
      if (json->string == words[i]) {
        *value = static_cast<Enum>(i);
        return;
      }
      known += (i > 0 ? " or \"" : "\"") + std::string(words[i]) + "\"";
    }
    status_ =
        Unsupported("key \"%s\" is \"%s\" instead of %s", key, json->string.c_str(), known.c_str());
  }

  template <typename Integer>
  void Whole(const char* key, const Json& json, const Range& range, Integer* value) {
    if (json.type != Json::Type::kNumber) return Fail(key, "a number", json);
    const bool in_range = json.number >= static_cast<double>(range.least) &&
                          json.number <= static_cast<double>(range.most);
    const int64_t number = in_range ? static_cast<int64_t>(json.number) : -1;
    if (static_cast<double>(number) != json.number || Clamped(number, range) != number) {
      status_ =
          Unsupported("key \"%s\" is %.17g instead of a %s from %lld to %lld", key, json.number,
                      range.power_of_two ? "power of two" : "whole number",
                      static_cast<long long>(range.least), static_cast<long long>(range.most));
      return;
    }
    *value = static_cast<Integer>(number);
  }

  const Json& json_;
  std::vector<const char*> known_;
  Status status_;
};

class WriteVisitor {
 public:
  WriteVisitor() { json_.BeginObject(); }
  std::string Finish() { return json_.EndObject().text(); }

  void Text(const char* key, const std::string* value) { json_.Key(key).Text(*value); }
  void Flag(const char* key, const bool* value) { json_.Key(key).Flag(*value); }
  void StorageWord(const char* key, const Storage* s) {
    json_.Key(key).Text(kStorageWords[static_cast<int>(*s)]);
  }
  void ImageMemoryWord(const char* key, const ImageMemory* memory) {
    json_.Key(key).Text(kImageMemoryWords[static_cast<int>(*memory)]);
  }
  void ApiWord(const char* key, const Api* api) {
    json_.Key(key).Text(kApiWords[static_cast<int>(*api)]);
  }

  template <typename Integer>
  void Number(const char* key, const Integer* value, const Range&) {
    json_.Key(key).Number(*value);
  }

  void Texts(const char* key, const std::vector<std::string>* values) {
    json_.Key(key).BeginArray();
    for (const std::string& value : *values) json_.Text(value);
    json_.EndArray();
  }

  void Numbers(const char* key, const int* values, size_t count, const Range&) {
    json_.Key(key).BeginArray();
    for (size_t i = 0; i < count; ++i) json_.Number(values[i]);
    json_.EndArray();
  }

  void Quirks(const char* key, const std::vector<std::pair<std::string, bool>>* quirks) {
    json_.Key(key).BeginObject();
    for (const auto& quirk : *quirks) json_.Key(quirk.first.c_str()).Flag(quirk.second);
    json_.EndObject();
  }

 private:
  JsonWriter json_;
};

class ClampVisitor {
 public:
  template <typename Integer>
  void Number(const char*, Integer* value, const Range& range) {
    *value = static_cast<Integer>(Clamped(*value, range));
  }
  void Numbers(const char* key, int* values, size_t count, const Range& range) {
    for (size_t i = 0; i < count; ++i) Number(key, &values[i], range);
  }
  template <typename Value>
  void Text(const char*, Value*) {}
  template <typename Value>
  void Texts(const char*, Value*) {}
  void ApiWord(const char*, Api*) {}
  void Flag(const char*, bool*) {}
  template <typename Value>
  void Quirks(const char*, Value*) {}
};

}  // namespace

bool GpuInfo::Has(const char* extension) const {
  for (const std::string& e : extensions) {
    if (e == extension) return true;
  }
  return false;
}

void ClampFacts(GpuInfo* info) {
  ClampVisitor clamp;
  VisitFacts(&clamp, info);
}

Status ParseGpuInfo(const std::string& text, GpuInfo* info) {
  Json json;
  QUADRA_RETURN_IF_ERROR(ParseJson(text, &json));
  if (json.type != Json::Type::kObject) return Unsupported("not an object with a target's keys");
  *info = GpuInfo();
  ReadVisitor reader(json);
  std::string why;  // it states decisions that are not DecideTarget's: for people, and for a test
  reader.Text("why", &why);
  VisitFacts(&reader, info);
  VisitDecisions(&reader, info);  // a CPU's own vector width is a fact, too
  QUADRA_RETURN_IF_ERROR(reader.status());
  QUADRA_RETURN_IF_ERROR(reader.UnknownKeys());
  DecideTarget(info);
  VisitDecisions(&reader, info);
  if (info->storage == Storage::kImage2d && !info->supports_images) {
    return Unsupported("key \"storage\" is \"image2d\", and \"max_image2d\" says: no images");
  }
  if (info->image_memory != ImageMemory::kOwn && !info->makes_images_of_buffers()) {
    return Unsupported(
        "key \"image_memory\" is \"%s\", and \"image_pitch_alignment\" and "
        "\"image_base_alignment\" say: no images over buffers",
        kImageMemoryWords[static_cast<int>(info->image_memory)]);
  }
  const int width = info->vector_width;  // a power of two from 4 to 16
  if (info->api == Api::kGles && width != 4) {
    return Unsupported(
        "key \"vector_width\" is %d, and \"api\" is \"gles\", which has vectors of 4", width);
  }
  if (!kHasCpuShapes && width != 4) {
    return Unsupported(
        "key \"vector_width\" is %d, for a CPU; libraries for Android on ARM have kernels for GPUs "
        "only: give 4, or make the plan on a host",
        width);
  }
  return Status();
}

std::string ToJson(const GpuInfo& info) {
  WriteVisitor writer;
  GpuInfo copy = info;  // visitors of both kinds take the same pointers
  VisitFacts(&writer, &copy);
  VisitDecisions(&writer, &copy);
  return writer.Finish();
}

}  // namespace quadra
