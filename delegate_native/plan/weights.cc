#include "delegate_native/plan/weights.h"

#include <algorithm>

#include "delegate_native/plan/plan_bytes.h"

namespace quadra {

void GiveBack(const uint8_t* data, size_t size) {
  const auto page = PageBytes();                                          // a power of two
  const size_t before = -reinterpret_cast<uintptr_t>(data) & (page - 1);  // its first whole page
  const size_t whole = size > before ? (size - before) & ~(page - 1) : 0;
  if (whole > 0) madvise(const_cast<uint8_t*>(data) + before, whole, MADV_DONTNEED);
}

void Weights::Drop() {
  if (data) GiveBack(data, size);
  data = nullptr;
  memory.reset();
}

std::shared_ptr<Weights> WeightStore::Find(const fb::Buffer& buffer) {
  for (const std::weak_ptr<Weights>& known : known_) {
    std::shared_ptr<Weights> one = known.lock();
    if (one && one->low == buffer.content_low() && one->high == buffer.content_high() &&
        one->size == buffer.bytes()) {
      return one;
    }
  }
  const auto gone = [](const std::weak_ptr<Weights>& one) { return one.expired(); };
  known_.erase(std::remove_if(known_.begin(), known_.end(), gone), known_.end());
  auto made =
      std::make_shared<Weights>(buffer.content_low(), buffer.content_high(), buffer.bytes());
  known_.push_back(made);
  return made;
}

PlanWeights WeightStore::Share(const fb::Plan& plan, const std::shared_ptr<const void>& memory) {
  PlanWeights weights(plan.buffers()->size());
  for (unsigned i = 0; i < weights.size(); ++i) {
    const fb::Buffer& buffer = *plan.buffers()->Get(i);
    if (buffer.kind() != fb::BufferKind_Constant || buffer.content_high() == 0) continue;
    weights[i] = Find(buffer);
    if (weights[i]->data) continue;
    weights[i]->data = buffer.data()->data();
    weights[i]->memory = memory;
  }
  return weights;
}

}  // namespace quadra
