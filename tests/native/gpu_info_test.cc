#include "delegate_native/device/gpu_info.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "delegate_native/device/quirks.h"
#include "gtest/gtest.h"

namespace quadra {
namespace {

GpuInfo Parsed(const std::string& json) {
  GpuInfo info;
  const Status status = ParseGpuInfo(json, &info);
  EXPECT_TRUE(status.ok()) << status.message();
  return info;
}

std::string ErrorOf(const std::string& json) {
  GpuInfo info;
  return ParseGpuInfo(json, &info).message();
}

GpuInfo Cpu(const char* device_name, const char* api_version, int vector_width) {
  GpuInfo info;
  info.vendor = "cpu";
  info.device_name = device_name;
  info.api_version = api_version;
  info.vector_width = vector_width;
  DecideTarget(&info);
  return info;
}

GpuInfo Gpu(const char* vendor, const char* device_name, const char* api_version) {
  GpuInfo info;
  info.vendor = vendor;
  info.device_name = device_name;
  info.api_version = api_version;
  info.max_image2d[0] = info.max_image2d[1] = 16384;
  DecideTarget(&info);
  return info;
}

TEST(GpuInfo, ReadsATargetFile) {
  const GpuInfo info = Parsed(R"({
    "name": "adreno-640", "vendor": "qualcomm", "opencl_version": "2.0",
    "extensions": ["cl_khr_fp16"], "max_work_group_size": 1024, "max_work_group": [1024, 1024, 64],
    "local_memory_bytes": 32768, "max_image2d": [16384, 16384],
    "max_image_buffer_width": 134217728, "max_buffer_bytes": 4294967296,
    "buffer_alignment_bytes": 64, "supports_fp16": true})");
  EXPECT_EQ(info.name, "adreno-640");
  EXPECT_EQ(info.opencl_version, "2.0");
  EXPECT_TRUE(info.Has("cl_khr_fp16"));
  EXPECT_FALSE(info.Has("cl_khr_fp1"));
  EXPECT_EQ(info.max_work_group[2], 64);
  EXPECT_EQ(info.max_buffer_bytes, int64_t{1} << 32);
  EXPECT_TRUE(info.supports_images);
  EXPECT_EQ(info.storage, Storage::kImage2d);
  EXPECT_EQ(info.vector_width, 4);
  EXPECT_FALSE(info.is_cpu());
}

TEST(GpuInfo, StatedDecisionsWin) {
  const GpuInfo info = Parsed(R"({"vendor": "qualcomm", "max_image2d": [8, 8], "storage": "buffer",
                                  "separate_buffers": true, "one_program": true})");
  EXPECT_EQ(info.storage, Storage::kBuffer);
  EXPECT_TRUE(info.separate_buffers);
  EXPECT_TRUE(info.one_program);
}

TEST(GpuInfo, ErrorsNameTheKey) {
  EXPECT_EQ(ErrorOf(R"({"nmae": "x"})"), "key \"nmae\" is unknown");
  EXPECT_EQ(ErrorOf(R"({"name": 1})"), "key \"name\" must be a string, and is a number");
  EXPECT_EQ(ErrorOf(R"({"max_image2d": [1]})"), "key \"max_image2d\" has 1 numbers instead of 2");
  EXPECT_EQ(ErrorOf(R"({"max_image2d": [1, "2"]})"),
            "key \"max_image2d\" must be a number, and is a string");
  EXPECT_EQ(ErrorOf(R"({"extensions": [1]})"),
            "key \"extensions\" must be a list of strings, and is a number");
  for (const char* number : {"0", "-1", "1.5", "3000000000"}) {
    EXPECT_NE(ErrorOf(std::string("{\"max_work_group_size\": ") + number + "}"), "") << number;
  }
  EXPECT_NE(ErrorOf(R"({"storage": "texture"})").find("\"storage\""), std::string::npos);
  EXPECT_NE(ErrorOf(R"({"storage": "image2d"})").find("no images"), std::string::npos);
  EXPECT_NE(ErrorOf(R"({"vector_width": 5})").find("\"vector_width\""), std::string::npos);
  EXPECT_NE(ErrorOf(R"({"quirks": {"bad_weather": true}})").find("bad_weather"), std::string::npos);
  EXPECT_NE(ErrorOf("[]"), "");
  EXPECT_NE(ErrorOf("{"), "");
}

