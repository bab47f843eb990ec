// The facts of a GPU (or of the CPU that stands in for one): read from a driver or from a JSON
// file, so that a plan for a phone can be made on any machine.
#ifndef QUADRA_DEVICE_GPU_INFO_H_
#define QUADRA_DEVICE_GPU_INFO_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "delegate_native/base/cpu_shapes.h"
#include "delegate_native/base/status.h"

namespace quadra {

// The language that a plan's kernels are written in, and the API that runs them.
enum class Api : uint8_t { kOpenCl, kGles };

// Where activations live.
enum class Storage : uint8_t { kBuffer, kImage2d };

// Where activations lie that are images, the one that wants least of a driver first: objects of
// their own; buffers that images of any size share one after another; parts of one buffer.
enum class ImageMemory : uint8_t { kOwn, kBuffers, kArena };

// In libraries for phones no target is a CPU.
constexpr bool kHasCpuShapes = QUADRA_CPU_SHAPES;

// As a number of trips: a CPU has no watchdog.
constexpr int64_t kNoLimit = int64_t{1} << 40;
// Trips of all loops of one work-item together. GPUs' watchdogs end kernels that loop for long, and
// llvmpipe ends loops after 65535 trips without a word.
constexpr int64_t kMostTrips = 30000;

struct GpuInfo {
  std::string name;    // short name of the target: "host-avx512", "adreno-640"
  std::string vendor;  // "qualcomm", "arm", "nvidia", "intel", "amd", "imagination", "cpu", …
  Api api = Api::kOpenCl;
  std::string opencl_version;                    // "2.0"
  std::string device_name, driver, api_version;  // as the driver says
  std::vector<std::string> extensions;
  int max_work_group_size = 256;
  int max_work_group[3] = {256, 256, 64};
  int64_t local_memory_bytes = 16384;
  int64_t max_buffer_bytes = int64_t{128} << 20;
  int buffer_alignment_bytes = 128;  // of a part of a buffer that a kernel sees as its argument
  int max_image2d[2] = {0, 0};       // 0: no images
  int64_t max_image_buffer_width = 0;
  // OpenCL, in pixels: what rows of an image over a buffer, and its beginning there, are multiples
  // of; 0: there are no such images.
  int image_pitch_alignment = 0, image_base_alignment = 0;
  // Limits of one kernel, OpenGL ES only. The defaults are what version 3.1 promises.
  int max_storage_blocks = 4;    // buffers
  int max_image_units = 4;       // images that are written, buffers that are read as images
  int max_output_resources = 4;  // both together
  int max_texture_units = 16;    // images that are read
  int max_groups[3] = {0, 0,
                       0};  // of one dispatch; 0: what OpenGL ES 3.1 promises; OpenCL has no limit
  bool supports_fp16 = false;  // half arithmetic, not only half storage

  // Decisions that follow from the device; a JSON file may state them.
  bool supports_images = false;
  Storage storage = Storage::kBuffer;
  ImageMemory image_memory = ImageMemory::kOwn;  // at most
  // Rows of images over buffers are multiples of so many bytes; 0: of image_pitch_alignment pixels.
  int image_row_bytes = 0;
  int vector_width = 4;          // floats in one register: 4 on GPUs, 8 or 16 on CPUs
  int vector_registers = 16;     // how many such registers a kernel may count on
  int enough_work_items = 4096;  // fewer leave processors of a GPU idle
  // The least that a convolution of 3 x 3 pixels needs to gain by Winograd: channels of source and
  // result, and tiles of 4 x 4 results. No convolution has kNever channels.
  static constexpr int kNever = 1 << 20;
  int winograd_channels = 64, winograd_tiles = 32;
  // Loop iterations, of all work-items together, that it surely does in a second: what one dispatch
  // may have at most, for watchdogs end those that take long.
  int64_t trips_per_second = 30'000'000;
  bool reads_buffers_as_images = false;  // through images of one row of texels
  int flat_group = 0;  // OpenGL ES: work-items in one row, in groups of so many; 0: in three axes
  bool has_timer_queries =
      false;  // OpenGL ES: the driver measures; else each dispatch is waited for
  // OpenGL ES: machine code is made at a program's first dispatch, by the thread that dispatches.
  // That takes longer than a few inferences: texts that differ by little are one.
  bool compiles_at_dispatch = false;
  // The driver is told to begin after so many dispatches; 0: only where it is waited for.
  int flush_every = 0;
  bool shares_sums = true;          // groups of work-items may share sums (ops/split_sums.h)
  bool one_program = false;         // all kernels in one program
  bool separate_buffers = false;    // a buffer per tensor: lets a memory checker see overruns
  bool whole_buffers = false;       // tensors share buffers one after another, not parts of one
  bool shares_host_memory = false;  // kernels work on the caller's memory: nothing is copied
  // Workarounds by symptom (device/quirks.h): those that apply, and those switched by the file.
  std::vector<std::pair<std::string, bool>> quirks;

