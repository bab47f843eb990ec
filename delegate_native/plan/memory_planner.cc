#include "delegate_native/plan/memory_planner.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/shape.h"

namespace quadra {
namespace {

bool Meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

int64_t LowerBound(const std::vector<Lifetime>& lifetimes, int64_t alignment) {
  int last = 0;
  for (const Lifetime& l : lifetimes) last = std::max(last, l.last);
  std::vector<int64_t> change(static_cast<size_t>(last) + 2, 0);
  for (const Lifetime& l : lifetimes) {
    change[static_cast<size_t>(l.first)] += AlignUp(l.bytes, alignment);
    change[static_cast<size_t>(l.last) + 1] -= AlignUp(l.bytes, alignment);
  }
  int64_t alive = 0, most = 0;
  for (int64_t c : change) most = std::max(most, alive += c);
  return most;
}

// The largest first; of equal ones the first.
std::vector<size_t> BySize(const std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const auto is_larger = [&](size_t a, size_t b) {
      return lifetimes[a].bytes > lifetimes[b].bytes;
    };
    order.insert(std::upper_bound(order.begin(), order.end(), i, is_larger), i);
  }
  return order;
}

bool MeetsAny(const std::vector<Lifetime>& lifetimes, const std::vector<size_t>& members,
              size_t one) {
  return std::any_of(members.begin(), members.end(),
                     [&](size_t member) { return Meet(lifetimes[member], lifetimes[one]); });
}

// Each in the smallest gap that takes it, in that order. `top`: the one that ends last.
MemoryLayout PlaceInOrder(const std::vector<Lifetime>& lifetimes, int64_t alignment,
                          const std::vector<size_t>& order, size_t* top) {
  MemoryLayout layout;
  layout.offsets.assign(lifetimes.size(), 0);
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    const int64_t bytes = AlignUp(lifetimes[i].bytes, alignment);
    int64_t at = 0, best = -1, best_gap = 0;
    for (size_t j : placed) {
      if (!Meet(lifetimes[i], lifetimes[j])) continue;
      const int64_t gap = layout.offsets[j] - at;
      if (gap >= bytes && (best < 0 || gap < best_gap)) best = at, best_gap = gap;
      at = std::max(at, layout.offsets[j] + AlignUp(lifetimes[j].bytes, alignment));
    }
    layout.offsets[i] = best >= 0 ? best : at;
    if (layout.offsets[i] + bytes > layout.bytes) {
      layout.bytes = layout.offsets[i] + bytes;
      *top = i;
    }
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](size_t a, size_t b) { return layout.offsets[a] < layout.offsets[b]; }),
        i);
  }
  return layout;
}

}  // namespace

// The tensor that ended last goes first in the next try: others kept it from its place. Most
// models' second or third try takes no more than the lower bound.
MemoryLayout PlaceBySize(const std::vector<Lifetime>& lifetimes, int64_t alignment) {
  constexpr size_t kMostTries = 16, kMostPairs = 1 << 21;  // a few milliseconds
  const size_t pairs = lifetimes.size() * lifetimes.size() + 1;
  const int64_t lower_bound = LowerBound(lifetimes, alignment);
  std::vector<size_t> order = BySize(lifetimes);
  MemoryLayout best;
  for (size_t i = 0; i == 0 || (best.bytes > lower_bound && i < kMostTries); ++i) {
    if (i > kMostPairs / pairs) break;
    size_t top = 0;
    MemoryLayout layout = PlaceInOrder(lifetimes, alignment, order, &top);
    if (i == 0 || layout.bytes < best.bytes) best = std::move(layout);
    const auto at = std::find(order.begin(), order.end(), top);
    if (at != order.end()) std::rotate(order.begin(), at, at + 1);
  }
  best.lower_bound = lower_bound;
  return best;
}

SharedObjects ShareObjects(const std::vector<Lifetime>& lifetimes) {
  SharedObjects shared;
  shared.objects.assign(lifetimes.size(), 0);
  std::vector<std::vector<size_t>> members;
  for (size_t i : BySize(lifetimes)) {
    size_t object = members.size();  // the smallest that is free, which came last
    while (object > 0 && MeetsAny(lifetimes, members[object - 1], i)) --object;
    if (object == 0) {
      members.emplace_back();
      shared.bytes.push_back(lifetimes[i].bytes);
      object = members.size();
    }
    members[object - 1].push_back(i);
    shared.objects[i] = static_cast<int>(object) - 1;
  }
  return shared;
}

std::vector<int> ShareEqualObjects(const std::vector<Lifetime>& lifetimes,
                                   const std::vector<int64_t>& shapes) {
  std::vector<int> object_of(lifetimes.size(), -1);
  std::vector<int64_t> object_shape;
  std::vector<std::vector<size_t>> members;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    for (size_t o = 0; o < members.size() && object_of[i] < 0; ++o) {
      const bool fits = object_shape[o] == shapes[i] && !MeetsAny(lifetimes, members[o], i);
      if (fits) object_of[i] = static_cast<int>(o);
    }
    if (object_of[i] < 0) {
      object_of[i] = static_cast<int>(members.size());
      object_shape.push_back(shapes[i]);
      members.emplace_back();
    }
    members[static_cast<size_t>(object_of[i])].push_back(i);
  }
  return object_of;
}

}  // namespace quadra
