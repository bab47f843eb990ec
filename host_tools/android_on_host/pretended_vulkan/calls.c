// A Vulkan driver of a phone that is not there, for programs that compute: it shows itself with the
// phone's names and limits, writes down kernels, what they are given and how they are launched, and
// runs an empty kernel in the place of each. All else a real driver does (PRETENDED_VULKAN_DRIVER),
// so that memory, copies and waits are as ever.
//
// PRETENDED_VULKAN_PHONE: a file of lines `name value...`, by the members' names in Vulkan.
// PRETENDED_VULKAN_CALLS: the recording, a line for each call; what has a size is followed by
// bytes:
//
//   shader N SIZE            pipeline N SHADER ENTRY      run N
//   buffer N BYTES           image N BYTES                dispatch X Y Z
//   set S BINDING TYPE buffer N OFFSET | image N          bind INDEX S OFFSET...
//   mark                     uniforms N SIZE
//
// `mark` and the content of buffers of numbers are written when the program says so
// (pretended_vulkan_mark, pretended_vulkan_end).
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan.h>

#define EXPORTED __attribute__((visibility("default")))

enum { kMostObjects = 1 << 16, kMostNumbers = 4 << 20, kMostWords = 8 };

// Stands in for every kernel: main() that does nothing.
static const uint32_t kEmptyKernel[] = {
    0x07230203, 0x00010000, 0,          5,          0,     // head
    0x00020011, 1,                                         // Shader
    0x0003000E, 0,          1,                             // GLSL450
    0x0005000F, 5,          1,          0x6E69616D, 0,     // "main"
    0x00060010, 1,          17,         1,          1, 1,  // 1 x 1 x 1
    0x00020013, 2,                                         // void
    0x00030021, 3,          2,                             // void()
    0x00050036, 2,          1,          0,          3,     // main
    0x000200F8, 4,          0x000100FD, 0x00010038,        // return
};

typedef struct {
  uint64_t handle;
  uint64_t memory;  // of a buffer
  uint64_t at, bytes;
  int id;
  int is_uniform;
} Object;

typedef struct {
  Object all[kMostObjects];
  int count;
} Objects;

static Objects shaders, pipelines, buffers, images, views;
static PFN_vkGetInstanceProcAddr real_of_instance;
static PFN_vkGetDeviceProcAddr real_of_device;
static PFN_vkVoidFunction (*real_of_physical)(VkInstance, const char*);
static VkResult (*real_negotiate)(uint32_t*);
static VkInstance instance;
static VkDevice device;
static FILE* calls;
static char phone[1 << 16];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void give_up(const char* what) {
  fprintf(stderr, "pretended Vulkan: %s\n", what ? what : "it does not start");
  _exit(9);
}

__attribute__((constructor)) static void begin(void) {
  const char *driver = getenv("PRETENDED_VULKAN_DRIVER"), *file = getenv("PRETENDED_VULKAN_PHONE");
  const char* recording = getenv("PRETENDED_VULKAN_CALLS");
  if (!driver || !file || !recording) give_up("its environment is not set");
  void* library = dlopen(driver, RTLD_NOW | RTLD_LOCAL);
  if (!library) give_up(dlerror());
  *(void**)&real_of_instance = dlsym(library, "vk_icdGetInstanceProcAddr");
  *(void**)&real_of_physical = dlsym(library, "vk_icdGetPhysicalDeviceProcAddr");
  *(void**)&real_negotiate = dlsym(library, "vk_icdNegotiateLoaderICDInterfaceVersion");
  FILE* answers = fopen(file, "r");
  if (!answers || !real_of_instance || !real_negotiate) give_up(file);
  phone[0] = '\n';
  phone[1 + fread(phone + 1, 1, sizeof phone - 2, answers)] = '\0';
  fclose(answers);
  calls = fopen(recording, "w");
  if (!calls) give_up(recording);
}

static void write_line(const char* form, ...) {
  va_list words;
  va_start(words, form);
  pthread_mutex_lock(&lock);
  vfprintf(calls, form, words);
  fputc('\n', calls);
  pthread_mutex_unlock(&lock);
  va_end(words);
}

static void write_bytes(const char* kind, int id, const void* bytes, size_t size) {
  pthread_mutex_lock(&lock);
  fprintf(calls, "%s %d %zu\n", kind, id, size);
  fwrite(bytes, 1, size, calls);
  fputc('\n', calls);
  pthread_mutex_unlock(&lock);
}

