#include "delegate_native/accelerator/gpu_options.h"

#include <cstdlib>
#include <cstring>

#include "delegate_native/base/log.h"

namespace quadra {
namespace {

constexpr char kSpaces[] = " \t\r";

// An option that LiteRT and the delegate have by the same name: LiteRT's numbers as words, in
// order. Without a word the delegate's default stays.
struct Row {
  const char* name;
  const char* words[4];
};

constexpr Row kRows[] = {
    {"precision", {nullptr, "f16", "f32", "f32_f16"}},
    {"backend", {nullptr, "opencl", "webgpu", "gles"}},  // webgpu is refused by name
};

// LiteRT's other options. Those that only say how its own accelerator goes about its work may have
// any value. Where Quadra cannot do what a value asks for, the log says what it does.
struct Other {
  const char* name;
  const char* fine;  // the value that Quadra agrees with; null: any
  const char* instead;
};

constexpr char kCaching[] =
    "compiled models are kept in serialization_dir alone, with their weights";

constexpr Other kOthers[] = {
    {"enable_infinite_float_capping", "false",
     "infinities stay infinite, also in half precision; finite inputs stay finite"},
    {"enable_constant_tensors_sharing", nullptr, nullptr},
    {"allow_src_quantized_fc_conv_ops", nullptr, nullptr},  // allows what loses accuracy
    {"benchmark_mode", nullptr, nullptr},
    {"hint_waiting_for_completion", nullptr, nullptr},
    {"hint_fully_delegated_to_single_delegate", nullptr, nullptr},
    {"kernel_batch_size", nullptr, nullptr},
    {"num_steps_of_command_buffer_preparations", nullptr, nullptr},
    {"num_threads_to_upload", nullptr, nullptr},
    {"num_threads_to_compile", nullptr, nullptr},
    {"convert_weights_on_gpu", nullptr, nullptr},
    {"wait_for_weights_conversion_complete", nullptr, nullptr},
    {"madvise_original_shared_tensors", nullptr, nullptr},
    {"use_metal_argument_buffers", nullptr, nullptr},
    {"enable_metal_residency_set", nullptr, nullptr},
    {"prefer_texture_weights", nullptr, nullptr},
    // All inputs and outputs are dense, in the caller's buffers, as these ask for some or all.
    {"external_tensor_patterns", nullptr, nullptr},
    {"external_tensors_mode", nullptr, nullptr},
    {"buffer_storage_tensor_patterns", nullptr, nullptr},
    {"serialize_external_tensors", nullptr, nullptr},
    {"shared_tensor_maps", "0", "it is a structure of another accelerator"},
    {"buffer_storage_type", "0", "the target says where tensors are stored"},
    {"priority", "0", "kernels have the driver's default priority"},
    {"wait_type", "0", "a synchronous run waits until the driver says that it is done"},
    {"preferred_device_substr", "", "the first device that can run models is used"},
    {"disable_shader_optimization", "false", "kernels are compiled as the driver does it"},
    {"program_cache_fd", "-1", kCaching},
    {"weight_cache_fd", "-1", kCaching},
    {"cache_only_compiled_programs", "false", kCaching},
};

void SayInstead(const char* key, const char* value) {
  for (const Other& other : kOthers) {
    if (strcmp(other.name, key) != 0) continue;
    if (!other.fine || strcmp(other.fine, value) == 0) return;
    Log(0, "LiteRT's GPU option %s = %s is not done: %s", key, value, other.instead);
    return;
  }
  Log(0, "LiteRT's GPU option %s = %s is not done: Quadra does not know it", key, value);
}

// The next `key = value` of `*rest`, which is cut into strings; false at its end. Comments and
// lines without a value are passed over, quotes around a value are taken off.
bool NextPair(char** rest, char** key, char** value) {
  while (**rest) {
    char* line = *rest + strspn(*rest, kSpaces);
    const size_t length = strcspn(line, "\n");
    *rest = line + length + (line[length] == '\n');
    line[length] = '\0';
    char* equals = strchr(line, '=');
    if (*line == '#' || !equals) continue;
    *equals = '\0';
    line[strcspn(line, kSpaces)] = '\0';
    *key = line;
    *value = equals + 1 + strspn(equals + 1, kSpaces);
    char* end = *value + strlen(*value);
    while (end > *value && strchr(kSpaces, end[-1])) --end;
    *end = '\0';
    const char quote = **value;
    if (end - *value >= 2 && (quote == '"' || quote == '\'') && end[-1] == quote) {
      ++*value;
      end[-1] = '\0';
    }
    return true;
  }
  return false;
}

const Row* Find(const char* key) {
  for (const Row& row : kRows) {
    if (strcmp(row.name, key) == 0) return &row;
  }
  return nullptr;
}

// A number of the row as its word; any other text stays, and the delegate checks it.
const char* WordOf(const Row& row, const char* value) {
  const bool is_known = value[0] >= '0' && value[0] <= '3' && !value[1];
  return is_known ? row.words[value[0] - '0'] : value;
}

}  // namespace

GpuOptions::~GpuOptions() {
  free(litert_);
  free(ours_);
}

char* GpuOptions::Copy(const char* toml, char** to) {
  static char empty[] = "";
  const size_t bytes = toml ? strlen(toml) + 1 : 0;
  *to = static_cast<char*>(bytes > 0 ? malloc(bytes) : nullptr);
  return *to ? static_cast<char*>(memcpy(*to, toml, bytes)) : empty;
}

void GpuOptions::Add(const char* key, const char* value) {
  if (count_ == kMost || !value) return;
  keys_[count_] = key;
  values_[count_++] = value;
}

void GpuOptions::TakeLiteRts(const char* toml) {
  char* rest = Copy(toml, &litert_);
  bool is_kept = true;
  const char* folder = nullptr;
  const char* token = nullptr;
  for (char *key, *value; NextPair(&rest, &key, &value);) {
    if (strcmp(key, "serialization_dir") == 0) folder = value;
    else if (strcmp(key, "model_cache_key") == 0) token = value;
    else if (strcmp(key, "serialize_program_cache") == 0) is_kept = strcmp(value, "true") == 0;
    else if (const Row* row = Find(key)) Add(key, WordOf(*row, value));
    else SayInstead(key, value);
  }
  if (!folder || !is_kept) return;
  Add("serialization_dir", folder);
  Add("model_token", token);
}

void GpuOptions::TakeOurs(const char* toml) {
  char* rest = Copy(toml, &ours_);
  for (char *key, *value; NextPair(&rest, &key, &value);) {
    const bool is_true = strcmp(value, "true") == 0;
    Add(key, is_true ? "1" : strcmp(value, "false") == 0 ? "0" : value);
  }
}

}  // namespace quadra
