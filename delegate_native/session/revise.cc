#include "delegate_native/session/revise.h"

#include <algorithm>

#include "delegate_native/base/shape.h"
#include "delegate_native/base/texts.h"
#include "delegate_native/plan/dispatch_group.h"

namespace quadra {
namespace {

struct Refused {
  const Refusal& refusal;
  const fb::Plan& plan;
  const GpuInfo& target;

  const fb::Dispatch& At(unsigned index) const { return *plan.dispatches()->Get(index); }
};

// Where each refused group may be smaller.
bool ShrinkGroups(const Refused& refused, Revision* next) {
  std::vector<Group>& groups = next->request.groups;
  groups.resize(refused.plan.dispatches()->size());
  for (const Refusal::Dispatch& one : refused.refusal.dispatches) {
    const fb::Dispatch& dispatch = refused.At(one.index);
    if (one.most_items == 0 || !dispatch.has_free_group()) return false;
    const Group group = GroupOf(dispatch), less = Shrunk(group, one.most_items);
    bool fits = less != group;
    for (unsigned axis = 0; axis < 3; ++axis) {
      // With more groups than a dispatch may have it would have to become several.
      fits &= CeilDiv(dispatch.grid()->Get(axis), less[axis]) <= refused.target.max_groups[axis];
    }
    if (!fits) return false;
    groups[one.index] = less;
    next->notes.push_back(
        TextOf("%s: the driver refuses groups of %d x %d x %d and gets %d x %d x %d",
               dispatch.name()->c_str(), group[0], group[1], group[2], less[0], less[1], less[2]));
  }
  return !refused.refusal.dispatches.empty();
}

// The first dispatch of a kind that may be the refused one, also where the driver does not say
// which one is; null: there is none.
const fb::Dispatch* FirstOf(const Refused& refused, bool (*is_kind)(const fb::Dispatch&)) {
  const auto& dispatches = refused.refusal.dispatches;
  for (unsigned i = 0; i < refused.plan.dispatches()->size(); ++i) {
    const bool may_be = dispatches.empty() ||
                        std::any_of(dispatches.begin(), dispatches.end(),
                                    [i](const Refusal::Dispatch& one) { return one.index == i; });
    if (may_be && is_kind(refused.At(i))) return &refused.At(i);
  }
  return nullptr;
}

// A joined kernel needs more than each of its parts.
bool StopJoining(const Refused& refused, Revision* next) {
  const fb::Dispatch* const joined =
      FirstOf(refused, [](const fb::Dispatch& one) { return one.is_joined(); });
  if (!joined) return false;
  next->request.joins_kernels = false;
  next->request.groups.clear();  // its dispatches are others
  next->notes.push_back(
      TextOf("%s: the driver may refuse it; its parts are dispatches of their own",
             joined->name()->c_str()));
  return true;
}

// A group that shares sums cannot be smaller.
bool StopSharing(const Refused& refused, Revision* next) {
  const fb::Dispatch* const sharing =
      FirstOf(refused, [](const fb::Dispatch& one) { return one.shares_sums(); });
  if (!sharing) return false;
  next->request.shares_sums = false;
  next->request.groups.clear();  // its dispatches are others
  next->notes.push_back(
      TextOf("%s: the driver may refuse its group; each work-item adds up its own sum",
             sharing->name()->c_str()));
  return true;
}

// A kernel whose group is a part of what it computes, as a recurrent layer's, makes that by the
// target's limit. Not all do: what was tried already is not tried again.
bool LimitGroups(const Refused& refused, Revision* next) {
  for (const Refusal::Dispatch& one : refused.refusal.dispatches) {
    const fb::Dispatch& dispatch = refused.At(one.index);
    if (dispatch.has_free_group() || one.most_items == 0 ||
        one.most_items >= next->request.most_items) {
      continue;
    }
    next->request.most_items = one.most_items;
    next->request.groups.clear();
    next->notes.push_back(TextOf("%s: the driver refuses its group; none has more than %d",
                                 dispatch.name()->c_str(), one.most_items));
    return true;
  }
  return false;
}

bool StopHalf(const Refused& refused, Revision* next) {
  if (next->request.precision != Precision::kF16) return false;
  next->request.precision = Precision::kF32F16;
  next->request.groups.clear();
  const auto& dispatches = refused.refusal.dispatches;
  next->notes.push_back(
      TextOf("%s: the driver may refuse float16 arithmetic; float32 is computed",
             dispatches.empty() ? "a kernel" : refused.At(dispatches[0].index).name()->c_str()));
  return true;
}

// Longer rows first, then over whole buffers where parts are refused, then memory of their own.
bool MoveImages(const Refused& refused, Revision* next) {
  ImageMemory& memory = next->request.image_memory;
  const ImageMemory had = std::min(memory, refused.target.image_memory);
  if (refused.refusal.stage != Refusal::Stage::kImages || had == ImageMemory::kOwn) return false;
  if (refused.target.image_row_bytes > 0 && next->request.has_row_bytes) {
    next->request.has_row_bytes = false;
    next->notes.push_back(refused.refusal.why + "; rows of images are longer");
    return true;
  }
  memory = static_cast<ImageMemory>(static_cast<int>(had) - 1);
  next->notes.push_back(refused.refusal.why + (memory == ImageMemory::kBuffers
                                                   ? "; images lie over whole buffers"
                                                   : "; images have memory of their own"));
  return true;
}

// In the order in which they are tried: what changes least comes first.
struct Row {
  const char* change;
  bool (*apply)(const Refused& refused, Revision* next);
};
constexpr Row kRows[] = {
    {QUADRA_TEXT("images elsewhere"), MoveImages},   {QUADRA_TEXT("smaller groups"), ShrinkGroups},
    {QUADRA_TEXT("no joined kernels"), StopJoining}, {QUADRA_TEXT("no shared sums"), StopSharing},
    {QUADRA_TEXT("smaller limit"), LimitGroups},     {QUADRA_TEXT("no half arithmetic"), StopHalf},
};

}  // namespace

Revision Revise(const PlanRequest& request, const Refusal& refusal, const fb::Plan& plan,
                const GpuInfo& target) {
  using Stage = Refusal::Stage;
  // A device that launches nothing has another fault than what its kernels ask for.
  const bool is_hopeless = refusal.stage == Stage::kOther || refusal.stage == Stage::kMemory ||
                           (refusal.stage == Stage::kLaunch && refusal.all);
  for (const Row& row : kRows) {
    Revision next = {row.change, request, {}};
    if (!is_hopeless && row.apply({refusal, plan, target}, &next)) return next;
    if (refusal.stage == Stage::kImages) break;  // no other row changes where they are
  }
  return Revision();
}

}  // namespace quadra
