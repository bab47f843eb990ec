#include "delegate_native/runtime/opencl/cl_context.h"

#include <algorithm>
#include <string>
#include <vector>

#include "delegate_native/base/functions.h"
#include "delegate_native/base/lean/clock.h"
#include "delegate_native/base/log.h"
#include "delegate_native/base/names.h"
#include "delegate_native/runtime/opencl/cl_host_device.h"

namespace quadra {
namespace {

constexpr const char* kExtensions = QUADRA_NAMES(
    "clEnqueueAcquireExternalMemObjectsKHR\n"
    "clEnqueueReleaseExternalMemObjectsKHR\n"
    "clImportMemoryARM\n");

std::string DeviceText(const ClApi& cl, cl_device_id device, cl_device_info what) {
  size_t size = 0;
  if (cl.GetDeviceInfo(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (cl.GetDeviceInfo(device, what, size, &text[0], nullptr) != CL_SUCCESS) return "";
  text.resize(std::min(text.find('\0'), text.size()));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

template <typename T>
T DeviceNumber(const ClApi& cl, cl_device_id device, cl_device_info what) {
  T value = 0;
  const cl_int code = cl.GetDeviceInfo(device, what, sizeof(value), &value, nullptr);
  return code == CL_SUCCESS ? value : 0;
}

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

void ReadImageLimits(const ClApi& cl, cl_device_id device, GpuInfo* info) {
  if (!DeviceNumber<cl_bool>(cl, device, CL_DEVICE_IMAGE_SUPPORT)) return;
  const auto size = [&](cl_device_info what) { return DeviceNumber<size_t>(cl, device, what); };
  info->max_image2d[0] = static_cast<int>(size(CL_DEVICE_IMAGE2D_MAX_WIDTH));
  info->max_image2d[1] = static_cast<int>(size(CL_DEVICE_IMAGE2D_MAX_HEIGHT));
  info->max_image_buffer_width = static_cast<int64_t>(size(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE));
  if (!info->Has("cl_khr_image2d_from_buffer") && info->opencl_version < "2") return;
  const auto pixels = [&](cl_device_info what) {
    return static_cast<int>(std::min(DeviceNumber<cl_uint>(cl, device, what), 1u << 20));
  };
  info->image_pitch_alignment = pixels(CL_DEVICE_IMAGE_PITCH_ALIGNMENT);
  info->image_base_alignment = pixels(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT);
}

GpuInfo ReadInfo(const ClApi& cl, cl_device_id device) {
  GpuInfo info;
  const cl_device_type type = DeviceNumber<cl_device_type>(cl, device, CL_DEVICE_TYPE);
  const bool cpu = (type & CL_DEVICE_TYPE_CPU) && !(type & CL_DEVICE_TYPE_GPU);
  info.vendor = cpu ? "cpu" : DeviceText(cl, device, CL_DEVICE_VENDOR);
  info.device_name = DeviceText(cl, device, CL_DEVICE_NAME);
  info.driver = DeviceText(cl, device, CL_DRIVER_VERSION);
  info.api_version = DeviceText(cl, device, CL_DEVICE_VERSION);
  const std::vector<std::string> version = Words(info.api_version);  // OpenCL 3.0 …
  if (version.size() > 1) info.opencl_version = version[1];
  info.extensions = Words(DeviceText(cl, device, CL_DEVICE_EXTENSIONS));
  info.max_work_group_size =
      static_cast<int>(DeviceNumber<size_t>(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  size_t sizes[16] = {1, 1, 1};
  cl.GetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(sizes), sizes, nullptr);
  for (int i = 0; i < 3; ++i) info.max_work_group[i] = static_cast<int>(sizes[i]);
  const auto bytes = [&](cl_device_info what) {
    return static_cast<int64_t>(DeviceNumber<cl_ulong>(cl, device, what));
  };
  info.local_memory_bytes = bytes(CL_DEVICE_LOCAL_MEM_SIZE);
  info.max_buffer_bytes = bytes(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  const cl_uint bits = DeviceNumber<cl_uint>(cl, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
  info.buffer_alignment_bytes = std::max(16, static_cast<int>(bits / 8));
  ReadImageLimits(cl, device, &info);
  info.supports_fp16 = info.Has("cl_khr_fp16");
  info.vector_width =
      static_cast<int>(DeviceNumber<cl_uint>(cl, device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT));
  DecideTarget(&info);
  return info;
}

// Larger is better; 0 cannot be used.
int64_t Rank(const ClApi& cl, cl_device_id device) {
  if (!DeviceNumber<cl_bool>(cl, device, CL_DEVICE_AVAILABLE) ||
      !DeviceNumber<cl_bool>(cl, device, CL_DEVICE_COMPILER_AVAILABLE)) {
    return 0;
  }
  const cl_device_type type = DeviceNumber<cl_device_type>(cl, device, CL_DEVICE_TYPE);
  const int64_t kind = type & CL_DEVICE_TYPE_GPU ? 3 : type & CL_DEVICE_TYPE_ACCELERATOR ? 2 : 1;
  const int64_t speed = int64_t{DeviceNumber<cl_uint>(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS)} *
                        DeviceNumber<cl_uint>(cl, device, CL_DEVICE_MAX_CLOCK_FREQUENCY);
  return (kind << 40) + std::min(speed, int64_t{1} << 39) + 1;
}

// The best of those devices that are better than `*best`.
void Choose(const ClApi& cl, const std::vector<cl_device_id>& devices, int64_t* best,
            cl_device_id* device) {
  for (cl_device_id d : devices) {
    const int64_t rank = Rank(cl, d);
    if (rank > *best) *best = rank, *device = d;
  }
}

Status ChooseDevice(const ClApi& cl, cl_device_id* device) {
  const char* next = "install an OpenCL driver (Debian: pocl-opencl-icd)";
  cl_uint count = 0;
  cl_int code = cl.GetPlatformIDs(0, nullptr, &count);
  if (code != CL_SUCCESS) return ClFailed("list the OpenCL platforms", code, next);
  if (count == 0) return DeviceFailed("list the OpenCL platforms: there is none; next: %s", next);
  std::vector<cl_platform_id> platforms(count);
  code = cl.GetPlatformIDs(count, platforms.data(), nullptr);
  if (code != CL_SUCCESS) return ClFailed("list the OpenCL platforms", code, next);
  int64_t best = 0;
  for (cl_platform_id p : platforms) {
    if (cl.GetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> devices(count);
    if (count == 0 || cl.GetDeviceIDs(p, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr)) {
      continue;
    }
    Choose(cl, devices, &best, device);
  }
  if (best > 0) return Status();
  return DeviceFailed("find an OpenCL device: %zu platforms, none has one that compiles; next: %s",
                      platforms.size(), next);
}

// The best device of a context that there is.
Status ChooseDeviceOf(const ClApi& cl, cl_context context, cl_device_id* device) {
  std::vector<cl_device_id> devices(16);
  size_t bytes = 0;
  cl_int code =
      cl.GetContextInfo(context, CL_CONTEXT_DEVICES, devices.size() * sizeof(cl_device_id),
                        static_cast<void*>(devices.data()), &bytes);
  if (code == CL_SUCCESS) code = cl.RetainContext(context);
  if (code != CL_SUCCESS) return ClFailed("use the app's OpenCL context", code);
  devices.resize(bytes / sizeof(cl_device_id));
  int64_t best = 0;
  Choose(cl, devices, &best, device);
  if (best > 0) return Status();
  cl.ReleaseContext(context);
  return DeviceFailed(
      "use the app's OpenCL context: none of its %zu devices compiles; next: make it for the GPU",
      devices.size());
}

}  // namespace

Status MakeClContext(const std::string& library, cl_context given,
                     std::shared_ptr<ClContext>* context) {
  const int64_t start = NowUs();
  auto made = std::make_shared<ClContext>();
  const ClApi& cl = made->api;
  QUADRA_RETURN_IF_ERROR(LoadClApi(library, &made->api));
  QUADRA_RETURN_IF_ERROR(given ? ChooseDeviceOf(cl, given, &made->device)
                               : ChooseDevice(cl, &made->device));
  made->info = ReadInfo(cl, made->device);
  // Where it is not told, the context has the library's default.
  cl.GetDeviceInfo(made->device, CL_DEVICE_PLATFORM, sizeof(cl_platform_id),
                   static_cast<void*>(&made->platform), nullptr);
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(made->platform), 0};
  cl_int code = CL_SUCCESS;
  cl_context raw =
      given ? given : cl.CreateContext(properties, 1, &made->device, nullptr, nullptr, &code);
  if (!raw || code != CL_SUCCESS) {
    return ClFailed(Format("create a context on %s", made->info.device_name.c_str()).c_str(), code);
  }
  made->context = ClHandle<cl_context>(raw, cl.ReleaseContext);
  if (const auto find = cl.GetExtensionFunctionAddressForPlatform) {
    FindFunctions([&](const char* name) { return find(made->platform, name); }, kExtensions,
                  static_cast<void*>(&made->acquire));
    if (!made->release) made->acquire = nullptr;  // one is of no use without the other
  }
  made->host = MakeClHostDevice(made.get());
  Log(1, "OpenCL device: %s, %s, driver %s: target %s%s", made->info.device_name.c_str(),
      made->info.api_version.c_str(), made->info.driver.c_str(), made->info.name.c_str(),
      given ? "; the app's context" : "");
  Log(2, "OpenCL ready after %lld us", static_cast<long long>(NowUs() - start));
  *context = std::move(made);
  return Status();
}

}  // namespace quadra
