// Element types of the model's tensors, and how the GPU's memory stores them.
#ifndef QUADRA_BASE_ELEMENT_H_
#define QUADRA_BASE_ELEMENT_H_

#include <cstddef>
#include <cstdint>

namespace quadra {

// float16 is how the interpreter keeps floats that kernels have in the precision of the plan. A
// complex64 is two neighbours along the last axis, which is twice as long in a graph as in a model:
// so it lies in memory as the interpreter has it.
enum class Element : uint8_t {
  kFloat32,
  kFloat16,
  kInt32,
  kBool,
  kInt8,
  kUInt8,
  kInt64,
  kInt16,
  kComplex64
};

// "float32"; the words of graph texts.
constexpr const char* NameOf(Element element) {
  constexpr const char* kNames[] = {"float32", "float16", "int32", "bool",     "int8",
                                    "uint8",   "int64",   "int16", "complex64"};
  return kNames[static_cast<int>(element)];
}

// Size of one number in the interpreter's memory; of a complex one, of a part.
constexpr size_t BytesOf(Element element) {
  constexpr uint8_t kBytes[] = {4, 2, 4, 1, 1, 1, 8, 2, 4};
  return kBytes[static_cast<int>(element)];
}

// Some elements, as bits.
using Elements = uint16_t;
constexpr Elements Only(Element element) {
  return static_cast<Elements>(1 << static_cast<int>(element));
}
constexpr Elements kFloats = Only(Element::kFloat32) | Only(Element::kFloat16);
constexpr Elements kInts = Only(Element::kInt32);
constexpr Elements kBools = Only(Element::kBool);
// Those that may stand for floats.
constexpr Elements kNarrowInts =
    Only(Element::kInt8) | Only(Element::kUInt8) | Only(Element::kInt16);
constexpr Elements kComplex = Only(Element::kComplex64);
constexpr Elements kAllElements = 0xff;  // but complex ones: few ops count two parts

constexpr bool IsFloat(Element element) {
  return element <= Element::kFloat16 || element == Element::kComplex64;
}

// How a kernel's tensor keeps a number. Floats are halfs where the precision says so; all other
// elements are ints, never in half: that holds no whole number above 2048. A plan's inputs may be
// bytes, as the interpreter has them.
enum class Cell : uint8_t { kFloat, kHalf, kInt, kInt8, kUInt8 };

constexpr Cell CellOf(Element element, bool half) {
  return !IsFloat(element) ? Cell::kInt : half ? Cell::kHalf : Cell::kFloat;
}
// The cell in which an input of this type is stored.
constexpr Cell CellOfInput(Element element) {
  return element == Element::kInt8    ? Cell::kInt8
         : element == Element::kUInt8 ? Cell::kUInt8
                                      : CellOf(element, /*half=*/false);
}

}  // namespace quadra

#endif  // QUADRA_BASE_ELEMENT_H_
