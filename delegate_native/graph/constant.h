// Numbers that are known when the model is loaded: a view of the model's bytes, which live as long
// as its interpreter, or numbers of our own. Floats are made of them when somebody asks, and go
// when the last who asked lets them go, so that weights do not lie in memory twice.
#ifndef QUADRA_GRAPH_CONSTANT_H_
#define QUADRA_GRAPH_CONSTANT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace quadra {

using SharedFloats = std::shared_ptr<const std::vector<float>>;
inline SharedFloats Share(std::vector<float> floats) {
  return std::make_shared<const std::vector<float>>(std::move(floats));
}

class Constant {
 public:
  enum class Type : uint8_t { kFloat32, kFloat16 };

  explicit Constant(std::vector<float> floats)
      : own_(Share(std::move(floats))), size_(own_->size()) {}
  // `bytes` must outlive this; they may lie at any address.
  Constant(const void* bytes, Type type, size_t size) : bytes_(bytes), type_(type), size_(size) {}

  size_t size() const { return size_; }
  SharedFloats floats() const;
  float front() const;

 private:
  float at(size_t i) const;

  SharedFloats own_;
  const void* bytes_ = nullptr;
  Type type_ = Type::kFloat32;
  size_t size_ = 0;
};

using ConstantData = std::shared_ptr<const Constant>;

}  // namespace quadra

#endif  // QUADRA_GRAPH_CONSTANT_H_
