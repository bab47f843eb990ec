// Shares memory between tensors whose lifetimes do not meet.
#ifndef QUADRA_PLAN_MEMORY_PLANNER_H_
#define QUADRA_PLAN_MEMORY_PLANNER_H_

#include <cstdint>
#include <vector>

namespace quadra {

// A tensor is alive from the dispatch that writes it to the last that reads it, both included.
struct Lifetime {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryLayout {
  std::vector<int64_t> offsets;  // parallel to the lifetimes
  int64_t bytes = 0;             // of the whole arena
  int64_t lower_bound = 0;       // largest sum of bytes alive at one dispatch
};

// Offsets in one arena, greedy by size, the best of some tries; every offset is a multiple of
// `alignment`.
MemoryLayout PlaceBySize(const std::vector<Lifetime>& lifetimes, int64_t alignment);

struct SharedObjects {
  std::vector<int> objects;    // an object's index for each tensor
  std::vector<int64_t> bytes;  // of each object: those of its largest tensor
};

// Whole objects (buffers) that tensors of any size share one after another, greedy by size.
SharedObjects ShareObjects(const std::vector<Lifetime>& lifetimes);

// Whole objects (images) that cannot overlap: an object's index for each tensor; tensors share an
// object only if `shapes` (any number that says "same size and format") are equal.
std::vector<int> ShareEqualObjects(const std::vector<Lifetime>& lifetimes,
                                   const std::vector<int64_t>& shapes);

}  // namespace quadra

#endif  // QUADRA_PLAN_MEMORY_PLANNER_H_
