// An OpenCL and an EGL library for tests: the system's, but every function of the delegate's tables
// is counted, and the call that the environment variable DRIVER_FAULTS names fails. The wrappers
// are made from the tables themselves: a function that is added there is wrapped here.
//
// DRIVER_FAULTS holds words parted by spaces: "FUNCTION@N=WAY", the N-th call (from 1; "*": every
// call) since QuadraFaultsBegin fails in that way; "FUNCTION=missing", the library lacks it. It is
// read at every call. The ways of each function: see WaysOf. DRIVER_FAULTS_EGL: the EGL library
// behind this one, if that is not the system's. DRIVER_FAULTS_GPU: the OpenCL device calls itself a
// GPU. DRIVER_FAULTS_FEW: kernels whose name begins so take 16 work-items in a group, no more.
// DRIVER_FAULTS_SKIPS: KERNEL@N, each N-th launch of kernels whose name begins so does nothing.
// DRIVER_FAULTS_FEW_AT: when the driver tells that: "build", their programs do not compile;
// "launch", they cannot be launched; else, it knows before it is asked to launch them.
// DRIVER_FAULTS_MISCOMPILES: FROM=TO, the optimiser takes one function for another.
// DRIVER_FAULTS_VERSION: a letter that the driver's version begins with.
// DRIVER_FAULTS_NAME: what the device calls its vendor and itself.
// DRIVER_FAULTS_IMAGES: PoCL makes images over buffers, whose rows and beginnings are multiples of
// so many pixels; "N parts", it refuses them over parts of buffers; "N all", over any.
// DRIVER_FAULTS_TIMES: what a kernel takes follows from its group alone (NsOf).
#include <dlfcn.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "delegate_native/runtime/gles/gl_api.h"
#include "delegate_native/runtime/opencl/cl_api.h"

