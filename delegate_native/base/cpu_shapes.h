// Which libraries have kernels for the CPUs that stand in for a GPU.
#ifndef QUADRA_BASE_CPU_SHAPES_H_
#define QUADRA_BASE_CPU_SHAPES_H_

namespace quadra {

// Whether this library has kernels shaped for CPUs. On phones nothing would run them.
#if defined(__ANDROID__) && (defined(__arm__) || defined(__aarch64__))
constexpr bool kHasCpuShapes = false;
#else
constexpr bool kHasCpuShapes = true;
#endif

}  // namespace quadra

#endif  // QUADRA_BASE_CPU_SHAPES_H_
