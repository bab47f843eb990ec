#include "delegate_native/runner/arrays.h"

#include <cstdlib>

#include "delegate_native/base/status.h"
#include "delegate_native/runner/files.h"

namespace quadra {
namespace {

constexpr char kMagic[] = "\x93NUMPY\x01";  // and a byte of the minor version, two of the length
constexpr size_t kMagicSize = sizeof(kMagic) - 1;
constexpr size_t kPrefix = 10;
constexpr size_t kAlignment = 64;

struct Type {
  TfLiteType type;
  const char* name;
  const char* npy;
};

constexpr Type kTypes[] = {
    {kTfLiteFloat32, "float32", "<f4"}, {kTfLiteFloat16, "float16", "<f2"},
    {kTfLiteFloat64, "float64", "<f8"}, {kTfLiteInt8, "int8", "|i1"},
    {kTfLiteUInt8, "uint8", "|u1"},     {kTfLiteInt16, "int16", "<i2"},
    {kTfLiteInt32, "int32", "<i4"},     {kTfLiteInt64, "int64", "<i8"},
    {kTfLiteBool, "bool", "|b1"},       {kTfLiteComplex64, "complex64", "<c8"},
};

const Type* Find(TfLiteType type) {
  for (const Type& one : kTypes) {
    if (one.type == type) return &one;
  }
  return nullptr;
}

Outcome Damaged(const std::string& path, const char* cause) {
  return Outcome::Misuse("read " + path, cause, "make the run folder again");
}

// The numbers behind 'shape': (1, 64, 48, 3).
std::vector<int> ShapeOf(const std::string& header) {
  constexpr char kShape[] = "'shape': (";
  const size_t found = header.find(kShape);
  std::vector<int> shape;
  if (found == std::string::npos) return shape;
  const char* at = header.c_str() + found + sizeof(kShape) - 1;
  for (char* end = nullptr;; at = end) {
    while (*at == ' ' || *at == ',') ++at;
    const long side = strtol(at, &end, 10);
    if (end == at) return shape;
    shape.push_back(static_cast<int>(side));
  }
}

Outcome DoesNotFit(const Array& array, const Tensor& tensor) {
  const Type* type = Find(tensor.type);
  return Outcome::Misuse("set the input " + tensor.name,
                         Format("it takes %zu bytes of %s, %s has %zu bytes: %s", tensor.bytes,
                                type ? type->name : "no numeric type", array.path.c_str(),
                                array.values.size(), array.header.c_str()),
                         "make the run folder again");
}

}  // namespace

const char* TypeName(TfLiteType type) {
  const Type* found = Find(type);
  return found ? found->name : nullptr;
}

Tensor Describe(const TfLiteApi& tflite, const TfLiteTensor* tensor, const std::string& name) {
  const char* own_name = tflite.TfLiteTensorName(tensor);
  Tensor facts{name,
               own_name ? own_name : "",
               tflite.TfLiteTensorType(tensor),
               {},
               tflite.TfLiteTensorQuantizationParams(tensor),
               tflite.TfLiteTensorByteSize(tensor)};
  for (int i = 0; i < tflite.TfLiteTensorNumDims(tensor); ++i) {
    facts.shape.push_back(tflite.TfLiteTensorDim(tensor, i));
  }
  return facts;
}

Outcome ParseArray(const std::string& file, Array* array) {
  const std::string& path = array->path;
  if (file.size() < kPrefix || file.compare(0, kMagicSize, kMagic, kMagicSize) != 0) {
    return Damaged(path, "it is not a .npy file of version 1");
  }
  const size_t begin = kPrefix + static_cast<unsigned char>(file[8]) +
                       (static_cast<size_t>(static_cast<unsigned char>(file[9])) << 8);
  if (begin > file.size()) return Damaged(path, "it ends within its header");
  const size_t header_end = file.find_last_not_of(" \n", begin - 1) + 1;
  array->header = file.substr(kPrefix, header_end - kPrefix);
  array->shape = ShapeOf(array->header);
  array->values = file.substr(begin);
  return Outcome();
}

std::string ArrayPath(const std::string& folder, size_t index) {
  return folder + Format("/%03d.npy", static_cast<int>(index));
}

Outcome ReadArrays(const std::string& folder, std::vector<Array>* arrays) {
  std::vector<std::string> paths;
  for (std::string path; FileExists(path = ArrayPath(folder, paths.size()));) paths.push_back(path);
  return ReadArrays(paths, arrays);
}

Outcome ReadArrays(const std::vector<std::string>& paths, std::vector<Array>* arrays) {
  for (const std::string& path : paths) {
    arrays->emplace_back();
    arrays->back().path = path;
    std::string file;
    QUADRA_RETURN_IF_FAILED(ReadFile(path, &file));
    QUADRA_RETURN_IF_FAILED(ParseArray(file, &arrays->back()));
  }
  return Outcome();
}

Outcome RequireType(const Array& array, const Tensor& tensor) {
  const Type* type = Find(tensor.type);
  const std::string wanted = std::string("'descr': '") + (type ? type->npy : "") + "'";
  const bool fits = type && array.header.find(wanted) != std::string::npos &&
                    array.header.find("'fortran_order': False") != std::string::npos;
  return fits ? Outcome() : DoesNotFit(array, tensor);
}

Outcome RequireFits(const Array& array, const Tensor& tensor) {
  QUADRA_RETURN_IF_FAILED(RequireType(array, tensor));
  return array.values.size() == tensor.bytes ? Outcome() : DoesNotFit(array, tensor);
}

std::string NpyFile(const Tensor& tensor, const std::string& values) {
  std::string header =
      Format("{'descr': '%s', 'fortran_order': False, 'shape': (", Find(tensor.type)->npy);
  for (int n : tensor.shape) header += Format("%d,", n);
  header += "), }";
  header.append(kAlignment - (kPrefix + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string file(kMagic, kMagicSize);
  file += '\0';
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + values;
}

}  // namespace quadra