namespace {

enum Id {
#define QUADRA_CL_ID(name) kCl##name,
  QUADRA_CL_FUNCTIONS(QUADRA_CL_ID)
#define QUADRA_EGL_ID(name) kEgl##name,
      QUADRA_EGL_FUNCTIONS(QUADRA_EGL_ID)
#define QUADRA_EXTENSION_ID(name, type) kEgl##name,
          QUADRA_EGL_EXTENSIONS(QUADRA_EXTENSION_ID)
#define QUADRA_GL_ID(name) kGl##name,
              QUADRA_GL_FUNCTIONS(QUADRA_GL_ID)
#define QUADRA_GL_EXTENSION_ID(name, type) kGl##name,
                  QUADRA_GL_EXTENSIONS(QUADRA_GL_EXTENSION_ID) kFunctions
};

struct Function {
  const char* name;
  void* wrapper;
  std::atomic<void*> next{nullptr};
  std::atomic<long> calls{0};
};
extern Function functions[];

bool Begins(const char* name, const char* with) { return strncmp(name, with, strlen(with)) == 0; }

bool IsOneOf(const char* name, const char* const* names) {
  for (; *names; ++names) {
    if (strcmp(name, *names) == 0) return true;
  }
  return false;
}

// ---- in which ways each function can fail ----

// A number is an error code: OpenCL's is returned, EGL's and OpenGL's is what GetError says next;
// nothing is done and nothing is written. Words:
//   lost     the device or context is lost: this call fails and all that follow
//   silent   so it is, but the driver tells only when it is asked for resets
//   nothing  gives nothing, without an error
//   none     the list that was asked for is empty
//   false    did not compile, did not link
//   failed, timeout  of waiting
//   one      groups of one work-item only
struct Ways {
  int id;
  const char* ways;
};
constexpr Ways kWays[] = {
    {kClBuildProgram, "-11 -6 lost"},
    {kClCreateBuffer, "-4 -61 lost nothing"},
    {kClCreateContext, "-2 -6 nothing"},
    {kClCreateCommandQueue, "-35 -6 lost nothing"},
    {kClCreateImage, "-10 -40 -4 lost nothing"},
    {kClCreateKernel, "-45 -46 lost nothing"},
    {kClCreateProgramWithBinary, "-42 lost nothing"},
    {kClCreateProgramWithSource, "-6 lost nothing"},
    {kClCreateSubBuffer, "-13 -4 lost nothing"},
    {kClEnqueueBarrierWithWaitList, "-6 lost"},
    {kClEnqueueCopyBuffer, "-4 -48 lost"},
    {kClEnqueueMapBuffer, "-12 lost nothing"},
    {kClEnqueueNDRangeKernel, "-54 -4 -5 -34 lost"},
    {kClEnqueueReadBuffer, "-4 -14 lost"},
    {kClEnqueueUnmapMemObject, "-30 lost"},
    {kClEnqueueWriteBuffer, "-4 -14 lost"},
    {kClFinish, "-14 -5 -36 -9999 lost"},
    {kClFlush, "-6 lost"},
    {kClGetContextInfo, "-6"},
    {kClGetDeviceIDs, "-1 none"},
    {kClGetDeviceInfo, "-6"},
    {kClGetEventInfo, "-58"},
    {kClGetEventProfilingInfo, "-7"},
    {kClGetKernelWorkGroupInfo, "-6 one"},
    {kClGetMemObjectInfo, "-38 -6"},
    {kClGetPlatformIDs, "-1001 none"},
    {kClGetProgramBuildInfo, "-6"},
    {kClGetProgramInfo, "-6"},
    {kClRetainContext, "-34"},
    {kClSetKernelArg, "-38 -6 lost"},
    {kEglBindAPI, "0x300c"},
    {kEglChooseConfig, "0x3004 none"},
    {kEglCreateContext, "0x3009 0x300e"},
    {kEglClientWaitSyncKHR, "0x300c"},
    {kEglCreatePbufferSurface, "0x3003"},
    {kEglCreateSyncKHR, "0x3003"},
    {kEglDestroyContext, "0x3006"},
    {kEglDestroySurface, "0x300d"},
    {kEglDestroySyncKHR, "0x300c"},
    {kEglDupNativeFenceFDANDROID, "0x300c"},
    {kEglGetCurrentContext, ""},
    {kEglGetDisplay, "nothing"},
    {kEglGetError, ""},  // it cannot fail
    {kEglGetPlatformDisplayEXT, "0x300c"},
    {kEglGetProcAddress, "nothing"},
    {kEglInitialize, "0x3001"},
    {kEglMakeCurrent, "0x3009 0x300e"},
    {kEglQueryDeviceStringEXT, "0x300c"},
    {kEglQueryDevicesEXT, "0x3003 none"},
    {kEglQueryString, "0x3001"},
    {kEglReleaseThread, "0x3003"},
    {kEglWaitSyncKHR, "0x300c"},
    {kGlClientWaitSync, "failed timeout lost silent"},
    {kGlCreateProgram, "0x505 nothing lost"},
    {kGlCreateShader, "0x505 nothing lost"},
    {kGlDispatchCompute, "0x505 lost silent"},
    {kGlFenceSync, "0x505 nothing lost silent"},
    {kGlGetGraphicsResetStatus, "lost"},
    {kGlGetProgramiv, "0x505 false lost"},
    {kGlGetShaderiv, "0x505 false lost"},
    {kGlGetString, "0x505 nothing lost"},
    {kGlGetStringi, "0x505 nothing lost"},
    {kGlMapBufferRange, "0x505 nothing lost silent"},
    {kGlUnmapBuffer, "0x505 nothing lost silent"},
};

// Empty: it cannot fail. Null: nobody has said yet how it fails, which a test does not allow.
const char* WaysOf(int id) {
  for (const Ways& one : kWays) {
    if (one.id == id) return one.ways;
  }
  if (Begins(functions[id].name, "clRelease")) return "-6";
  // Any command of OpenGL may run out of memory, and any may be the first that a lost context sees.
  if (Begins(functions[id].name, "gl")) return "0x505 lost";
  return nullptr;
}

// ---- which call fails now ----

struct Fault {
  std::string way;  // empty: none
  long code = 0;
  bool is(const char* word) const { return way == word; }
};

// The word of DRIVER_FAULTS that begins with the function's name and `then`: what is behind those.
// Null: there is none.
const char* WordOf(const char* name, char then) {
  const size_t size = strlen(name);
  for (const char* at = getenv("DRIVER_FAULTS"); at && *at;
       at += strcspn(at, " "), at += *at == ' ') {
    if (strncmp(at, name, size) == 0 && at[size] == then) return at + size + 1;
  }
  return nullptr;
}

bool IsMissing(const char* name) {
  const char* word = WordOf(name, '=');
  return word && Begins(word, "missing");
}

Fault FaultOf(int id, long call) {
  Fault fault;
  const char* at = WordOf(functions[id].name, '@');
  if (!at || (*at != '*' && atol(at) != call)) return fault;
  const char* way = strchr(at, '=') + 1;
  fault.way = std::string(way, strcspn(way, " "));
  fault.code = strtol(way, nullptr, 0);
  return fault;
}

// ---- what is alive, as the caller must see it ----

std::mutex mutex;
std::map<std::string, long> live;  // by kind
std::atomic<bool> happened{false};

// The kind of object that a function makes or ends; empty for other functions.
std::string KindOf(const char* name) {
  static const char* const kMemory[] = {"clCreateBuffer", "clCreateImage", "clCreateSubBuffer",
                                        nullptr};
  static const char* const kPrograms[] = {"clCreateProgramWithSource", "clCreateProgramWithBinary",
                                          nullptr};
  if (IsOneOf(name, kMemory)) return "clMemObject";
  if (IsOneOf(name, kPrograms)) return "clProgram";
  if (strcmp(name, "clEnqueueNDRangeKernel") == 0) return "clEvent";
  if (strcmp(name, "glFenceSync") == 0) return "glSync";
  if (strcmp(name, "eglCreatePbufferSurface") == 0) return "eglSurface";
  if (strcmp(name, "eglReleaseThread") == 0) return "";
  for (const char* verb : {"Create", "Release", "Destroy", "Gen", "Delete"}) {
    const size_t api = Begins(name, "egl") ? 3 : 2;
    if (Begins(name + api, verb)) return std::string(name, api) + (name + api + strlen(verb));
  }
  return "";
}

bool Ends(const char* name) {
  return Begins(name, "clRelease") || Begins(name, "glDelete") || Begins(name, "eglDestroy");
}

template <typename T>
long Count(T object) {
  if constexpr (std::is_pointer<T>::value) return object != nullptr;
  else if constexpr (std::is_integral<T>::value) return object != 0;
  else return 0;
}
long CountIds(GLsizei count, const GLuint* ids) {
  long some = 0;
  for (GLsizei i = 0; i < count; ++i) some += ids[i] != 0;
  return some;
}

void Live(const char* name, long more) {
  std::lock_guard<std::mutex> lock(mutex);
  live[KindOf(name)] += more;
}

// ---- lost devices ----

std::atomic<bool> cl_lost{false};
// A context of OpenGL ES belongs to one thread, so does what is known of it here.
thread_local bool gl_lost = false, gl_silent = false;
thread_local GLenum gl_error = GL_NO_ERROR;
thread_local EGLint egl_error = EGL_SUCCESS;

// What a call on a lost OpenCL device answers; 0 where it does as always.
cl_int LostCode(int id) {
  const char* name = functions[id].name;
  if (Begins(name, "clEnqueue") || id == kClFinish || id == kClFlush)
    return CL_INVALID_COMMAND_QUEUE;
  if (id == kClBuildProgram) return CL_DEVICE_NOT_AVAILABLE;
  if (id == kClSetKernelArg) return CL_OUT_OF_RESOURCES;
  return Begins(name, "clCreate") && id != kClCreateContext ? CL_INVALID_CONTEXT : 0;
}

// What a compiler says of a program that it refused.
std::atomic<bool> build_refused{false};

cl_int BuildLog(cl_program, cl_device_id, cl_program_build_info, size_t size, void* value,
                size_t* needed) {
  static const char kLog[] = "1:7: error: this test wants no such thing";
  if (value && size >= sizeof(kLog)) memcpy(value, kLog, sizeof(kLog));
  if (needed) *needed = sizeof(kLog);
  return CL_SUCCESS;
}

// What PoCL's device tells of itself, as if it were a GPU that nobody knows: that compiles kernels
// one by one, and copies what goes in and out.
template <typename Real>
cl_int CallItselfGpu(Real real, cl_device_id device, cl_device_info what, size_t size, void* value,
                     size_t* needed) {
  const cl_int code = real(device, what, size, value, needed);
  char* text = static_cast<char*>(value);
  if (code != CL_SUCCESS || !value) return code;
  if (what == CL_DEVICE_TYPE) *static_cast<cl_device_type*>(value) = CL_DEVICE_TYPE_GPU;
  if (what != CL_DEVICE_NAME && what != CL_DEVICE_VERSION && what != CL_DRIVER_VERSION) return code;
  for (char* at = text; (at = strcasestr(at, "pocl"));) memcpy(at, "none", 4);
  return code;
}

// The name that the environment gives the device.
cl_int OwnName(cl_int code, char* text, size_t size, size_t* needed) {
  const char* name = getenv("DRIVER_FAULTS_NAME");
  if (!name) return code;
  if (needed) *needed = strlen(name) + 1;
  if (text && size > strlen(name)) strcpy(text, name);
  return CL_SUCCESS;
}

// ---- kernels that take few work-items ----

constexpr size_t kFew = 16;
std::map<cl_kernel, std::string> kernel_names;

bool TellsAt(const char* when) {
  const char* at = getenv("DRIVER_FAULTS_FEW_AT");
  return strcmp(at ? at : "", when) == 0;
}

std::set<cl_program> too_large;  // programs whose text asks for more than that

void NoteAskedGroup(cl_program program, const std::string& text) {
  const char* few = getenv("DRIVER_FAULTS_FEW");
  size_t group[3] = {1, 1, 1};
  const size_t at = text.find("reqd_work_group_size(");
  if (at != std::string::npos)
    sscanf(text.c_str() + at, "reqd_work_group_size(%zu, %zu, %zu", group, group + 1, group + 2);
  const bool is_meant = few && text.find(std::string("void ") + few) != std::string::npos;
  const bool is_large = is_meant && group[0] * group[1] * group[2] > kFew;
  std::lock_guard<std::mutex> lock(mutex);
  if (is_large) too_large.insert(program);
  else too_large.erase(program);
}

bool AsksForMany(cl_program program) {
  std::lock_guard<std::mutex> lock(mutex);
  return too_large.count(program) > 0;
}

bool TakesFew(cl_kernel kernel) {
  const char* few = getenv("DRIVER_FAULTS_FEW");
  if (!few) return false;
  std::lock_guard<std::mutex> lock(mutex);
  return Begins(kernel_names[kernel].c_str(), few);
}

enum class Commands { kNone, kPending, kFlushed };
std::map<cl_command_queue, Commands> commands;  // not waited for, by queue
long blind_finishes = 0;

void FollowQueue(const char* name, cl_command_queue queue) {
  std::lock_guard<std::mutex> lock(mutex);
  Commands& found = commands[queue];
  if (Begins(name, "clEnqueue")) found = Commands::kPending;
  if (strcmp(name, "clFlush") == 0 && found == Commands::kPending) found = Commands::kFlushed;
  if (strcmp(name, "clFinish") == 0) {
    blind_finishes += found == Commands::kFlushed;
    found = Commands::kNone;
  }
}

// A part of a buffer that is not released yet.
struct Part {
  cl_mem object, buffer;
  size_t begin, end;
  bool Holds(const Part& other) const {
    return other.buffer == buffer && other.begin >= begin && other.end <= end;
  }
};
std::vector<Part> parts;  // in the order in which they were made
long inner_parts = 0, early_parts = 0, images_in_parts = 0;

void NotePart(cl_mem object, cl_mem buffer, const void* region) {
  const auto& bounds = *static_cast<const cl_buffer_region*>(region);
  const Part made = {object, buffer, bounds.origin, bounds.origin + bounds.size};
  std::lock_guard<std::mutex> lock(mutex);
  const auto holds = [&](const Part& part) { return part.Holds(made); };
  inner_parts += std::any_of(parts.begin(), parts.end(), holds);
  parts.push_back(made);
}

// It lies in that part.
void NoteImage(cl_mem image, cl_mem part) {
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].object != part) continue;
    parts.push_back({image, parts[i].buffer, parts[i].begin, parts[i].end});
    ++images_in_parts;
    return;
  }
}

