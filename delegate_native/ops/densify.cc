// DENSIFY: a sparse constant written out, when the model is loaded. Sparse means levels, in
// traversal order, that are dense or list the indices they hold (CSR); an axis may be cut into
// blocks, whose inside is a level of its own.
#include <utility>

#include "delegate_native/base/half.h"
#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

// Reads one sparse tensor. `strides` says how far apart, in the dense tensor, the neighbours of
// each level are.
class Reader {
 public:
  Reader(const TfLiteTensor& tensor, std::vector<float>* dense) : tensor_(tensor), dense_(dense) {}

  Status Read() {
    QUADRA_RETURN_IF_ERROR(FindStrides());
    const bool half = tensor_.type == kTfLiteFloat16;
    count_ = tensor_.bytes / (half ? 2 : 4);
    QUADRA_RETURN_IF_ERROR(ReadLevel(0, 0, 0));
    if (next_ != count_) {
      return InvalidModel("it lists %zu values and the constant has %zu", next_, count_);
    }
    return Status();
  }

 private:
  const TfLiteDimensionMetadata& Level(size_t i) const { return tensor_.sparsity->dim_metadata[i]; }

  // Checks that the order names every axis and block once, and finds each level's stride.
  Status FindStrides() {
    const TfLiteSparsity& sparsity = *tensor_.sparsity;
    const size_t rank = static_cast<size_t>(tensor_.dims->size);
    const size_t blocks = sparsity.block_map ? static_cast<size_t>(sparsity.block_map->size) : 0;
    levels_ = static_cast<size_t>(sparsity.dim_metadata_size);
    if (!sparsity.traversal_order || levels_ != rank + blocks ||
        sparsity.traversal_order->size != sparsity.dim_metadata_size) {
      return InvalidModel("its sparsity has %zu levels for rank %zu and %zu blocks", levels_, rank,
                          blocks);
    }
    std::vector<size_t> level_of(levels_, levels_);  // level that walks an axis, or a block
    for (size_t i = 0; i < levels_; ++i) {
      const size_t what = static_cast<size_t>(sparsity.traversal_order->data[i]);
      if (what >= levels_ || level_of[what] != levels_) {
        return InvalidModel("the traversal order of its sparsity is no permutation");
      }
      level_of[what] = i;
    }
    strides_.resize(levels_);
    sizes_.resize(levels_);
    size_t stride = 1;
    for (size_t axis = rank; axis-- > 0;) {
      const size_t length = static_cast<size_t>(tensor_.dims->data[axis]);
      size_t block = 1;
      for (size_t k = 0; k < blocks; ++k) {
        if (static_cast<size_t>(sparsity.block_map->data[k]) != axis) continue;
        const size_t level = level_of[rank + k];
        const int size = Level(level).dense_size;
        if (block != 1 || size < 1 || length % static_cast<size_t>(size) != 0) {
          return InvalidModel("blocks of %d do not divide axis %zu of %zu", size, axis, length);
        }
        block = static_cast<size_t>(size);
        strides_[level] = stride;
        sizes_[level] = block;
      }
      strides_[level_of[axis]] = stride * block;
      sizes_[level_of[axis]] = length / block;
      stride *= length;
    }
    return Status();
  }

  // `group` counts the groups of this level that came before; `at` is the place so far.
  Status ReadLevel(size_t level, size_t group, size_t at) {
    if (level == levels_) return ReadValue(at);
    const TfLiteDimensionMetadata& entry = Level(level);
    if (entry.format == 0) {
      if (static_cast<size_t>(entry.dense_size) != sizes_[level]) {
        return InvalidModel("level %zu of its sparsity has size %d, not %zu", level,
                            entry.dense_size, sizes_[level]);
      }
      for (size_t i = 0; i < sizes_[level]; ++i) {
        QUADRA_RETURN_IF_ERROR(
            ReadLevel(level + 1, group * sizes_[level] + i, at + i * strides_[level]));
      }
      return Status();
    }
    const TfLiteIntArray* segments = entry.array_segments;
    const TfLiteIntArray* indices = entry.array_indices;
    if (!segments || !indices || group + 1 >= static_cast<size_t>(segments->size)) {
      return InvalidModel("level %zu of its sparsity ends early", level);
    }
    const int begin = segments->data[group], end = segments->data[group + 1];
    if (begin < 0 || begin > end || end > indices->size) {
      return InvalidModel("level %zu of its sparsity lists %d to %d of %d indices", level, begin,
                          end, indices->size);
    }
    for (int i = begin; i < end; ++i) {
      const size_t index = static_cast<size_t>(indices->data[i]);
      if (index >= sizes_[level]) {
        return InvalidModel("level %zu of its sparsity has index %d of %zu", level,
                            indices->data[i], sizes_[level]);
      }
      QUADRA_RETURN_IF_ERROR(
          ReadLevel(level + 1, static_cast<size_t>(i), at + index * strides_[level]));
    }
    return Status();
  }

  Status ReadValue(size_t at) {
    if (next_ >= count_) return InvalidModel("it lists more values than the constant has");
    (*dense_)[at] = tensor_.type == kTfLiteFloat16
                        ? HalfToFloat(static_cast<const uint16_t*>(tensor_.data)[next_])
                        : static_cast<const float*>(tensor_.data)[next_];
    ++next_;
    return Status();
  }

  const TfLiteTensor& tensor_;
  std::vector<float>* dense_;
  size_t levels_ = 0, count_ = 0, next_ = 0;
  std::vector<size_t> strides_, sizes_;
};

Status Import(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  const TfLiteTensor& tensor = importer->InputTensor(0);
  if (!importer->IsConstant(0)) {
    return Unsupported("its input is computed while the model runs; only constants are supported");
  }
  if (tensor.type != kTfLiteFloat32 && tensor.type != kTfLiteFloat16) {
    return Unsupported("it writes out %s; float32 and float16 are supported",
                       TypeName(tensor.type));
  }
  if (!tensor.sparsity || !tensor.dims || !tensor.data) {
    return InvalidModel("its input is not sparse");
  }
  if (tensor.dims->size > 4) {
    return Unsupported("its input has rank %d; ranks up to 4 are supported", tensor.dims->size);
  }
  size_t elements = 1;
  for (int i = 0; i < tensor.dims->size; ++i) {
    const int n = tensor.dims->data[i];
    if (n < 1 || elements > (size_t{1} << 29) / static_cast<size_t>(n)) {
      return Unsupported("its shape is empty or has more than 2^29 elements");
    }
    elements *= static_cast<size_t>(n);
  }
  std::vector<float> dense(elements, 0.0f);
  QUADRA_RETURN_IF_ERROR(Reader(tensor, &dense).Read());
  return importer->AddConstantOutput(std::make_shared<const Constant>(std::move(dense)));
}

}  // namespace

extern const Op kDensifyOp;
const Op kDensifyOp = {
    .name = "densify",
    .builtins = {kTfLiteBuiltinDensify, -1},
    .max_version = 1,
    .import = Import,
};

}  // namespace quadra