TEST(GpuInfo, WhatItPrintsItReads) {
  GpuInfo info = Cpu("pthread-skylake-avx512-AMD EPYC",
                     "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-skylake-avx512", 16);
  info.extensions = {"cl_khr_fp16", "cl_khr_spir"};
  info.max_buffer_bytes = int64_t{1} << 40;
  info.quirks.emplace_back("memory_checker_sees_whole_buffers", false);
  EXPECT_EQ(ToJson(Parsed(ToJson(info))), ToJson(info));
}

TEST(Decide, CpuShapesFollowWhatPoclCompilesFor) {
  const std::string prefix = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-";
  struct {
    const char* cpu;
    const char* name;
    int width, registers;
  } cases[] = {{"skylake-avx512", "host-avx512", 16, 32},
               {"znver4", "host-avx512", 16, 32},
               {"haswell", "host-avx2", 8, 16},
               {"skylake", "host-avx2", 8, 16},
               {"znver3", "host-avx2", 8, 16},
               {"sandybridge", "host-avx", 8, 16},
               {"athlon64", "host-sse", 8, 8}};
  for (const auto& c : cases) {
    // The driver's width stays 16 when PoCL is told to compile for less.
    const GpuInfo info = Cpu("pthread-AMD EPYC", (prefix + c.cpu).c_str(), 16);
    EXPECT_EQ(info.name, c.name) << c.cpu;
    EXPECT_EQ(info.vector_width, c.width) << c.cpu;
    EXPECT_EQ(info.vector_registers, c.registers) << c.cpu;
    EXPECT_TRUE(info.one_program && info.shares_host_memory && info.is_cpu());
  }
}

TEST(Decide, AnotherCpuRuntimeIsBelieved) {
  const GpuInfo info = Cpu("Some CPU", "OpenCL 3.0 (Build 0)", 16);
  EXPECT_EQ(info.vector_width, 16);
  EXPECT_EQ(info.vector_registers, 32);
  EXPECT_FALSE(info.one_program);
  EXPECT_FALSE(info.shares_host_memory);
}

// Work-items are its lanes, and it ends loops after 65535 trips.
TEST(Decide, MesaOnACpuGetsKernelsForGpus) {
  const GpuInfo info = Cpu("llvmpipe (LLVM 19.1.7, 256 bits)", "OpenCL 3.0", 8);
  EXPECT_FALSE(info.is_cpu());
  EXPECT_EQ(info.vector_width, 4);
  EXPECT_FALSE(info.shares_host_memory);
}

// What the kernels of ops ask of a target, instead of whether it is a CPU.
TEST(Decide, KernelsAreShapedByWhatFollowsFromTheTarget) {
  const GpuInfo pocl = Cpu("pthread-AMD EPYC", "OpenCL 3.0 PoCL HSTR: x86_64-haswell", 8);
  EXPECT_EQ(pocl.most_trips(), kNoLimit);
  EXPECT_GT(pocl.results_per_item(), 1);
  EXPECT_EQ(pocl.wanted_group_size(), 1);
  EXPECT_TRUE(pocl.outlines_bodies());
  EXPECT_FALSE(pocl.divides_reductions() || pocl.runs_items_together());
  // Its work-items are lanes: small, and many of them are no gain.
  const GpuInfo llvmpipe = Cpu("llvmpipe (LLVM 19.1.7, 256 bits)", "OpenCL 3.0", 8);
  const GpuInfo mali = Gpu("ARM", "Mali-G78", "OpenCL 3.0 v1.r32p1");
  for (const GpuInfo& gpu : {llvmpipe, mali}) {
    EXPECT_EQ(gpu.most_trips(), kMostTrips);
    EXPECT_EQ(gpu.results_per_item(), 1);
    EXPECT_EQ(gpu.wanted_group_size(), 64);
    EXPECT_FALSE(gpu.outlines_bodies());
    EXPECT_TRUE(gpu.divides_reductions());
    EXPECT_EQ(gpu.runs_items_together(), gpu.vendor == "arm");
  }
}