// The newest of this handle: drivers use handles again.
static Object* find(Objects* in, uint64_t handle) {
  for (int i = in->count - 1; i >= 0; --i)
    if (in->all[i].handle == handle) return &in->all[i];
  return NULL;
}

static Object* add(Objects* to, uint64_t handle) {
  pthread_mutex_lock(&lock);
  if (to->count == kMostObjects) give_up("too many objects");
  Object* made = &to->all[to->count];
  *made = (Object){.handle = handle, .id = to->count++};
  pthread_mutex_unlock(&lock);
  return made;
}

static int id_of(Objects* in, uint64_t handle) {
  const Object* found = find(in, handle);
  return found ? found->id : -1;
}

static PFN_vkVoidFunction real(const char* name) {
  PFN_vkVoidFunction found = device && real_of_device ? real_of_device(device, name) : NULL;
  if (!found) found = real_of_instance(instance, name);
  if (!found && real_of_physical) found = real_of_physical(instance, name);
  return found;
}

// The real driver's function: REAL(vkCreateDevice)(...)
#define REAL(name) ((PFN_##name)real(#name))

// --- The phone

// The phone's answer by this name: up to the line's end.
static const char* said(const char* name) {
  char line[128];
  snprintf(line, sizeof line, "\n%s ", name);
  const char* found = strstr(phone, line);
  if (!found) give_up(name);
  return found + strlen(line);
}

static uint32_t number(const char* name) { return (uint32_t)strtoul(said(name), NULL, 0); }

static void copy_words(const char* name, char* to, size_t size) {
  const char* from = said(name);
  snprintf(to, size, "%.*s", (int)strcspn(from, "\n"), from);
}

static void show_limits(VkPhysicalDeviceLimits* limits) {
  limits->maxComputeWorkGroupInvocations = number("maxComputeWorkGroupInvocations");
  char* at = (char*)said("maxComputeWorkGroupSize");
  for (int i = 0; i < 3; ++i) limits->maxComputeWorkGroupSize[i] = (uint32_t)strtoul(at, &at, 0);
  limits->maxComputeSharedMemorySize = number("maxComputeSharedMemorySize");
  limits->maxStorageBufferRange = number("maxStorageBufferRange");
}

static void show_device(VkPhysicalDeviceProperties* shown) {
  shown->deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  shown->apiVersion = VK_MAKE_API_VERSION(0, 1, 3, 128);
  shown->vendorID = number("vendorID");
  shown->deviceID = number("deviceID");
  shown->driverVersion = number("driverVersion");
  copy_words("deviceName", shown->deviceName, sizeof shown->deviceName);
  show_limits(&shown->limits);
}

static VkSubgroupFeatureFlags all_of_subgroups(void) {
  return VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
         VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT |
         VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT |
         VK_SUBGROUP_FEATURE_CLUSTERED_BIT | VK_SUBGROUP_FEATURE_QUAD_BIT;
}

static void show_driver(VkPhysicalDeviceDriverProperties* shown) {
  shown->driverID = (VkDriverId)number("driverID");
  copy_words("driverName", shown->driverName, sizeof shown->driverName);
  copy_words("driverInfo", shown->driverInfo, sizeof shown->driverInfo);
}

static void show_sizes(VkPhysicalDeviceSubgroupSizeControlProperties* shown) {
  shown->minSubgroupSize = number("minSubgroupSize");
  shown->maxSubgroupSize = number("maxSubgroupSize");
  shown->maxComputeWorkgroupSubgroups = 16;
  shown->requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
}

// The members of a structure that has nothing but flags: they stand behind its type and the next
// one.
static VkBool32* flags_of(VkBaseOutStructure* one) {
  return (VkBool32*)((char*)one + offsetof(VkPhysicalDeviceFeatures2, features));
}

static void show_more(VkBaseOutStructure* one) {
  switch ((int)one->sType) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES:
      show_driver((VkPhysicalDeviceDriverProperties*)one);
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES: {
      VkPhysicalDeviceSubgroupProperties* shown = (VkPhysicalDeviceSubgroupProperties*)one;
      shown->subgroupSize = number("subgroupSize");
      shown->supportedOperations = all_of_subgroups();
      shown->supportedStages = VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
      break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES: {
      VkPhysicalDeviceVulkan11Properties* shown = (VkPhysicalDeviceVulkan11Properties*)one;
      shown->subgroupSize = number("subgroupSize");
      shown->subgroupSupportedOperations = all_of_subgroups();
      shown->subgroupSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
      break;
    }
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES:
      show_sizes((VkPhysicalDeviceSubgroupSizeControlProperties*)one);
      break;
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES: {
      const size_t size = sizeof(VkPhysicalDeviceShaderIntegerDotProductProperties);
      const size_t head = offsetof(VkPhysicalDeviceFeatures2, features);
      for (size_t i = 0; i < (size - head) / sizeof(VkBool32); ++i) flags_of(one)[i] = VK_TRUE;
      break;
    }
    default: break;
  }
}

static VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice physical,
                                                 VkPhysicalDeviceProperties* shown) {
  REAL(vkGetPhysicalDeviceProperties)(physical, shown);
  show_device(shown);
}

static VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice physical,
                                                  VkPhysicalDeviceProperties2* shown) {
  REAL(vkGetPhysicalDeviceProperties2)(physical, shown);
  show_device(&shown->properties);
  for (VkBaseOutStructure* one = shown->pNext; one; one = one->pNext) show_more(one);
}

// How many flags a structure of features has; 0: it is none of those that kernels depend on.
static size_t count_of_flags(VkStructureType type) {
#define FLAGS(kind, name)                                    \
  case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##kind##_FEATURES:  \
    return (sizeof(VkPhysicalDevice##name##Features) -       \
            offsetof(VkPhysicalDeviceFeatures2, features)) / \
           sizeof(VkBool32)
  switch ((int)type) {
    FLAGS(SHADER_FLOAT16_INT8, ShaderFloat16Int8);
    FLAGS(16BIT_STORAGE, 16BitStorage);
    FLAGS(8BIT_STORAGE, 8BitStorage);
    FLAGS(SUBGROUP_SIZE_CONTROL, SubgroupSizeControl);
    FLAGS(SHADER_INTEGER_DOT_PRODUCT, ShaderIntegerDotProduct);
    FLAGS(SHADER_SUBGROUP_EXTENDED_TYPES, ShaderSubgroupExtendedTypes);
    FLAGS(VULKAN_MEMORY_MODEL, VulkanMemoryModel);
    FLAGS(VULKAN_1_1, Vulkan11);
    FLAGS(VULKAN_1_2, Vulkan12);
    FLAGS(VULKAN_1_3, Vulkan13);
    default: return 0;
  }
#undef FLAGS
}

static void show_features(VkBaseOutStructure* one) {
  const size_t count = count_of_flags(one->sType);
  if (one->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES) {
    VkPhysicalDeviceVulkan11Features* shown = (VkPhysicalDeviceVulkan11Features*)one;
    shown->storageBuffer16BitAccess = shown->uniformAndStorageBuffer16BitAccess = VK_TRUE;
    shown->storagePushConstant16 = VK_TRUE;
  } else if (one->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) {
    VkPhysicalDeviceVulkan12Features* shown = (VkPhysicalDeviceVulkan12Features*)one;
    shown->shaderFloat16 = shown->shaderInt8 = VK_TRUE;
  } else if (one->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES) {
    for (size_t i = 0; i < count; ++i) flags_of(one)[i] = VK_TRUE;
  }
}

static VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice physical,
                                                VkPhysicalDeviceFeatures2* shown) {
  REAL(vkGetPhysicalDeviceFeatures2)(physical, shown);
  shown->features.shaderInt16 = VK_TRUE;
  for (VkBaseOutStructure* one = shown->pNext; one; one = one->pNext) show_features(one);
}

static VKAPI_ATTR VkResult VKAPI_CALL get_extensions(VkPhysicalDevice physical, const char* layer,
                                                     uint32_t* count, VkExtensionProperties* to) {
  static const char* const kMore[] = {
      "VK_KHR_shader_float16_int8",   "VK_KHR_16bit_storage",
      "VK_KHR_8bit_storage",          "VK_KHR_shader_integer_dot_product",
      "VK_EXT_subgroup_size_control", "VK_KHR_shader_subgroup_extended_types",
      "VK_KHR_vulkan_memory_model"};
  enum { kMost = sizeof kMore / sizeof *kMore };
  if (layer) return REAL(vkEnumerateDeviceExtensionProperties)(physical, layer, count, to);
  uint32_t there = 0;
  REAL(vkEnumerateDeviceExtensionProperties)(physical, NULL, &there, NULL);
  VkExtensionProperties* all = calloc(there + kMost, sizeof *all);
  REAL(vkEnumerateDeviceExtensionProperties)(physical, NULL, &there, all);
  for (int i = 0; i < kMost; ++i) {
    uint32_t at = 0;
    while (at < there && strcmp(all[at].extensionName, kMore[i])) ++at;
    if (at < there) continue;
    strcpy(all[there].extensionName, kMore[i]);
    all[there++].specVersion = 1;
  }
  const uint32_t given = to && *count < there ? *count : there;
  if (to) memcpy(to, all, given * sizeof *all);
  *count = given;
  free(all);
  return given < there ? VK_INCOMPLETE : VK_SUCCESS;
}

