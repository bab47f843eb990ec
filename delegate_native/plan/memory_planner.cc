#include "delegate_native/plan/memory_planner.h"

#include <algorithm>

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

std::vector<size_t> LargestFirst(const std::vector<Lifetime>& lifetimes) {
  std::vector<size_t> order;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const auto is_larger = [&](size_t a, size_t b) {
      return lifetimes[a].bytes > lifetimes[b].bytes;
    };
    order.insert(std::upper_bound(order.begin(), order.end(), i, is_larger), i);
  }
  return order;
}

}  // namespace

MemoryLayout PlaceBySize(const std::vector<Lifetime>& lifetimes, int64_t alignment) {
  MemoryLayout layout;
  layout.offsets.assign(lifetimes.size(), 0);
  layout.lower_bound = LowerBound(lifetimes, alignment);
  std::vector<size_t> placed;  // by offset
  for (size_t i : LargestFirst(lifetimes)) {
    const int64_t bytes = AlignUp(lifetimes[i].bytes, alignment);
    int64_t at = 0, best = -1, best_gap = 0;
    for (size_t j : placed) {
      if (!Meet(lifetimes[i], lifetimes[j])) continue;
      const int64_t gap = layout.offsets[j] - at;
      if (gap >= bytes && (best < 0 || gap < best_gap)) best = at, best_gap = gap;
      at = std::max(at, layout.offsets[j] + AlignUp(lifetimes[j].bytes, alignment));
    }
    layout.offsets[i] = best >= 0 ? best : at;
    layout.bytes = std::max(layout.bytes, layout.offsets[i] + bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](size_t a, size_t b) { return layout.offsets[a] < layout.offsets[b]; }),
        i);
  }
  return layout;
}

std::vector<int> ShareEqualObjects(const std::vector<Lifetime>& lifetimes,
                                   const std::vector<int64_t>& shapes) {
  std::vector<int> object_of(lifetimes.size(), -1);
  std::vector<int64_t> object_shape;
  std::vector<std::vector<size_t>> members;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    for (size_t o = 0; o < members.size() && object_of[i] < 0; ++o) {
      const bool fits = object_shape[o] == shapes[i] &&
                        std::none_of(members[o].begin(), members[o].end(),
                                     [&](size_t m) { return Meet(lifetimes[m], lifetimes[i]); });
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

std::vector<int> ShareObjects(const std::vector<Lifetime>& lifetimes) {
  const std::vector<size_t> order = LargestFirst(lifetimes);
  std::vector<Lifetime> ordered;
  for (size_t i : order) ordered.push_back(lifetimes[i]);
  const std::vector<int> objects =
      ShareEqualObjects(ordered, std::vector<int64_t>(lifetimes.size(), 0));
  std::vector<int> object_of(lifetimes.size());
  for (size_t i = 0; i < order.size(); ++i) object_of[order[i]] = objects[i];
  return object_of;
}

}  // namespace quadra