TEST(Decide, GpusAreNamedAndGetTheirStorage) {
  const GpuInfo adreno = Gpu("QUALCOMM", "QUALCOMM Adreno(TM)", "OpenCL 2.0 Adreno(TM) 640");
  EXPECT_EQ(adreno.vendor, "qualcomm");
  EXPECT_EQ(adreno.name, "adreno-640");
  EXPECT_EQ(adreno.storage, Storage::kImage2d);
  const GpuInfo mali = Gpu("ARM", "Mali-G78", "OpenCL 3.0 v1.r32p1");
  EXPECT_EQ(mali.vendor, "arm");
  EXPECT_EQ(mali.name, "mali-g78");
  const GpuInfo geforce = Gpu("NVIDIA Corporation", "NVIDIA H200", "OpenCL 3.0 CUDA");
  EXPECT_EQ(geforce.vendor, "nvidia");
  EXPECT_EQ(geforce.storage, Storage::kBuffer);
  EXPECT_EQ(geforce.vector_width, 4);
  const GpuInfo radeon = Gpu("Advanced Micro Devices, Inc.", "gfx1030", "OpenCL 2.0");
  EXPECT_EQ(radeon.vendor, "amd");
}

TEST(Decide, HowLargeWorkItemsAreFollowsFromTheVendor) {
  const GpuInfo adreno = Parsed(R"({"vendor": "qualcomm"})");
  const GpuInfo mali = Parsed(R"({"vendor": "arm"})");
  const GpuInfo unknown = Parsed("{}");
  EXPECT_EQ(adreno.vector_registers, 24);
  EXPECT_EQ(mali.vector_registers, 16);
  EXPECT_EQ(unknown.vector_registers, 16);
  EXPECT_LT(adreno.enough_work_items, mali.enough_work_items);
  EXPECT_LT(mali.enough_work_items, unknown.enough_work_items);
  EXPECT_EQ(Parsed(R"({"vendor": "arm", "enough_work_items": 7})").enough_work_items, 7);
  EXPECT_GT(adreno.winograd_channels, mali.winograd_channels);
  EXPECT_GT(adreno.winograd_tiles, mali.winograd_tiles);
  EXPECT_EQ(mali.winograd_channels, unknown.winograd_channels);
  EXPECT_EQ(Parsed(R"({"vendor": "arm", "winograd_tiles": 7})").winograd_tiles, 7);
  EXPECT_LT(mali.trips_per_second, adreno.trips_per_second);
  EXPECT_EQ(mali.trips_per_second, unknown.trips_per_second);
}

TEST(Decide, DriversAreFlushedAsOftenAsPublishedDelegatesDo) {
  const auto every = [](const std::string& json) { return Parsed("{" + json + "}").flush_every; };
  const std::string qualcomm = R"("vendor": "qualcomm", "name": "adreno-)";
  EXPECT_EQ(every(qualcomm + "630\""), 16);
  EXPECT_EQ(every(qualcomm + "506\""), 16);
  EXPECT_EQ(every(qualcomm + "640\""), 32);
  EXPECT_EQ(every(R"("vendor": "qualcomm")"), 32);
  EXPECT_EQ(Gpu("QUALCOMM", "QUALCOMM Adreno(TM)", "OpenCL 2.0 Adreno(TM) 618").flush_every, 16);
  EXPECT_EQ(Gpu("QUALCOMM", "QUALCOMM Adreno(TM)", "OpenCL 3.0 Adreno(TM) 740").flush_every, 32);
  EXPECT_EQ(every(R"("vendor": "arm")"), 24);
  EXPECT_EQ(Gpu("Imagination", "PowerVR GE8320", "OpenCL 1.2").flush_every, 16);
  EXPECT_EQ(Gpu("Imagination", "PowerVR Rogue GM9446", "OpenCL 1.2").flush_every, 4);
  EXPECT_EQ(Gpu("Imagination", "PowerVR B-Series BXM-8-256", "OpenCL 3.0").flush_every, 16);
  EXPECT_EQ(Gpu("ARM", "Mali-G78", "OpenCL 3.0 CLVK on Vulkan").flush_every, 0);
  EXPECT_EQ(Gpu("NVIDIA Corporation", "NVIDIA H200", "OpenCL 3.0 CUDA").flush_every, 32);
  const std::string gles = R"("api": "gles", )";
  EXPECT_EQ(every(gles + qualcomm + "630-gles\""), 10);
  EXPECT_EQ(every(gles + R"("vendor": "Qualcomm", "device_name": "Adreno (TM) 630")"), 10);
  EXPECT_EQ(every(gles + R"("vendor": "Qualcomm", "device_name": "Adreno (TM) 740")"), 1);
  EXPECT_EQ(every(gles + R"("vendor": "arm")"), 24);
  EXPECT_EQ(every(R"("api": "gles", "vendor": "Mesa")"), 0);
  EXPECT_EQ(every(R"("vendor": "arm", "flush_every": 3)"), 3);
}