void NoteRelease(cl_mem object) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto it = [&](const Part& part) { return part.object == object; };
  const auto found = std::find_if(parts.begin(), parts.end(), it);
  if (found == parts.end()) return;
  const auto inside = [&](const Part& part) { return found->Holds(part); };
  early_parts += std::any_of(found + 1, parts.end(), inside);
  parts.erase(found);
}

bool Skips(cl_kernel kernel) {
  static std::atomic<long> launches{0};
  const char* skips = getenv("DRIVER_FAULTS_SKIPS");
  const char* every = skips ? strchr(skips, '@') : nullptr;
  if (!every) return false;
  std::lock_guard<std::mutex> lock(mutex);
  const std::string name(skips, static_cast<size_t>(every - skips));
  return Begins(kernel_names[kernel].c_str(), name.c_str()) && ++launches % atol(every + 1) == 0;
}

// ---- an optimiser's mistakes ----

// The text, with a name that says nothing in the place of the function that is mistaken.
std::string Mistakable(std::string text) {
  const char* mistake = getenv("DRIVER_FAULTS_MISCOMPILES");
  if (!mistake) return text;
  const std::string from(mistake, strcspn(mistake, "="));
  for (size_t at = 0; (at = text.find(from + "(", at)) != std::string::npos;)
    text.replace(at, from.size(), "MISTAKEN");
  return text;
}