// --- Its device: asked for with all that the phone has, made with what the real driver has of it

static void keep_what_is_there(VkPhysicalDevice physical, VkBaseOutStructure* one) {
  if (one->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) {
    VkPhysicalDeviceFeatures2 there = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    REAL(vkGetPhysicalDeviceFeatures2)(physical, &there);
    VkBool32* flags = flags_of(one);
    for (size_t i = 0; i < sizeof there.features / sizeof *flags; ++i)
      flags[i] &= ((VkBool32*)&there.features)[i];
    return;
  }
  uint64_t room[64] = {0};
  VkBaseOutStructure* same = (VkBaseOutStructure*)room;
  same->sType = one->sType;
  const size_t count = count_of_flags(one->sType);
  if (!count) return;
  VkPhysicalDeviceFeatures2 there = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = same};
  REAL(vkGetPhysicalDeviceFeatures2)(physical, &there);
  for (size_t i = 0; i < count; ++i) flags_of(one)[i] &= flags_of(same)[i];
}

static int has_extension(VkPhysicalDevice physical, const char* name) {
  VkExtensionProperties all[512];
  uint32_t count = 512;
  REAL(vkEnumerateDeviceExtensionProperties)(physical, NULL, &count, all);
  for (uint32_t i = 0; i < count; ++i)
    if (!strcmp(all[i].extensionName, name)) return 1;
  return 0;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                                    const VkDeviceCreateInfo* wanted,
                                                    const VkAllocationCallbacks* how,
                                                    VkDevice* made) {
  VkDeviceCreateInfo less = *wanted;
  for (VkBaseOutStructure* one = (void*)less.pNext; one; one = one->pNext)
    keep_what_is_there(physical, one);
  const char** names = calloc(wanted->enabledExtensionCount + 1, sizeof *names);
  less.enabledExtensionCount = 0;
  for (uint32_t i = 0; i < wanted->enabledExtensionCount; ++i)
    if (has_extension(physical, wanted->ppEnabledExtensionNames[i]))
      names[less.enabledExtensionCount++] = wanted->ppEnabledExtensionNames[i];
  less.ppEnabledExtensionNames = names;
  VkPhysicalDeviceFeatures flags;
  if (wanted->pEnabledFeatures) {
    REAL(vkGetPhysicalDeviceFeatures)(physical, &flags);
    for (size_t i = 0; i < sizeof flags / sizeof(VkBool32); ++i)
      ((VkBool32*)&flags)[i] &= ((const VkBool32*)wanted->pEnabledFeatures)[i];
    less.pEnabledFeatures = &flags;
  }
  const VkResult result = REAL(vkCreateDevice)(physical, &less, how, made);
  if (!result) {
    real_of_device = REAL(vkGetDeviceProcAddr);
    device = *made;
  }
  free(names);
  return result;
}

// --- The recording

