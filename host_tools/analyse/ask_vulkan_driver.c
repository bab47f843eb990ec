// ask_vulkan_driver DRIVER FILE...: has the Vulkan driver in the library DRIVER compile kernels,
// and prints whatever the driver says, as ask_driver.c does for OpenGL ES. Nothing is launched:
// the device may be a pretended one.
//
// A file's first line has the kernel's name and its bindings, as `main 0:6 1:2` (binding, and
// VkDescriptorType); behind it are the words of SPIR-V in hexadecimal.
//
// Exit status 2: there is no such driver. It needs no loader: a driver answers by itself.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

enum { kMostBindings = 64, kMostDevices = 8, kDigits = 8 };

static PFN_vkGetInstanceProcAddr look_up;
static VkInstance instance;
static VkDevice device;

static void give_up(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(2);
}

static PFN_vkVoidFunction function(const char* name) {
  PFN_vkVoidFunction found = look_up(instance, name);
  if (!found) give_up(name);
  return found;
}

// A function of the API: CALL(vkCreateDevice)(...)
#define CALL(name) ((PFN_##name)function(#name))

static void open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) give_up(dlerror());
  VkResult (*negotiate)(uint32_t*) = NULL;
  *(void**)&negotiate = dlsym(library, "vk_icdNegotiateLoaderICDInterfaceVersion");
  *(void**)&look_up = dlsym(library, "vk_icdGetInstanceProcAddr");
  if (!look_up) give_up("vk_icdGetInstanceProcAddr");
  uint32_t version = 5;
  if (negotiate) negotiate(&version);
}

static VkPhysicalDevice first_device(void) {
  const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                         .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo wanted = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
  if (CALL(vkCreateInstance)(&wanted, NULL, &instance)) give_up("vkCreateInstance");
  VkPhysicalDevice found[kMostDevices];
  uint32_t count = kMostDevices;
  if (CALL(vkEnumeratePhysicalDevices)(instance, &count, found) < 0 || !count)
    give_up("there is no Vulkan device");
  return found[0];
}

// With all that the device has: a kernel may ask for anything.
static void open_device(VkPhysicalDevice physical) {
  VkPhysicalDeviceVulkan13Features of_1_3 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceVulkan12Features of_1_2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &of_1_3};
  VkPhysicalDeviceVulkan11Features of_1_1 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &of_1_2};
  VkPhysicalDeviceFeatures2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                   .pNext = &of_1_1};
  CALL(vkGetPhysicalDeviceFeatures2)(physical, &all);
  all.features.robustBufferAccess = VK_FALSE;  // a phone's program does not ask for it
  of_1_3.robustImageAccess = VK_FALSE;
  const float priority = 1.0f;
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueCount = 1,
                                         .pQueuePriorities = &priority};
  const VkDeviceCreateInfo wanted = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &all,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue};
  if (CALL(vkCreateDevice)(physical, &wanted, NULL, &device)) give_up("vkCreateDevice");
}

static char* content(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) give_up(path);
  long size = ftell(file);
  rewind(file);
  char* text = calloc((size_t)size + 1, 1);
  if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) give_up(path);
  fclose(file);
  return text;
}

static VkPipelineLayout layout_of(char* words) {
  VkDescriptorSetLayoutBinding bindings[kMostBindings];
  uint32_t count = 0, number = 0, type = 0;
  for (char* word = words ? strtok(words, " ") : NULL; word && count < kMostBindings;
       word = strtok(NULL, " "))
    if (sscanf(word, "%u:%u", &number, &type) == 2)
      bindings[count++] = (VkDescriptorSetLayoutBinding){number, (VkDescriptorType)type, 1,
                                                         VK_SHADER_STAGE_COMPUTE_BIT, NULL};
  const VkDescriptorSetLayoutCreateInfo of_set = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = count,
      .pBindings = bindings};
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
  CALL(vkCreateDescriptorSetLayout)(device, &of_set, NULL, &set);
  const VkPipelineLayoutCreateInfo wanted = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &set};
  VkPipelineLayout found = VK_NULL_HANDLE;
  CALL(vkCreatePipelineLayout)(device, &wanted, NULL, &found);
  return found;
}

static const char* compiled(char* text) {
  char* code = strchr(text, '\n');
  if (!code) return "compile";
  *code++ = '\0';
  char* bindings = strchr(text, ' ');
  if (bindings) *bindings++ = '\0';
  const size_t count = strlen(code) / kDigits;
  uint32_t* words = calloc(count + 1, sizeof *words);
  for (size_t i = 0; i < count; ++i) {
    char word[kDigits + 1] = "";
    memcpy(word, code + i * kDigits, kDigits);
    words[i] = (uint32_t)strtoul(word, NULL, 16);
  }
  const VkShaderModuleCreateInfo of_code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                            .codeSize = count * sizeof *words,
                                            .pCode = words};
  VkShaderModule shader = VK_NULL_HANDLE;
  if (CALL(vkCreateShaderModule)(device, &of_code, NULL, &shader)) return "compile";
  const VkComputePipelineCreateInfo wanted = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = shader,
                .pName = text},
      .layout = layout_of(bindings)};
  VkPipeline pipeline = VK_NULL_HANDLE;
  if (CALL(vkCreateComputePipelines)(device, VK_NULL_HANDLE, 1, &wanted, NULL, &pipeline))
    return "link";
  free(words);
  return "ok";
}

int main(int count, char** words) {
  dup2(1, 2);  // drivers write to both: one order
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (count < 2) give_up("ask_vulkan_driver DRIVER FILE...");
  open_library(words[1]);
  VkPhysicalDevice physical = first_device();
  VkPhysicalDeviceProperties said;
  CALL(vkGetPhysicalDeviceProperties)(physical, &said);
  printf("### device %s | Vulkan %u.%u\n", said.deviceName, VK_VERSION_MAJOR(said.apiVersion),
         VK_VERSION_MINOR(said.apiVersion));
  open_device(physical);
  for (int i = 2; i < count; ++i) {
    char* text = content(words[i]);
    printf("### text %s\n", words[i]);
    const char* end = compiled(text);
    printf("### end %s\n", end);
    free(text);
  }
  fflush(stdout);
  _exit(0);  // a driver of a pretended device may not end in order
}