// The options of a build, with what that name stands for.
std::string WithMistake(const std::string& options) {
  const char* mistake = getenv("DRIVER_FAULTS_MISCOMPILES");
  if (!mistake) return options;
  const size_t size = strcspn(mistake, "=");
  const bool optimises = options.find("-cl-opt-disable") == std::string::npos;
  return options + " -DMISTAKEN=" +
         (optimises ? std::string(mistake + size + 1) : std::string(mistake, size));
}

// ---- images over buffers ----

template <typename F>
F NextOf(int id) {
  return reinterpret_cast<F>(functions[id].next.load());
}
#define QUADRA_NEXT(name) NextOf<decltype(&::cl##name)>(kCl##name)

struct ImagesSaid {
  size_t pixels;  // 0: none are made
  std::string refused;
};
ImagesSaid SaidOfImages() {
  const char* said = getenv("DRIVER_FAULTS_IMAGES");
  if (!said) return {};
  char* rest = nullptr;
  const size_t pixels = strtoul(said, &rest, 10);
  return {pixels, *rest ? rest + 1 : rest};
}

size_t MemoryNumber(cl_mem memory, cl_mem_info what) {
  size_t number = 0;
  QUADRA_NEXT(GetMemObjectInfo)(memory, what, sizeof(number), &number, nullptr);
  return number;
}

