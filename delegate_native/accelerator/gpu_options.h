// LiteRT's opaque options as options of the delegate.
#ifndef QUADRA_ACCELERATOR_GPU_OPTIONS_H_
#define QUADRA_ACCELERATOR_GPU_OPTIONS_H_

#include <cstddef>

namespace quadra {

// Key/value strings for tflite_plugin_create_delegate, from texts of lines `key = value`: the TOML
// that LiteRT's options are written in. The strings live as long as this.
class GpuOptions {
 public:
  GpuOptions() = default;
  ~GpuOptions();
  GpuOptions(const GpuOptions&) = delete;
  GpuOptions& operator=(const GpuOptions&) = delete;

  // LiteRT's own options. What Quadra does otherwise than they say is logged. Null is fine.
  void TakeLiteRts(const char* toml);
  // Options by the delegate's names. Null is fine.
  void TakeOurs(const char* toml);

  const char* const* keys() const { return keys_; }
  const char* const* values() const { return values_; }
  size_t count() const { return count_; }

 private:
  char* Copy(const char* toml, char** to);
  void Add(const char* key, const char* value);

  static constexpr size_t kMost = 64;
  const char* keys_[kMost];
  const char* values_[kMost];
  size_t count_ = 0;
  char* litert_ = nullptr;
  char* ours_ = nullptr;
};

}  // namespace quadra

#endif  // QUADRA_ACCELERATOR_GPU_OPTIONS_H_
