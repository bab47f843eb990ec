// Which libraries have kernels for the CPUs that stand in for a GPU.
#ifndef QUADRA_BASE_CPU_SHAPES_H_
#define QUADRA_BASE_CPU_SHAPES_H_

// Whether this library has kernels shaped for CPUs. On phones nothing would run them. Bazel's
// config `phone` leaves them out of a host's library, too, so that what phones get runs in tests.
// The assembler reads this as well.
#ifndef QUADRA_CPU_SHAPES
#if defined(__ANDROID__) && (defined(__arm__) || defined(__aarch64__))
#define QUADRA_CPU_SHAPES 0
#else
#define QUADRA_CPU_SHAPES 1
#endif
#endif

#endif  // QUADRA_BASE_CPU_SHAPES_H_
