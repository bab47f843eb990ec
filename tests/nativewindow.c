// Stands for Android's libnativewindow.so: AHardwareBuffers over the memory of a file descriptor.
#include <stdint.h>
#include <stdlib.h>

typedef struct AHardwareBuffer {
  int fd;  // first: the drivers of tests read it
  uint32_t width, format;
  int references;
} AHardwareBuffer;

typedef struct {
  uint32_t width, height, layers, format;
  uint64_t usage;
  uint32_t stride, reserved0;
  uint64_t reserved1;
} Description;

AHardwareBuffer* MakeHardwareBuffer(int fd, uint32_t width, uint32_t format) {
  AHardwareBuffer* made = malloc(sizeof(*made));
  *made = (AHardwareBuffer){fd, width, format, 1};
  return made;
}

int ReferencesTo(const AHardwareBuffer* buffer) { return buffer->references; }

void AHardwareBuffer_acquire(AHardwareBuffer* buffer) { ++buffer->references; }

void AHardwareBuffer_release(AHardwareBuffer* buffer) { --buffer->references; }

void AHardwareBuffer_describe(const AHardwareBuffer* buffer, Description* description) {
  *description = (Description){buffer->width, 1, 1, buffer->format, 0, buffer->width, 0, 0};
}