static VKAPI_ATTR VkResult VKAPI_CALL create_shader(VkDevice of,
                                                    const VkShaderModuleCreateInfo* wanted,
                                                    const VkAllocationCallbacks* how,
                                                    VkShaderModule* made) {
  const VkShaderModuleCreateInfo empty = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                          .codeSize = sizeof kEmptyKernel,
                                          .pCode = kEmptyKernel};
  const VkResult result = REAL(vkCreateShaderModule)(of, &empty, how, made);
  if (!result)
    write_bytes("shader", add(&shaders, (uint64_t)*made)->id, wanted->pCode, wanted->codeSize);
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice of, VkPipelineCache cache,
                                                       uint32_t count,
                                                       const VkComputePipelineCreateInfo* wanted,
                                                       const VkAllocationCallbacks* how,
                                                       VkPipeline* made) {
  VkComputePipelineCreateInfo* empty = calloc(count, sizeof *empty);
  for (uint32_t i = 0; i < count; ++i) {
    empty[i] = wanted[i];
    empty[i].stage.pName = "main";
    empty[i].stage.pSpecializationInfo = NULL;
    empty[i].stage.pNext = NULL;
    empty[i].stage.flags = 0;
  }
  const VkResult result = REAL(vkCreateComputePipelines)(of, cache, count, empty, how, made);
  for (uint32_t i = 0; !result && i < count; ++i)
    write_line("pipeline %d %d %s", add(&pipelines, (uint64_t)made[i])->id,
               id_of(&shaders, (uint64_t)wanted[i].stage.module), wanted[i].stage.pName);
  free(empty);
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice of, const VkBufferCreateInfo* wanted,
                                                    const VkAllocationCallbacks* how,
                                                    VkBuffer* made) {
  const VkResult result = REAL(vkCreateBuffer)(of, wanted, how, made);
  if (result) return result;
  Object* one = add(&buffers, (uint64_t)*made);
  one->bytes = wanted->size;
  one->is_uniform = (wanted->usage & VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT) != 0;
  write_line("buffer %d %llu", one->id, (unsigned long long)wanted->size);
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_buffer(VkDevice of, VkBuffer buffer,
                                                  VkDeviceMemory memory, VkDeviceSize at) {
  Object* one = find(&buffers, (uint64_t)buffer);
  if (one) {
    one->memory = (uint64_t)memory;
    one->at = at;
  }
  return REAL(vkBindBufferMemory)(of, buffer, memory, at);
}

static unsigned texel_bytes(VkFormat format) {
  switch ((int)format) {
    case VK_FORMAT_R32G32B32A32_SFLOAT:
    case VK_FORMAT_R32G32B32A32_UINT:
    case VK_FORMAT_R32G32B32A32_SINT: return 16;
    case VK_FORMAT_R16G16B16A16_SFLOAT:
    case VK_FORMAT_R32G32_SFLOAT:
    case VK_FORMAT_R32G32_UINT: return 8;
    case VK_FORMAT_R16_SFLOAT: return 2;
    case VK_FORMAT_R8_UNORM: return 1;
    default: return 4;
  }
}

static VKAPI_ATTR VkResult VKAPI_CALL create_image(VkDevice of, const VkImageCreateInfo* wanted,
                                                   const VkAllocationCallbacks* how,
                                                   VkImage* made) {
  const VkResult result = REAL(vkCreateImage)(of, wanted, how, made);
  if (result) return result;
  const VkExtent3D* sides = &wanted->extent;
  const unsigned long long bytes = (unsigned long long)sides->width * sides->height * sides->depth *
                                   wanted->arrayLayers * texel_bytes(wanted->format);
  write_line("image %d %llu", add(&images, (uint64_t)*made)->id, bytes);
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_view(VkDevice of, const VkImageViewCreateInfo* wanted,
                                                  const VkAllocationCallbacks* how,
                                                  VkImageView* made) {
  const VkResult result = REAL(vkCreateImageView)(of, wanted, how, made);
  if (!result) add(&views, (uint64_t)*made)->id = id_of(&images, (uint64_t)wanted->image);
  return result;
}

static void write_set(const VkWriteDescriptorSet* one, uint32_t i) {
  const unsigned long long set = (unsigned long long)one->dstSet;
  const unsigned binding = one->dstBinding + i;
  const int type = (int)one->descriptorType;
  switch (type) {
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
      write_line("set %llx %u %d buffer %d %llu", set, binding, type,
                 id_of(&buffers, (uint64_t)one->pBufferInfo[i].buffer),
                 (unsigned long long)one->pBufferInfo[i].offset);
      break;
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      write_line("set %llx %u %d image %d", set, binding, type,
                 id_of(&views, (uint64_t)one->pImageInfo[i].imageView));
      break;
    default: break;
  }
}

static VKAPI_ATTR void VKAPI_CALL update_sets(VkDevice of, uint32_t count,
                                              const VkWriteDescriptorSet* writes, uint32_t copies,
                                              const VkCopyDescriptorSet* copied) {
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t j = 0; j < writes[i].descriptorCount; ++j) write_set(&writes[i], j);
  REAL(vkUpdateDescriptorSets)(of, count, writes, copies, copied);
}

static VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer to, VkPipelineBindPoint point,
                                                VkPipeline pipeline) {
  write_line("run %d", id_of(&pipelines, (uint64_t)pipeline));
  REAL(vkCmdBindPipeline)(to, point, pipeline);
}