// Where PoCL, whose buffers lie in this process, has one.
void* PlaceOf(cl_context context, cl_mem memory, size_t bytes) {
  cl_device_id devices[8] = {};
  cl_int code = CL_SUCCESS;
  QUADRA_NEXT(GetContextInfo)(context, CL_CONTEXT_DEVICES, sizeof(devices), devices, nullptr);
  const cl_command_queue queue = QUADRA_NEXT(CreateCommandQueue)(context, devices[0], 0, &code);
  void* place = QUADRA_NEXT(EnqueueMapBuffer)(queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                              bytes, 0, nullptr, nullptr, &code);
  QUADRA_NEXT(EnqueueUnmapMemObject)(queue, memory, place, 0, nullptr, nullptr);
  QUADRA_NEXT(Finish)(queue);
  QUADRA_NEXT(ReleaseCommandQueue)(queue);
  return place;
}

// An image over a buffer, which PoCL does not make, over its memory, which it does.
cl_mem ImageOverBuffer(cl_context context, cl_mem_flags flags, const cl_image_format* format,
                       cl_image_desc desc, cl_int* code) {
  const ImagesSaid said = SaidOfImages();
  const size_t texel = format->image_channel_data_type == CL_HALF_FLOAT ? 8 : 16;
  const size_t step = said.pixels * texel;
  const size_t bytes = desc.image_row_pitch * desc.image_height;
  const size_t offset = MemoryNumber(desc.buffer, CL_MEM_OFFSET);
  *code = CL_INVALID_IMAGE_DESCRIPTOR;
  if (step == 0 || desc.image_row_pitch % step != 0 || offset % step != 0) return nullptr;
  if (desc.image_row_pitch < desc.image_width * texel) return nullptr;
  if (bytes > MemoryNumber(desc.buffer, CL_MEM_SIZE)) return nullptr;
  *code = CL_INVALID_OPERATION;
  if (said.refused == "all" || (said.refused == "parts" && offset > 0)) return nullptr;
  const cl_mem over = desc.buffer;
  void* place = PlaceOf(context, over, bytes);
  desc.buffer = nullptr;
  const cl_mem image =
      QUADRA_NEXT(CreateImage)(context, flags | CL_MEM_USE_HOST_PTR, format, &desc, place, code);
  if (image) NoteImage(image, over);
  return image;
}

// ---- times by group ----

struct Timed {
  std::string kernel;
  std::array<size_t, 3> group;
};
std::map<cl_event, Timed> timed;
std::set<std::string> tried;  // "KERNEL x y z"

cl_ulong NsOf(const std::array<size_t, 3>& group) {
  return 1000 * (1 + (7 * group[0] + 13 * group[1] + 29 * group[2]) % 101);
}

void NoteGroup(cl_event event, cl_kernel kernel, const size_t* local) {
  std::lock_guard<std::mutex> lock(mutex);
  Timed& one = timed[event] = {kernel_names[kernel], {local[0], local[1], local[2]}};
  std::string text = one.kernel;
  for (size_t side : one.group) text += " " + std::to_string(side);
  tried.insert(text);
}

cl_int TimeByGroup(cl_event event, cl_profiling_info what, void* value) {
  std::lock_guard<std::mutex> lock(mutex);
  const bool end = what == CL_PROFILING_COMMAND_END;
  *static_cast<cl_ulong*>(value) = end ? NsOf(timed[event].group) : 0;
  return CL_SUCCESS;
}

// ---- the wrappers ----

void* Before(const char* name, void* real);