TEST(Quirks, AdrenoReadsBuffersAsImages) {
  const std::string adreno = R"("vendor": "qualcomm", "max_image_buffer_width": 65536)";
  EXPECT_TRUE(Parsed(R"({"api": "gles", )" + adreno + "}").reads_buffers_as_images);
  EXPECT_TRUE(Parsed("{" + adreno + "}").reads_buffers_as_images);
  EXPECT_FALSE(Parsed(R"({"api": "gles", "vendor": "qualcomm"})").reads_buffers_as_images);
}

// An OpenCL device that makes images over buffers, with what else it says of itself.
ImageMemory ImageMemoryOf(const std::string& json) {
  return Parsed(R"({"max_image2d": [8, 8], "image_pitch_alignment": 64,
                    "image_base_alignment": 64, )" +
                json + "}")
      .image_memory;
}

TEST(Decide, ImagesLieInTheArenaWhereTheDriverMakesThemOverBuffers) {
  EXPECT_EQ(ImageMemoryOf(R"("vendor": "qualcomm")"), ImageMemory::kArena);
  EXPECT_EQ(ImageMemoryOf(R"("vendor": "nobody")"), ImageMemory::kArena);
  EXPECT_EQ(ImageMemoryOf(R"("vendor": "qualcomm", "api": "gles")"), ImageMemory::kOwn);
  EXPECT_EQ(ImageMemoryOf(R"("image_memory": "buffers")"), ImageMemory::kBuffers);
  EXPECT_EQ(Parsed(R"({"max_image2d": [8, 8]})").image_memory, ImageMemory::kOwn);
  EXPECT_EQ(Parsed(R"({"max_image2d": [8, 8], "image_pitch_alignment": 64})").image_memory,
            ImageMemory::kOwn);
  EXPECT_NE(ErrorOf(R"({"image_memory": "arena"})").find("no images over buffers"),
            std::string::npos);
  EXPECT_EQ(ErrorOf(R"({"image_memory": "heap"})"),
            "key \"image_memory\" is \"heap\" instead of \"own\" or \"buffers\" or \"arena\"");
}

TEST(Quirks, SomeDriversMakeWrongImagesOverPartsOfBuffers) {
  for (const char* device :
       {R"("vendor": "arm", "device_name": "Mali-G76")", R"("vendor": "arm", "name": "mali-g51")",
        R"("vendor": "ARM", "device_name": "Mali-T880")", R"("vendor": "NVIDIA Corporation")",
        R"("vendor": "imagination", "driver": "1.15@6133109")"}) {
    EXPECT_EQ(ImageMemoryOf(device), ImageMemory::kBuffers) << device;
    const std::string off = R"("quirks": {"images_over_parts_of_buffers_are_wrong": false}, )";
    EXPECT_EQ(ImageMemoryOf(off + device), ImageMemory::kArena) << device;
  }
  for (const char* device :
       {R"("vendor": "arm", "device_name": "Mali-G610")",
        R"("vendor": "arm", "device_name": "Mali-G78 MC20")",
        R"("vendor": "arm", "name": "mali-g715")",
        R"("vendor": "arm", "device_name": "Mali-G720-Immortalis MC12")", R"("vendor": "qualcomm")",
        R"("vendor": "imagination", "driver": "24.2@6643903")"}) {
    EXPECT_EQ(ImageMemoryOf(device), ImageMemory::kArena) << device;
  }
}

TEST(Quirks, AdrenoTellsTheRowsOfImagesInBytes) {
  const std::string images = R"("max_image2d": [8, 8], "image_base_alignment": 64, )";
  const auto row_bytes = [&](const std::string& json) {
    return Parsed("{" + images + json + "}").image_row_bytes;
  };
  EXPECT_EQ(row_bytes(R"("vendor": "qualcomm", "image_pitch_alignment": 64)"), 64);
  EXPECT_EQ(row_bytes(R"("vendor": "qualcomm", "image_pitch_alignment": 1)"), 0);
  EXPECT_EQ(row_bytes(R"("vendor": "qualcomm", "api": "gles", "image_pitch_alignment": 64)"), 0);
  EXPECT_EQ(row_bytes(R"("vendor": "arm", "image_pitch_alignment": 64)"), 0);
  EXPECT_EQ(row_bytes(R"("vendor": "qualcomm", "image_pitch_alignment": 64,
                         "quirks": {"image_pitch_is_told_in_bytes": false})"),
            0);
}

