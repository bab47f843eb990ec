// A finished plan's memory.
#ifndef QUADRA_PLAN_PLAN_BYTES_H_
#define QUADRA_PLAN_PLAN_BYTES_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "delegate_native/base/file_pages.h"

namespace quadra {

// The bytes of a finished fb::Plan (plan/plan.fbs), aligned so that a device which shares the
// host's memory can use its constants where they are.
class PlanBytes {
 public:
  static constexpr size_t kAlignment = 64;

  // Whole pages, from mmap.
  struct Unmap {
    size_t bytes;
    void operator()(uint8_t* pages) const { munmap(pages, bytes); }
  };
  using Pages = std::unique_ptr<uint8_t, Unmap>;

  PlanBytes() = default;
  // The plan are the bytes from `offset` on.
  PlanBytes(Pages pages, size_t offset, size_t size)
      : pages_(std::move(pages)), offset_(offset), size_(size) {}

  const uint8_t* data() const { return pages_.get() + offset_; }
  std::shared_ptr<const void> memory() const { return pages_; }
  size_t size() const { return size_; }

 private:
  std::shared_ptr<uint8_t> pages_;
  size_t offset_ = 0, size_ = 0;
};

}  // namespace quadra

#endif  // QUADRA_PLAN_PLAN_BYTES_H_
