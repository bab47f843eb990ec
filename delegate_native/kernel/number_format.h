// How numbers are stored in memory and computed with: tables by storage, precision and language
// (docs/kernels.md), which the renderers of both languages read.
#ifndef QUADRA_KERNEL_NUMBER_FORMAT_H_
#define QUADRA_KERNEL_NUMBER_FORMAT_H_

#include <cstdint>

#include "delegate_native/base/element.h"

namespace quadra {

enum class Language : uint8_t { kOpenCl, kGles };

// F32 everywhere; half storage with float arithmetic; half for both (where the device computes in
// half; sums stay float).
enum class Precision : uint8_t { kF32, kF32F16, kF16 };
const char* NameOf(Precision precision);

constexpr bool StoresHalf(Precision precision) { return precision != Precision::kF32; }
constexpr bool ComputesHalf(Precision precision) { return precision == Precision::kF16; }

// TexelRow: a buffer that OpenGL ES reads as an image of one row. WideBuffer: a constant's vectors
// of more than four numbers, on CPUs.
enum class MemoryKind : uint8_t { kBuffer, kWideBuffer, kTexelRow, kImage };

// Texts with these holes: $t, the name of the tensor or constant; $i, the index of an element; in
// OpenCL $from and $at, a pointer to read from and the index of the element there; $row, that of a
// row's first one; $pixel, the two coordinates of an image; $v, the value to write; $lanes, the
// numbers of a constant's vector, if they are several. And these conditions: slices, ints, read,
// one (a number is an element), plane (the place is X, Y, S).
struct NumberFormat {
  Precision from;  // holds for this one, and for those with more in half
  MemoryKind memory;
  Cell cell;                // kFloat: ints of 32 bits, too
  const char* declaration;  // $stored is the type, $n the binding
  const char* type;         // in memory, or the format of an image
  const char* read;         // an expression of the type that is computed with
  const char* write = "";   // a statement, which rounds as the memory asks
  const char* place = "";   // $i of X, Y, S
  const char* walk = "";    // $i of the place P
  // The same of a medium4_t. Null: by a conversion.
  const char* read_medium = nullptr;
  const char* write_medium = nullptr;
};

const NumberFormat& FormatOf(Language language, Precision precision, MemoryKind memory, Cell cell);

}  // namespace quadra

#endif  // QUADRA_KERNEL_NUMBER_FORMAT_H_