void* RealEgl(const char* name) {
  const char* other = getenv("DRIVER_FAULTS_EGL");
  void* library = dlopen(other ? other : "libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) abort();  // the tests look for it first
  return dlsym(library, name);
}

// The driver's functions; those of EGL are looked up by the first call.
void* Next(int id) {
  void* next = functions[id].next;
  if (!next) functions[id].next = next = RealEgl(functions[id].name);
  return next;
}

template <typename T>
void SetIfError(T, long) {}
void SetIfError(cl_int* error, long code) {
  if (error) *error = static_cast<cl_int>(code);
}

template <int kId, typename F>
struct Wrapper;

template <int kId, typename R, typename... A>
struct Wrapper<kId, R (*)(A...)> {
  static constexpr bool kIsCl = kId < kEglBindAPI, kIsGl = kId >= kGlActiveTexture;
  using Args = std::tuple<A...>;
  template <size_t i>
  static auto Last(const Args& args) {
    return std::get<sizeof...(A) - i>(args);
  }

  static R Real(A... args) {
    const auto real = reinterpret_cast<R (*)(A...)>(Next(kId));
    if constexpr (kId != kEglGetProcAddress) return real(args...);
    else return reinterpret_cast<R>(Before(args..., reinterpret_cast<void*>(real(args...))));
  }

  // Nothing is done; the caller is told. But what runs is waited for: it works on memory that the
  // caller may give back.
  static R Refuse(long code, const Args& args) {
    if constexpr (kId == kClFinish) std::apply(Real, args);
    if constexpr (kIsCl && std::is_same<R, cl_int>::value) {
      return static_cast<cl_int>(code);
    } else if constexpr (kIsCl) {
      SetIfError(Last<1>(args), code);
    } else if constexpr (kId == kGlGetError) {
      return static_cast<GLenum>(code);
    } else if constexpr (kIsGl) {
      if (code) gl_error = static_cast<GLenum>(code);
    } else if (code) {
      egl_error = static_cast<EGLint>(code);
    }
    return R();
  }

  // A lost context does nothing, and never makes its caller wait. The driver behind is not lost:
  // what ends something reaches it.
  static R DoLost(A... args) {
    if (Ends(functions[kId].name) || kId == kGlEndQuery) return Real(args...);
    if constexpr (kId == kGlGetError) return GL_CONTEXT_LOST_KHR;
    if constexpr (kId == kGlGetGraphicsResetStatus) return GL_UNKNOWN_CONTEXT_RESET_KHR;
    if constexpr (kId == kGlClientWaitSync) return GL_WAIT_FAILED;
    return R();
  }

  static R Fail(const Fault& fault, A... args) {
    const Args all(args...);
    happened = true;
    if constexpr (kIsCl) {
      if (fault.is("lost")) return cl_lost = true, Refuse(LostCode(kId), all);
    } else if constexpr (kIsGl) {
      if (fault.is("lost")) return gl_lost = true, DoLost(args...);
      if (fault.is("silent"))
        return gl_silent = true, kId == kGlDispatchCompute ? R() : Real(args...);
    }
    if constexpr (kId == kGlClientWaitSync)
      return fault.is("timeout") ? GL_TIMEOUT_EXPIRED : GL_WAIT_FAILED;
    if constexpr (kId == kGlGetShaderiv || kId == kGlGetProgramiv) {
      if (fault.is("false")) return void(*std::get<2>(all) = GL_FALSE);
    }
    if constexpr (kId == kClGetKernelWorkGroupInfo) {
      if (fault.is("one")) return *static_cast<size_t*>(std::get<4>(all)) = 1, CL_SUCCESS;
    }
    if constexpr (kId == kClGetPlatformIDs || kId == kClGetDeviceIDs || kId == kEglChooseConfig ||
                  kId == kEglQueryDevicesEXT) {
      if (fault.is("none")) {
        const R real = Real(args...);
        if (Last<1>(all)) *Last<1>(all) = 0;
        return real;
      }
    }
    return Refuse(fault.code, all);
  }

  static R Do(A... args) {
    if constexpr (kIsCl && sizeof...(A) > 0) {
      if constexpr (std::is_same<std::tuple_element_t<0, std::tuple<A..., int>>,
                                 cl_command_queue>::value)
        FollowQueue(functions[kId].name, std::get<0>(Args(args...)));
    }
    if constexpr (kId == kClReleaseMemObject) NoteRelease(std::get<0>(Args(args...)));
    const Fault fault = FaultOf(kId, ++functions[kId].calls);
    if constexpr (kId == kClBuildProgram) build_refused = fault.code == CL_BUILD_PROGRAM_FAILURE;
    if (!fault.way.empty()) return Fail(fault, args...);
    if constexpr (kId == kClGetProgramBuildInfo) {
      if (build_refused) return BuildLog(args...);
    }
    if constexpr (kId == kClGetDeviceInfo) {
      const cl_int code =
          getenv("DRIVER_FAULTS_GPU") ? CallItselfGpu(&Real, args...) : Real(args...);
      char* text = static_cast<char*>(std::get<3>(Args(args...)));
      const char* version = getenv("DRIVER_FAULTS_VERSION");
      const cl_device_info what = std::get<1>(Args(args...));
      const bool asks_pixels =
          what == CL_DEVICE_IMAGE_PITCH_ALIGNMENT || what == CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT;
      if (asks_pixels && text && SaidOfImages().pixels > 0) {
        *reinterpret_cast<cl_uint*>(text) = static_cast<cl_uint>(SaidOfImages().pixels);
        return CL_SUCCESS;
      }
      if (what == CL_DEVICE_NAME || what == CL_DEVICE_VENDOR)
        return OwnName(code, text, std::get<2>(Args(args...)), std::get<4>(Args(args...)));
      if (text && version && std::get<1>(Args(args...)) == CL_DRIVER_VERSION) *text = *version;
      return code;
    }
    if constexpr (kIsCl) {
      if (cl_lost && LostCode(kId) != 0) return Refuse(LostCode(kId), Args(args...));
    } else if constexpr (kIsGl) {
      if (gl_lost) return DoLost(args...);
      if (gl_silent && kId == kGlDispatchCompute) return R();
      if constexpr (kId == kGlGetGraphicsResetStatus) {
        if (gl_silent) return GL_UNKNOWN_CONTEXT_RESET_KHR;
      }
      if constexpr (kId == kGlGetError) {
        if (gl_error != GL_NO_ERROR) return std::exchange(gl_error, GL_NO_ERROR);
      }
    } else if constexpr (kId == kEglGetError) {
      const EGLint real = Real(args...), own = std::exchange(egl_error, EGL_SUCCESS);
      return own == EGL_SUCCESS ? real : own;
    }
    if constexpr (kId == kGlGetString) {
      const char* name = getenv("DRIVER_FAULTS_NAME");
      const GLenum what = std::get<0>(Args(args...));
      if (name && (what == GL_VENDOR || what == GL_RENDERER))
        return reinterpret_cast<const GLubyte*>(name);
    }
    if constexpr (kId == kClBuildProgram) {
      Args all(args...);
      if (TellsAt("build") && AsksForMany(std::get<0>(all))) {
        happened = build_refused = true;
        return CL_BUILD_PROGRAM_FAILURE;
      }
      const std::string options = WithMistake(std::get<3>(all));
      std::get<3>(all) = options.c_str();
      return std::apply(Real, all);
    }
    if constexpr (kId == kClCreateProgramWithSource) {
      Args all(args...);
      const std::string text = Mistakable({std::get<2>(all)[0], std::get<3>(all)[0]});
      const char* begin = text.c_str();
      const size_t size = text.size();
      std::get<2>(all) = &begin;
      std::get<3>(all) = &size;
      const cl_program made = std::apply(Real, all);
      NoteAskedGroup(made, text);
      return made;
    }
    if constexpr (kId == kClCreateImage) {
      const Args all(args...);
      const cl_image_desc& desc = *std::get<3>(all);
      if (desc.image_type == CL_MEM_OBJECT_IMAGE2D && desc.buffer) {
        return ImageOverBuffer(std::get<0>(all), std::get<1>(all), std::get<2>(all), desc,
                               std::get<5>(all));
      }
    }
    if constexpr (kId == kClGetKernelWorkGroupInfo) {
      const cl_int code = Real(args...);
      size_t* most = static_cast<size_t*>(std::get<4>(Args(args...)));
      if (most && TellsAt("") && TakesFew(std::get<0>(Args(args...))))
        *most = std::min(*most, kFew);
      return code;
    }
    if constexpr (kId == kClEnqueueNDRangeKernel) {
      const size_t* local = std::get<5>(Args(args...));
      const bool many = local && local[0] * local[1] * local[2] > kFew;
      if (many && !TellsAt("build") && TakesFew(std::get<1>(Args(args...))))
        return TellsAt("launch") ? CL_OUT_OF_RESOURCES : CL_INVALID_WORK_GROUP_SIZE;
      if (!Last<1>(Args(args...)) && Skips(std::get<1>(Args(args...)))) return CL_SUCCESS;
    }
    if constexpr (kId == kClGetEventProfilingInfo) {
      const Args all(args...);
      if (getenv("DRIVER_FAULTS_TIMES"))
        return TimeByGroup(std::get<0>(all), std::get<1>(all), std::get<3>(all));
    }
    return Real(args...);
  }

  // What comes into being and what ends, whatever the driver makes of it.
  static void Watch(const Args& args) {
    const char* name = functions[kId].name;
    if constexpr (sizeof...(A) == 2 && std::is_void<R>::value && kIsGl) {
      if constexpr (std::is_convertible<std::tuple_element_t<1, Args>, const GLuint*>::value) {
        if (!KindOf(name).empty())
          Live(name, (Ends(name) ? -1 : 1) * CountIds(std::get<0>(args), std::get<1>(args)));
      }
    } else if constexpr (sizeof...(A) > 0 &&
                         std::is_integral<R>::value + std::is_void<R>::value > 0) {
      if (Ends(name)) Live(name, -Count(Last<1>(args)));
    }
    if constexpr (kId == kClEnqueueNDRangeKernel) {
      if (Last<1>(args) && *Last<1>(args)) {
        Live(name, 1);
        NoteGroup(*Last<1>(args), std::get<1>(args), std::get<5>(args));
      }
    }
  }

  static R Call(A... args) {
    if constexpr (std::is_void<R>::value) {
      Do(args...);
      Watch(Args(args...));
    } else {
      const R result = Do(args...);
      Watch(Args(args...));
      const char* name = functions[kId].name;
      const bool makes = !KindOf(name).empty() && !Ends(name) && kId != kClEnqueueNDRangeKernel;
      if (makes) Live(name, Count(result));
      if constexpr (kId == kClCreateKernel) {
        std::lock_guard<std::mutex> lock(mutex);
        kernel_names[result] = std::get<1>(Args(args...));
      }
      if constexpr (kId == kClCreateSubBuffer) {
        if (result) NotePart(result, std::get<0>(Args(args...)), std::get<3>(Args(args...)));
      }
      if constexpr (kId == kClCreateContext) {
        if (result) cl_lost = false;
      }
      if constexpr (kId == kEglCreateContext) {
        if (result) gl_lost = gl_silent = false, gl_error = GL_NO_ERROR;
      }
      return result;
    }
  }
};

template <int kId, typename F>
void* WrapperOf() {
  return reinterpret_cast<void*>(&Wrapper<kId, F>::Call);
}

Function functions[] = {
#define QUADRA_CL_ROW(name) {"cl" #name, WrapperOf<kCl##name, decltype(&::cl##name)>()},
    QUADRA_CL_FUNCTIONS(QUADRA_CL_ROW)
#define QUADRA_EGL_ROW(name) {"egl" #name, WrapperOf<kEgl##name, decltype(&::egl##name)>()},
        QUADRA_EGL_FUNCTIONS(QUADRA_EGL_ROW)
#define QUADRA_EGL_EXTENSION_ROW(name, type) {"egl" #name, WrapperOf<kEgl##name, type>()},
            QUADRA_EGL_EXTENSIONS(QUADRA_EGL_EXTENSION_ROW)
#define QUADRA_GL_ROW(name) {"gl" #name, WrapperOf<kGl##name, decltype(&::gl##name)>()},
                QUADRA_GL_FUNCTIONS(QUADRA_GL_ROW)
#define QUADRA_GL_EXTENSION_ROW(name, type) {"gl" #name, WrapperOf<kGl##name, type>()},
                    QUADRA_GL_EXTENSIONS(QUADRA_GL_EXTENSION_ROW)};

// ---- where the delegate looks for functions ----

// An extension's function is in the table without the word of who made it.
bool IsNamed(const char* name, const char* in_table) {
  const size_t size = strlen(in_table);
  if (strncmp(name, in_table, size) != 0) return false;
  const std::string rest = name + size;
  return rest.empty() || (Begins(name, "gl") && (rest == "EXT" || rest == "OES" || rest == "KHR"));
}

// What stands before a function of the driver; null where this driver is to lack it.
void* Before(const char* name, void* real) {
  for (Function& function : functions) {
    if (!IsNamed(name, function.name)) continue;
    if (IsMissing(function.name) || !real) return nullptr;
    function.next = real;
    return function.wrapper;
  }
  return real;
}

}  // namespace