  bool Has(const char* extension) const;
  bool makes_images_of_buffers() const {
    return supports_images && image_pitch_alignment > 0 && image_base_alignment > 0;
  }
  // CPU-shaped: wide vectors in registers instead of many small work-items. Only the folders with
  // kernels for CPUs (ops/cpu_kernels.h) ask this and the next; others ask for what follows from
  // it.
  bool is_cpu() const { return kHasCpuShapes && vector_width > 4; }
  // Many small work-items are no gain: a driver that wants a flat grid goes through it in order. It
  // computes on a CPU.
  bool runs_items_serially() const { return kHasCpuShapes && flat_group > 0; }

  // Neighbouring work-items run at the same time: they share what they read, and each other's sums.
  bool runs_items_together() const { return !is_cpu() && !runs_items_serially(); }
  // A reduction to few results is divided, into steps or among the work-items of a group.
  bool divides_reductions() const { return !is_cpu(); }
  // The same among `items` work-items of a group.
  bool divides_reductions_by(int items) const {
    return divides_reductions() && items <= max_work_group_size && items <= max_work_group[0];
  }
  // Loop iterations of one work-item.
  int64_t most_trips() const { return is_cpu() ? kNoLimit : kMostTrips; }
  // How many results (vec4) a work-item is to make: on a CPU it costs as much as a hundred results.
  int results_per_item() const { return is_cpu() ? 512 : 1; }
  // How many work-items a group is to have where any number gives the same results.
  int wanted_group_size() const { return is_cpu() ? 1 : 64; }
  // So many floats between two kernels cost less than barriers: PoCL's caches hold them, and
  // llvmpipe's work-items that wait for each other are slow.
  int64_t cached_floats() const {
    return is_cpu() ? int64_t{1} << 20 : runs_items_serially() ? kNoLimit : 0;
  }
  // Addresses of 64 bits take several instructions.
  bool has_short_offsets() const { return !is_cpu(); }
  // A kernel's body is a function of its own, which its compiler compiles only once (PoCL).
  bool outlines_bodies() const { return is_cpu(); }
};

// Reads a target file and decides what it leaves open. Unknown keys and wrong types are errors that
// name the key.
Status ParseGpuInfo(const std::string& json, GpuInfo* info);
std::string ToJson(const GpuInfo& info);

// Puts the facts into the ranges that a target file has to keep: drivers may say anything.
void ClampFacts(GpuInfo* info);

// Sets the decisions (storage, vector width, …) from the facts; makes `vendor` the short word and
// names a target that has no name. For a CPU, `vector_width` comes in as the driver says.
void DecideTarget(GpuInfo* info);

// Another device's target is to run on `device`: in its language, within its limits.
void RunOn(const GpuInfo& device, GpuInfo* target);

}  // namespace quadra

#endif  // QUADRA_DEVICE_GPU_INFO_H_
