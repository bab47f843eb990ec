#include "delegate_native/device/quirks.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "delegate_native/base/texts.h"

namespace quadra {
namespace {

bool Contains(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

bool MakesWrongImagesOfParts(const GpuInfo& info) {
  if (info.api != Api::kOpenCl) return false;
  if (info.vendor == "nvidia") return true;
  if (info.vendor == "imagination") return strtol(info.driver.c_str(), nullptr, 10) <= 23;
  if (info.vendor != "arm") return false;
  std::string names = info.device_name + " " + info.name;
  for (char& letter : names) letter = static_cast<char>(tolower(letter));
  if (Contains(names, "mali-t")) return true;
  for (const char* old : {"g31", "g51", "g52", "g71", "g72", "g76"}) {
    const size_t at = names.find(std::string("mali-") + old);
    // Newer ones have three digits.
    if (at != std::string::npos && !isdigit(static_cast<unsigned char>(names[at + 8]))) return true;
  }
  return false;
}

const bool* Switch(const GpuInfo& info, const char* symptom) {
  for (const auto& quirk : info.quirks) {
    if (quirk.first == symptom) return &quirk.second;
  }
  return nullptr;
}

}  // namespace

const std::vector<Quirk>& Quirks() {
  static const std::vector<Quirk>& quirks = *new std::vector<Quirk>{
      // PoCL: each program costs 90 ms more than a kernel in one, and one lock guards the compiler.
      {QUADRA_TEXT("compiler_starts_slowly"),
       [](const GpuInfo& info) { return Contains(info.api_version, "PoCL"); },
       [](GpuInfo* info) { info->one_program = true; }},
      // llvmpipe: a read of a storage block is four reads for each lane, one of an image a gather.
      // Adreno: images go through the texture unit, with a cache of its own, which reads four
      // numbers at once and makes floats of halves.
      {QUADRA_TEXT("storage_blocks_are_read_slowly"),
       [](const GpuInfo& info) {
         const bool is_llvmpipe = info.api == Api::kGles && Contains(info.device_name, "llvmpipe");
         return is_llvmpipe || info.vendor == "qualcomm";
       },
       [](GpuInfo* info) { info->reads_buffers_as_images = info->max_image_buffer_width > 0; }},
      // Published delegates make no image over a part of a buffer with PowerVR's drivers up to 23,
      // NVIDIA's, and those of Mali before Valhall: some of them give wrong numbers.
      {QUADRA_TEXT("images_over_parts_of_buffers_are_wrong"), MakesWrongImagesOfParts,
       [](GpuInfo* info) {
         info->image_memory = std::min(info->image_memory, ImageMemory::kBuffers);
       }},
      // Adreno: published delegates divide by the bytes of a pixel what the driver gives in pixels.
      {QUADRA_TEXT("image_pitch_is_told_in_bytes"),
       [](const GpuInfo& info) {
         return info.api == Api::kOpenCl && info.vendor == "qualcomm" &&
                info.image_pitch_alignment >= 16;
       },
       [](GpuInfo* info) { info->image_row_bytes = info->image_pitch_alignment; }},
      // llvmpipe computes lanes along x together, and idle ones cost as much as busy ones.
      {QUADRA_TEXT("lanes_lie_along_x_only"),
       [](const GpuInfo& info) { return Contains(info.device_name, "llvmpipe"); },
       [](GpuInfo* info) { info->flat_group = std::min(64, info->max_work_group[0]); }},
      // llvmpipe turns floats into halfs and back around each operation: minutes to compile, four
      // times as slow.
      {QUADRA_TEXT("half_arithmetic_is_emulated"),
       [](const GpuInfo& info) { return Contains(info.device_name, "llvmpipe"); },
       [](GpuInfo* info) { info->supports_fp16 = false; }},
      // llvmpipe has timer queries, and they answer 0 for what is no drawing.
      {QUADRA_TEXT("timer_queries_count_nothing"),
       [](const GpuInfo& info) { return Contains(info.device_name, "llvmpipe"); },
       [](GpuInfo* info) { info->has_timer_queries = false; }},
      // llvmpipe: 50 to 150 ms for each program, one after another. Another context does the same
      // meanwhile, and Mesa's cache has the code for all.
      {QUADRA_TEXT("machine_code_is_made_at_dispatch"),
       [](const GpuInfo& info) { return Contains(info.device_name, "llvmpipe"); },
       [](GpuInfo* info) { info->compiles_at_dispatch = true; }},
      // Oclgrind 19 to 21 crash when two threads build programs.
      {QUADRA_TEXT("compiler_crashes_in_threads"),
       [](const GpuInfo& info) { return Contains(info.device_name, "Oclgrind"); },
       [](GpuInfo* info) { info->one_program = true; }},
      // Oclgrind: an access that leaves its tensor but not the buffer goes unseen.
      {QUADRA_TEXT("memory_checker_sees_whole_buffers"),
       [](const GpuInfo& info) { return Contains(info.device_name, "Oclgrind"); },
       [](GpuInfo* info) { info->separate_buffers = true; }},
      // NVIDIA: a launch takes 25 to 40 us with parts of one buffer, and 9 with whole ones.
      {QUADRA_TEXT("parts_of_buffers_are_slow"),
       [](const GpuInfo& info) { return info.api == Api::kOpenCl && info.vendor == "nvidia"; },
       [](GpuInfo* info) { info->whole_buffers = true; }},
  };
  return quirks;
}

void ApplyQuirks(GpuInfo* info) {
  for (const Quirk& quirk : Quirks()) {
    const bool* stated = Switch(*info, quirk.symptom);
    if (stated ? !*stated : !quirk.shown_by(*info)) continue;
    quirk.mend(info);
    if (!stated) info->quirks.emplace_back(quirk.symptom, true);
  }
}

}  // namespace quadra