static VKAPI_ATTR void VKAPI_CALL bind_sets(VkCommandBuffer to, VkPipelineBindPoint point,
                                            VkPipelineLayout layout, uint32_t first, uint32_t count,
                                            const VkDescriptorSet* sets, uint32_t offset_count,
                                            const uint32_t* offsets) {
  char words[512] = "";
  for (uint32_t i = 0; i < offset_count && i < kMostWords; ++i)
    snprintf(words + strlen(words), sizeof words - strlen(words), " %u", offsets[i]);
  for (uint32_t i = 0; i < count; ++i)
    write_line("bind %u %llx%s", first + i, (unsigned long long)sets[i], words);
  REAL(vkCmdBindDescriptorSets)(to, point, layout, first, count, sets, offset_count, offsets);
}

static VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer to, uint32_t x, uint32_t y, uint32_t z) {
  write_line("dispatch %u %u %u", x, y, z);
  REAL(vkCmdDispatch)(to, x, y, z);
}

// From now on dispatches are of an inference that is looked at.
EXPORTED void pretended_vulkan_mark(void) { write_line("mark"); }

// Writes the contents of buffers that kernels' numbers lie in, and ends the recording.
EXPORTED void pretended_vulkan_end(void) {
  REAL(vkDeviceWaitIdle)(device);
  for (int i = 0; i < buffers.count; ++i) {
    const Object* one = &buffers.all[i];
    void* at = NULL;
    if (!one->is_uniform || !one->memory) continue;
    VkDeviceMemory memory = (VkDeviceMemory)one->memory;
    if (REAL(vkMapMemory)(device, memory, 0, VK_WHOLE_SIZE, 0, &at) || !at) continue;
    const size_t size = one->bytes < kMostNumbers ? one->bytes : kMostNumbers;
    write_bytes("uniforms", one->id, (const char*)at + one->at, size);
  }
  fflush(calls);
}

// --- How a loader finds all this

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* wanted,
                                                      const VkAllocationCallbacks* how,
                                                      VkInstance* made) {
  PFN_vkCreateInstance create = (PFN_vkCreateInstance)real_of_instance(NULL, "vkCreateInstance");
  const VkResult result = create(wanted, how, made);
  if (!result) instance = *made;
  return result;
}

static PFN_vkVoidFunction own(const char* name);

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL of_device(VkDevice one, const char* name) {
  PFN_vkVoidFunction there = REAL(vkGetDeviceProcAddr)(one, name), found = own(name);
  return there && found ? found : there;
}

EXPORTED VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance one,
                                                                            const char* name) {
  if (one) instance = one;
  PFN_vkVoidFunction there = real_of_instance(one, name), found = own(name);
  return there && found ? found : there;
}

EXPORTED VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL
vk_icdGetPhysicalDeviceProcAddr(VkInstance one, const char* name) {
  PFN_vkVoidFunction there = real_of_physical ? real_of_physical(one, name) : NULL;
  PFN_vkVoidFunction found = own(name);
  return there && found ? found : there;
}

EXPORTED VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t* one) {
  return real_negotiate(one);
}

static PFN_vkVoidFunction own(const char* name) {
  static const struct {
    const char* name;
    PFN_vkVoidFunction function;
  } kOwn[] = {
      {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
      {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)vk_icdGetInstanceProcAddr},
      {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)of_device},
      {"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)get_properties},
      {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)get_properties2},
      {"vkGetPhysicalDeviceProperties2KHR", (PFN_vkVoidFunction)get_properties2},
      {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)get_features2},
      {"vkGetPhysicalDeviceFeatures2KHR", (PFN_vkVoidFunction)get_features2},
      {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)get_extensions},
      {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
      {"vkCreateShaderModule", (PFN_vkVoidFunction)create_shader},
      {"vkCreateComputePipelines", (PFN_vkVoidFunction)create_pipelines},
      {"vkCreateBuffer", (PFN_vkVoidFunction)create_buffer},
      {"vkBindBufferMemory", (PFN_vkVoidFunction)bind_buffer},
      {"vkCreateImage", (PFN_vkVoidFunction)create_image},
      {"vkCreateImageView", (PFN_vkVoidFunction)create_view},
      {"vkUpdateDescriptorSets", (PFN_vkVoidFunction)update_sets},
      {"vkCmdBindPipeline", (PFN_vkVoidFunction)bind_pipeline},
      {"vkCmdBindDescriptorSets", (PFN_vkVoidFunction)bind_sets},
      {"vkCmdDispatch", (PFN_vkVoidFunction)dispatch},
  };
  for (size_t i = 0; i < sizeof kOwn / sizeof *kOwn; ++i)
    if (!strcmp(name, kOwn[i].name)) return kOwn[i].function;
  return NULL;
}