TEST(RunOn, ImagesLieWhereBothDriversMakeThem) {
  const std::string phone = R"({"vendor": "qualcomm", "max_image2d": [8, 8],
                                "image_pitch_alignment": 64, "image_base_alignment": 32})";
  GpuInfo device, target = Parsed(phone);
  device.max_image2d[0] = device.max_image2d[1] = 16;
  device.image_pitch_alignment = 1;
  device.image_base_alignment = 128;
  DecideTarget(&device);
  RunOn(device, &target);
  EXPECT_EQ(target.image_memory, ImageMemory::kArena);
  EXPECT_EQ(target.image_pitch_alignment, 64);
  EXPECT_EQ(target.image_base_alignment, 128);
  EXPECT_EQ(target.image_row_bytes, 64);
  device.image_pitch_alignment = 32;
  RunOn(device, &target);
  EXPECT_EQ(target.image_row_bytes, 32 * 16) << "a device that tells them in pixels";
  device.image_pitch_alignment = 0;
  DecideTarget(&device);
  RunOn(device, &target);
  EXPECT_EQ(target.image_memory, ImageMemory::kOwn);
}

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What a file says without its decisions. The width of a CPU's vectors is a fact.
std::string FactsOf(const std::string& text) {
  const bool is_cpu = text.find(R"("vendor": "cpu")") != std::string::npos;
  const std::regex decisions(std::string(R"(\n *"(storage|image_memory|image_row_bytes|)") +
                             (is_cpu ? "" : "vector_width|") +
                             "vector_registers|enough_work_items|winograd_channels|winograd_tiles|"
                             "trips_per_second|reads_buffers_as_images|flat_group|"
                             "has_timer_queries|compiles_at_dispatch|flush_every|shares_sums|"
                             "one_program|separate_buffers|whole_buffers|"
                             "shares_host_memory|why)\": [^\n]*");
  const std::string facts = std::regex_replace(text, decisions, "");
  return std::regex_replace(facts, std::regex(R"(,(\s*\}))"), "$1");
}

// A phone gets the decisions of DecideTarget: a file that states others is about no phone.
TEST(TargetFiles, StateOnlyDecisionsThatFollowFromTheirFactsOrSayWhyNot) {
  int files = 0, with_reasons = 0;
  for (const auto& file : std::filesystem::directory_iterator("host_tools/request/targets")) {
    const std::string text = ContentOf(file.path());
    const GpuInfo stated = Parsed(text), decided = Parsed(FactsOf(text));
    std::smatch found;
    std::regex_search(text, found, std::regex(R"r("why": "([^"]*)")r"));
    const std::string why = found[1];
    ++files;
    with_reasons += !why.empty();
    EXPECT_EQ(ToJson(stated) == ToJson(decided), why.empty()) << file.path() << ": " << why << "\n"
                                                              << ToJson(stated) << "\n"
                                                              << ToJson(decided);
  }
  EXPECT_GE(files, 15);
  EXPECT_EQ(with_reasons, 4);
}

TEST(Quirks, AreShownAndCanBeSwitched) {
  const std::string oclgrind = R"("device_name": "Oclgrind Simulator")";
  EXPECT_TRUE(Parsed("{" + oclgrind + "}").separate_buffers);
  const GpuInfo off =
      Parsed("{" + oclgrind + R"(, "quirks": {"memory_checker_sees_whole_buffers": false}})");
  EXPECT_FALSE(off.separate_buffers);
  EXPECT_TRUE(Parsed(R"({"vendor": "nvidia"})").whole_buffers);
  EXPECT_FALSE(Parsed(R"({"vendor": "nvidia", "api": "gles"})").whole_buffers);
  const GpuInfo on = Parsed(R"({"quirks": {"compiler_starts_slowly": true}})");
  EXPECT_TRUE(on.one_program);
  EXPECT_FALSE(Parsed("{}").one_program);
}

}  // namespace
}  // namespace quadra
