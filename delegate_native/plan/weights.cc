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

void Weights::EndReading() {
  if (--readers_ == 0 && is_unwanted_) Drop();
}

void Weights::Drop() {
  is_unwanted_ = readers_ > 0;
  if (is_unwanted_) return;
  if (data) GiveBack(data, size);
  data = nullptr;
  memory.reset();
}

std::shared_ptr<Weights> WeightStore::Find(uint64_t low, uint64_t high, size_t size) const {
  for (const std::weak_ptr<Weights>& known : known_) {
    std::shared_ptr<Weights> one = known.lock();
    if (one && one->low == low && one->high == high && one->size == size) return one;
  }
  return nullptr;
}

bool WeightStore::Has(uint64_t low, uint64_t high, size_t size) {
  std::shared_ptr<Weights> one = Find(low, high, size);
  if (!one || !(one->data || one->IsOnDeviceAlone())) return false;
  promised_.push_back(std::move(one));
  return true;
}

bool WeightStore::Recall(const ContentHash& source, ContentHash* made) const {
  for (const auto& one : made_) {
    if (one.first.low() != source.low() || one.first.high() != source.high()) continue;
    *made = one.second;
    return true;
  }
  return false;
}

void WeightStore::Remember(const ContentHash& source, const ContentHash& made) {
  ContentHash before;
  if (!Recall(source, &before)) made_.push_back({source, made});
}

PlanWeights WeightStore::Share(const fb::Plan& plan, const std::shared_ptr<const void>& memory,
                               bool is_for_device_alone) {
  const auto gone = [](const std::weak_ptr<Weights>& one) { return one.expired(); };
  known_.erase(std::remove_if(known_.begin(), known_.end(), gone), known_.end());
  PlanWeights weights(plan.buffers()->size());
  for (unsigned i = 0; i < weights.size(); ++i) {
    const fb::Buffer& buffer = *plan.buffers()->Get(i);
    if (buffer.kind() != fb::BufferKind_Constant || buffer.content_high() == 0) continue;
    const uint64_t low = buffer.content_low(), high = buffer.content_high();
    weights[i] = Find(low, high, buffer.bytes());
    if (!weights[i]) {
      weights[i] = std::make_shared<Weights>(low, high, buffer.bytes());
      known_.push_back(weights[i]);
    }
    weights[i]->is_for_device_alone = is_for_device_alone;
    // The plan may have none of its own.
    if (weights[i]->data || weights[i]->IsOnDeviceAlone()) continue;
    weights[i]->data = buffer.data()->data();
    weights[i]->memory = memory;
  }
  promised_.clear();
  return weights;
}

}  // namespace quadra