extern "C" {

#define QUADRA_EXPORT __attribute__((visibility("default")))

QUADRA_EXPORT void* loadOpenCLPointer(const char* name) {
  static void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  return Before(name, library ? dlsym(library, name) : nullptr);
}

// The library's own symbols: each is the wrapper, whatever its parameters are.
#define QUADRA_EGL_SYMBOL(name)                                \
  decltype(&::egl##name) Resolve_egl##name() {                 \
    return &Wrapper<kEgl##name, decltype(&::egl##name)>::Call; \
  }                                                            \
  QUADRA_EXPORT decltype(egl##name) egl##name __attribute__((ifunc("Resolve_egl" #name)));
QUADRA_EGL_FUNCTIONS(QUADRA_EGL_SYMBOL)

// A life begins: calls are counted from here, and nothing is alive.
QUADRA_EXPORT void QuadraFaultsBegin() {
  for (Function& function : functions) function.calls = 0;
  for (int id = kEglBindAPI; id < kEglGetPlatformDisplayEXT; ++id) functions[id].next = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  live.clear();
  tried.clear();
  happened = false;
  parts.clear();
  blind_finishes = inner_parts = early_parts = images_in_parts = 0;
}

// JSON: {"happened": whether the fault came, "calls": by function, "ways": by function, "live": by
// kind, "groups": "KERNEL x y z" of all that were timed, "blind_finishes": how many clFinish came
// when all commands of the queue had been flushed: there are drivers that do not wait then,
// "inner_parts": how many parts of buffers were made inside others, "early_parts": how many were
// released before one that was made later inside them: there are drivers that crash then,
// "images_in_parts": how many images were made over parts of buffers}.
QUADRA_EXPORT const char* QuadraFaultsReport() {
  static std::string text;
  std::lock_guard<std::mutex> lock(mutex);
  std::string calls, ways, alive;
  for (int id = 0; id < kFunctions; ++id) {
    const std::string key = std::string(id ? ", \"" : "\"") + functions[id].name + "\": ";
    const char* can = WaysOf(id);
    calls += key + std::to_string(functions[id].calls.load());
    ways += key + (can ? "\"" + std::string(can) + "\"" : "null");
  }
  for (const auto& kind : live) {
    alive += (alive.empty() ? "\"" : ", \"") + kind.first + "\": " + std::to_string(kind.second);
  }
  std::string groups;
  for (const std::string& one : tried) groups += (groups.empty() ? "\"" : ", \"") + one + "\"";
  text = std::string("{\"happened\": ") + (happened ? "true" : "false") + ", \"calls\": {" + calls +
         "}, \"ways\": {" + ways + "}, \"live\": {" + alive + "}, \"groups\": [" + groups +
         "], \"blind_finishes\": " + std::to_string(blind_finishes) +
         ", \"inner_parts\": " + std::to_string(inner_parts) +
         ", \"early_parts\": " + std::to_string(early_parts) +
         ", \"images_in_parts\": " + std::to_string(images_in_parts) + "}";
  return text.c_str();
}

}  // extern "C"
