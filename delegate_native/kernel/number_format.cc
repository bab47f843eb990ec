#include "delegate_native/kernel/number_format.h"

#include "delegate_native/base/texts.h"

namespace quadra {
namespace {

// A parameter of an OpenCL kernel.
constexpr const char* kPointer = QUADRA_TEXT("__global ${read:,const }$stored* restrict $t_data");
constexpr const char* kClImage = QUADRA_TEXT("__${read:write,read}_only image2d_t $t_data");
constexpr const char* kClRow = QUADRA_TEXT("__read_only image1d_buffer_t $t_data");
constexpr const char* kBlock = QUADRA_TEXT(
    "layout(std430, binding = $n) ${read:writeonly,readonly} buffer $t_block { "
    "$stored $t_data[]; };\n");
constexpr const char* kRow = QUADRA_TEXT(
    "layout($stored, binding = $n) readonly uniform ${half:highp,mediump} ${ints:,i}imageBuffer $t_data;\n");
constexpr const char* kGlImage = QUADRA_TEXT(
    R"($if(read) layout(binding = $n) uniform ${half:highp,mediump} ${ints:,i}sampler2D $t_data;
$if(!read) layout($stored, binding = $n) writeonly uniform highp ${ints:,i}image2D $t_data;
)");

constexpr const char* kReadImage = QUADRA_TEXT("read_image${ints:f,i}($t_data, $i)");
constexpr const char* kReadRow = QUADRA_TEXT("imageLoad($t_data, $i)${one:,.x}");
constexpr const char* kReadTexel = QUADRA_TEXT("texelFetch($t_data, $i, 0)");
// Bytes are written four at once.
constexpr const char* kWriteWord = QUADRA_TEXT("((__global int*)$t_data)[$i] = $v");
constexpr const char* kFloats = QUADRA_TEXT("${one:rgba,r}32${ints:f,i}");

using P = Precision;
using M = MemoryKind;
using C = Cell;

// The first row that fits. Row and column of a buffer are apart: the compiler finds once what is
// known of either in a loop. Both languages let a driver cut digits off in an image of halfs.
const NumberFormat kOpenCl[] = {
    {P::kF32, M::kBuffer, C::kFloat, kPointer,
     QUADRA_TEXT("${slices*2+ints:float$lanes,int$lanes,vec4,ivec4}"), "$from[$at]",
     QUADRA_TEXT("${plane:$t_data,($t_data + $row)}[$i] = $v"), "(X)", "P"},
    {P::kF32, M::kBuffer, C::kHalf, kPointer, "HALF4", QUADRA_TEXT("half4_at($from, $at)"),
     QUADRA_TEXT("put_half4($v, $t_data${plane:, + $row}, $i)"), "(X)", "(P)",
     QUADRA_TEXT("medium_at($from, $at)"),
     QUADRA_TEXT("put_medium($v, $t_data${plane:, + $row}, $i)")},
    {P::kF32, M::kBuffer, C::kInt8, kPointer, "char", QUADRA_TEXT("int($t_data[$i])"), kWriteWord},
    {P::kF32, M::kBuffer, C::kUInt8, kPointer, "uchar", QUADRA_TEXT("int($t_data[$i])"),
     kWriteWord},
    {P::kF32, M::kWideBuffer, C::kHalf, kPointer, "half",
     QUADRA_TEXT("vload_half$lanes($i, $t_data)")},
    {P::kF32, M::kTexelRow, C::kFloat, kClRow, "", kReadImage},
    {P::kF32, M::kTexelRow, C::kHalf, kClRow, "", kReadImage, "", "", "",
     QUADRA_TEXT("read_imageh($t_data, $i)")},
    {P::kF32, M::kImage, C::kFloat, kClImage, "", kReadImage,
     QUADRA_TEXT("write_image${ints:f,i}($t_data, $i, $v)"), QUADRA_TEXT("(int2)($pixel)"), "(P)"},
    {P::kF32, M::kImage, C::kHalf, kClImage, "", kReadImage,
     QUADRA_TEXT("write_imagef($t_data, $i, half_stored($v, $t_h >> 31))"),
     QUADRA_TEXT("(int2)($pixel)"), "(P)", QUADRA_TEXT("read_imageh($t_data, $i)"),
     QUADRA_TEXT("write_imagef($t_data, $i, to_float($v))")},
};
// Numbers that come in may lie beyond half's range.
const NumberFormat kGles[] = {
    {P::kF16, M::kBuffer, C::kFloat, kBlock,
     QUADRA_TEXT("${read-slices-ints:,highp }${ints*2+one:vec4,float,ivec4,int}"), "$t_data[$i]",
     QUADRA_TEXT("$t_data[$i] = $v"), "$row + (X)", "P"},
    {P::kF32, M::kBuffer, C::kFloat, kBlock, QUADRA_TEXT("${ints*2+one:vec4,float,ivec4,int}"),
     "$t_data[$i]", QUADRA_TEXT("$t_data[$i] = $v"), "$row + (X)", "P"},
    {P::kF32, M::kBuffer, C::kHalf, kBlock, "uvec2",
     QUADRA_TEXT("vec4(unpackHalf2x16($t_data[$i].x), unpackHalf2x16($t_data[$i].y))"),
     QUADRA_TEXT("$t_data[$i] = uvec2(packHalf2x16($v.xy), packHalf2x16($v.zw))"), "$row + (X)",
     "P"},
    {P::kF32, M::kBuffer, C::kInt8, kBlock, "int",
     QUADRA_TEXT("bitfieldExtract($t_data[(I) >> 2], ((I) & 3) * 8, 8)"),
     QUADRA_TEXT("$t_data[$i] = $v")},
    {P::kF32, M::kBuffer, C::kUInt8, kBlock, "int",
     QUADRA_TEXT("(($t_data[(I) >> 2] >> (((I) & 3) * 8)) & 255)"),
     QUADRA_TEXT("$t_data[$i] = $v")},
    {P::kF32, M::kTexelRow, C::kFloat, kRow, kFloats, kReadRow, "", "$row + (X)", "(P)"},
    {P::kF32, M::kTexelRow, C::kHalf, kRow, "rgba16f", kReadRow, "", "$row + (X)", "(P)"},
    {P::kF32, M::kTexelRow, C::kInt8, kRow, kFloats,
     QUADRA_TEXT("bitfieldExtract(imageLoad($t_data, (I) >> 2).x, ((I) & 3) * 8, 8)")},
    {P::kF32, M::kTexelRow, C::kUInt8, kRow, kFloats,
     QUADRA_TEXT("((imageLoad($t_data, (I) >> 2).x >> (((I) & 3) * 8)) & 255)")},
    {P::kF32, M::kImage, C::kFloat, kGlImage, kFloats, kReadTexel,
     QUADRA_TEXT("imageStore($t_data, $i, $v)"), QUADRA_TEXT("ivec2($pixel)"), "(P)"},
    {P::kF32, M::kImage, C::kHalf, kGlImage, "rgba16f", kReadTexel,
     QUADRA_TEXT("imageStore($t_data, $i, half_rounded($v))"), QUADRA_TEXT("ivec2($pixel)"), "(P)"},
};

}  // namespace

const char* NameOf(Precision precision) {
  switch (precision) {
    case Precision::kF32: return "f32";
    case Precision::kF32F16: return "f32_f16";
    case Precision::kF16: return "f16";
  }
  return "?";
}

const NumberFormat& FormatOf(Language language, Precision precision, MemoryKind memory, Cell cell) {
  const NumberFormat* row = language == Language::kOpenCl ? kOpenCl : kGles;
  if (cell == Cell::kInt) cell = Cell::kFloat;
  while (row->from > precision || row->memory != memory || row->cell != cell) ++row;
  return *row;
}

}  // namespace quadra
