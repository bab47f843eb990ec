// The decisions that follow from the facts of a device. Vendors' and CPUs' names are known here and
// in quirks.cc only.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "delegate_native/device/gpu_info.h"
#include "delegate_native/device/quirks.h"

namespace quadra {
namespace {

struct Vendor {
  const char* name;
  const char* words;  // any of them in the driver's vendor or device name, in small letters
  Storage storage;
  // Registers of a work-item, in vectors of four, while the GPU still has other work to do as it
  // waits for memory: 64 numbers are all that Mali has; with 96 half of Adreno's 16 waves fit.
  int registers;
  int enough_work_items;  // Adreno: three waves of 64 for each of six processors
  // Those of the slowest GPUs still in use, in millions: a trip of the largest tile has 128
  // multiply-adds, and a kernel reaches a quarter of what the GPU can do.
  int trips_per_second;
  // Below these, published delegates find on phones, what Winograd's tiles take in memory costs
  // more than its products save.
  int winograd_channels, winograd_tiles;
};

constexpr Vendor kVendors[] = {
#if QUADRA_CPU_SHAPES
    // A CPU that a stand-in shows as a GPU still says whose it is.
    {"cpu", "genuineintel authenticamd", Storage::kBuffer, 16, 4096, 30, 64, 4},
#endif
    {"qualcomm", "qualcomm adreno", Storage::kImage2d, 24, 1152, 100, 128, 128},
    {"imagination", "imagination powervr", Storage::kImage2d, 16, 4096, 30, 64, 32},
    {"nvidia", "nvidia", Storage::kBuffer, 24, 4096, 1000, 64, 32},
    {"intel", "intel", Storage::kBuffer, 24, 4096, 300, 64, 32},
    {"samsung", "samsung xclipse", Storage::kBuffer, 24, 4096, 300, 32, 32},
    {"amd", "advanced-micro amd radeon", Storage::kBuffer, 24, 4096, 1000, 32, 32},
    {"arm", "arm mali immortalis", Storage::kImage2d, 16, 2048, 30, 64, 32},
};

struct Isa {
  const char* name;
  const char* words;  // any of them in the compiler's target, as PoCL names it
  int width;
  int registers;
};

// PoCL says what it compiles for; the CPU may offer more, and the driver's vector width misleads
// when PoCL is told to use less (POCL_KERNELLIB_NAME). Earlier rows win: skylake-avx512.
constexpr Isa kIsas[] = {
    {"avx512",
     "avx512 icelake cascadelake cooperlake cannonlake tigerlake rocketlake sapphirerapids "
     "emeraldrapids graniterapids znver4 znver5 x86-64-v4",
     16, 32},
    {"avx2", "avx2 haswell broadwell skylake alderlake raptorlake znver x86-64-v3 bdver4", 8, 16},
    {"avx", "sandybridge ivybridge bdver btver2", 8, 16},
    // Half as wide: two registers stand for one.
    {"neon", "aarch64", 8, 16},
    {"sse", "x86_64 i686", 8, 8},
};

// How often published delegates tell a driver to begin with the dispatches that it has: rows for
// those only that they name, and the first that fits. Theirs differ by API.
struct Flushes {
  Api api;
  // Not pointers, each of which the loader would have to set.
  char vendor[12];              // empty: any
  char word[7];                 // in the device's names or its version
  int first_model, last_model;  // of an Adreno; 0: any
  int every;
};
constexpr Flushes kFlushes[] = {
    // LiteRT, tflite/delegates/gpu/cl/inference_context.cc, ExecutionHints::Init. clvk knows itself
    // when to begin; Adreno 630 and older have little room for commands.
    {Api::kOpenCl, "", "clvk", 0, 0, 0},
    {Api::kOpenCl, "arm", "", 0, 0, 24},
    {Api::kOpenCl, "imagination", "ge8", 0, 0, 16},
    {Api::kOpenCl, "imagination", "rogue", 0, 0, 4},
    {Api::kOpenCl, "imagination", "gm9", 0, 0, 4},
    {Api::kOpenCl, "imagination", "", 0, 0, 16},
    {Api::kOpenCl, "qualcomm", "adreno", 1, 630, 16},
    // LiteRT, tflite/delegates/gpu/gl/command_queue.cc, NewCommandQueue: older drivers have a
    // defect otherwise; Adreno 630 is up to twice as fast so. (It says the same of 505, of which
    // ML Drift's OpenGL inference context, InitFromGpuModel, says that one like it fails.)
    {Api::kGles, "qualcomm", "adreno", 630, 630, 10},
    {Api::kGles, "qualcomm", "", 0, 0, 1},
    // ML Drift, at the same place.
    {Api::kGles, "arm", "", 0, 0, 24},
};
// Where nothing is published. An OpenCL driver that keeps commands until it is told would begin
// when all of a long plan is there.
constexpr int kFlushEvery = 32;

std::string Lower(const std::string& text) {
  std::string lower;
  for (unsigned char c : text) lower += c == ' ' ? '-' : static_cast<char>(tolower(c));
  return lower;
}

// Whether `text` (in small letters) holds any of the words.
bool HoldsAny(const std::string& text, const char* words) {
  for (const char* word = words; *word;) {
    const size_t size = strcspn(word, " ");
    if (text.find(std::string(word, size)) != std::string::npos) return true;
    word += size;
    word += strspn(word, " ");
  }
  return false;
}

int FlushEvery(const GpuInfo& info) {
  const std::string text = Lower(info.name + " " + info.api_version + " " + info.device_name);
  constexpr int kMost = 10000;
  int model = 0;
  for (size_t at = text.find_first_of("0123456789", text.find("adreno"));
       at < text.size() && text[at] >= '0' && text[at] <= '9' && model < kMost; ++at) {
    model = model * 10 + text[at] - '0';
  }
  for (const Flushes& row : kFlushes) {
    if (row.api != info.api || (*row.vendor && info.vendor != row.vendor)) continue;
    if (text.find(row.word) == std::string::npos) continue;
    if (row.last_model == 0 || (model >= row.first_model && model <= row.last_model)) {
      return row.every;
    }
  }
  return info.api == Api::kOpenCl ? kFlushEvery : 0;
}

// "Mali-G78 MP20" -> "mali-g78-mp20".
std::string Slug(const std::string& text) {
  std::string slug;
  for (unsigned char c : text) {
    if (isalnum(c)) slug += static_cast<char>(tolower(c));
    else if (!slug.empty() && slug.back() != '-') slug += '-';
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug;
}

// Adreno's model number is in its version only: "OpenCL 2.0 Adreno(TM) 640".
std::string NameOf(const GpuInfo& info) {
  const size_t adreno = info.api_version.find("Adreno(TM) ");
  if (adreno != std::string::npos) return Slug("adreno " + info.api_version.substr(adreno + 11));
  const std::string name = Slug(info.device_name);
  return name.empty() ? "unnamed" : name;
}

void DecideCpu(GpuInfo* info) {
  const std::string target = Lower(info->api_version + " " + info->device_name);
  std::string name = info->vector_width >= 16 ? "avx512" : "avx2";
  info->vector_width = info->vector_width >= 16 ? 16 : 8;
  info->vector_registers = info->vector_width * 2;
  for (const Isa& isa : kIsas) {
    if (!HoldsAny(target, isa.words)) continue;
    name = isa.name;
    info->vector_width = isa.width;
    info->vector_registers = isa.registers;
    break;
  }
  info->shares_host_memory = HoldsAny(target, "pocl");
  info->trips_per_second = kNoLimit;
  info->winograd_channels = 64;
  info->winograd_tiles = 4;
  if (info->name.empty()) info->name = "host-" + name;
}

}  // namespace

void DecideTarget(GpuInfo* info) {
  ClampFacts(info);
  const std::string words = Lower(info->vendor + " " + info->device_name);
  info->supports_images = info->max_image2d[0] > 0 && info->max_image2d[1] > 0;
  for (int& most : info->max_groups) {
    if (most == 0) most = info->api == Api::kGles ? 65535 : INT32_MAX;
  }
  info->storage = Storage::kBuffer;
  info->image_memory = info->api == Api::kOpenCl && info->makes_images_of_buffers()
                           ? ImageMemory::kArena
                           : ImageMemory::kOwn;
  info->image_row_bytes = 0;
  info->has_timer_queries = info->Has("GL_EXT_disjoint_timer_query");
  for (const Vendor& vendor : kVendors) {
    if (info->vendor == "cpu" || !HoldsAny(words, vendor.words)) continue;
    info->vendor = vendor.name;
    info->vector_registers = vendor.registers;
    info->enough_work_items = vendor.enough_work_items;
    info->winograd_channels = vendor.winograd_channels;
    info->winograd_tiles = vendor.winograd_tiles;
    info->trips_per_second = int64_t{vendor.trips_per_second} * 1'000'000;
    if (info->supports_images) info->storage = vendor.storage;
    break;
  }
  // Mesa's llvmpipe makes work-items its lanes, in either API, and ends long loops.
  if (kHasCpuShapes && info->vendor == "cpu" && info->api == Api::kOpenCl &&
      !HoldsAny(words, "llvmpipe")) {
    DecideCpu(info);
  } else {
    info->vector_width = 4;
    if (info->name.empty()) info->name = NameOf(*info);
  }
  info->flush_every = FlushEvery(*info);
  ApplyQuirks(info);
}

void RunOn(const GpuInfo& device, GpuInfo* target) {
  const auto lower = [](auto* limit, auto most) { *limit = std::min(*limit, most); };
  const bool same_api = target->api == device.api;
  target->api = device.api;
  // How texts are best compiled is the matter of the driver that compiles them.
  target->one_program = device.one_program;
  target->flush_every = device.flush_every;
  lower(&target->max_work_group_size, device.max_work_group_size);
  for (int i = 0; i < 3; ++i) {
    lower(&target->max_work_group[i], device.max_work_group[i]);
    lower(&target->max_groups[i], device.max_groups[i]);
  }
  lower(&target->local_memory_bytes, device.local_memory_bytes);
  lower(&target->max_buffer_bytes, device.max_buffer_bytes);
  target->buffer_alignment_bytes =
      std::max(target->buffer_alignment_bytes, device.buffer_alignment_bytes);
  for (int i = 0; i < 2; ++i) lower(&target->max_image2d[i], device.max_image2d[i]);
  target->supports_images = target->supports_images && device.supports_images;
  if (!target->supports_images) target->storage = Storage::kBuffer;
  lower(&target->max_image_buffer_width, device.max_image_buffer_width);
  lower(&target->image_memory, device.image_memory);
  const auto raise = [](int* alignment, int least) { *alignment = std::max(*alignment, least); };
  raise(&target->image_pitch_alignment, device.image_pitch_alignment);
  raise(&target->image_base_alignment, device.image_base_alignment);
  constexpr int kPixelBytes = 16;
  if (target->image_row_bytes > 0) {
    raise(&target->image_row_bytes, device.image_row_bytes > 0
                                        ? device.image_row_bytes
                                        : device.image_pitch_alignment * kPixelBytes);
  }
  if (device.api != Api::kGles) {
    target->reads_buffers_as_images =
        target->reads_buffers_as_images && same_api && target->max_image_buffer_width > 0;
    return;
  }
  target->vector_width = 4;  // the language has no wider vectors
  if (same_api) {
    // A target of this API says itself what its texts are to be like.
    target->reads_buffers_as_images =
        target->reads_buffers_as_images && device.max_image_buffer_width > 0;
    lower(&target->flat_group, std::min(device.max_work_group[0], device.max_work_group_size));
    lower(&target->max_storage_blocks, device.max_storage_blocks);
    lower(&target->max_image_units, device.max_image_units);
    lower(&target->max_output_resources, device.max_output_resources);
    lower(&target->max_texture_units, device.max_texture_units);
    return;
  }
  target->reads_buffers_as_images = device.reads_buffers_as_images;
  target->max_image_buffer_width = device.max_image_buffer_width;
  target->flat_group = device.flat_group;
  target->max_storage_blocks = device.max_storage_blocks;
  target->max_image_units = device.max_image_units;
  target->max_output_resources = device.max_output_resources;
  target->max_texture_units = device.max_texture_units;
}

}  // namespace quadra
