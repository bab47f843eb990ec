#include "delegate_native/plan/rendered_plan.h"

#include <algorithm>
#include <utility>

#include "delegate_native/base/hash.h"
#include "delegate_native/base/status.h"

namespace quadra {
namespace {

// Stands for the entry's name until the text is known.
constexpr char kEntry[] = "QUADRA_ENTRY";

// A driver takes so many times as long for an unoptimised loop, and its watchdog may be watching.
constexpr int kSlower = 16;

class PlanRenderer {
 public:
  PlanRenderer(const KernelContext& context, const Layout& layout, const std::vector<Group>& groups,
               std::vector<KernelDesc>* kernels, RenderedPlan* made)
      : context_(context), layout_(layout), groups_(groups), kernels_(*kernels), made_(*made) {}

  // Equal texts are one kernel. The entry's name comes from the text, so that a kernel is the same
  // in every plan: what was compiled for one partition serves another.
  void Run() {
    size_t optimised = 0;  // dispatches, which alone have groups of their own
    for (size_t i = 0; i < kernels_.size(); ++i) {
      KernelDesc& desc = kernels_[i];
      Dialect dialect = context_.For(desc.variant.float32).DialectOf();
      if (desc.variant.unoptimised) dialect.max_trips /= kSlower;
      else Regroup(optimised, &desc, &dialect);
      std::vector<TensorLayout> layouts(desc.tensors.size());
      for (size_t k = 0; k < layouts.size(); ++k) {
        layouts[k] = layout_.LayoutOf(desc.tensors[k].tensor);
      }
      PlannedDispatch dispatch;
      dispatch.kernel = i;
      dispatch.rendered = Render(desc, layouts, dialect, kEntry);
      dispatch.distinct = FindOrAdd(&dispatch);
      const size_t before = made_.dispatches.size();
      made_.dispatch_of_kernel.push_back(static_cast<int>(before));
      AddDispatches(std::move(dispatch), 0);
      if (!desc.variant.unoptimised) optimised += made_.dispatches.size() - before;
    }
    made_.dispatch_of_kernel.push_back(static_cast<int>(made_.dispatches.size()));
    for (DistinctKernel& kernel : made_.kernels) {
      std::string& text = kernel.source;
      for (size_t at; (at = text.find(kEntry)) != std::string::npos;) {
        text.replace(at, sizeof(kEntry) - 1, kernel.entry);
      }
    }
  }

 private:
  void Regroup(size_t dispatch, KernelDesc* desc, Dialect* dialect) const {
    if (dispatch >= groups_.size() || groups_[dispatch][0] < 1 || !desc->HasFreeGroup()) return;
    const Group& group = groups_[dispatch];
    desc->Group(group[0], group[1], group[2]);
    if (dialect->flat_group > 0) dialect->flat_group = group[0];
  }

  // One dispatch, or several with a part each of a grid that is too large along `axis` or later
  // ones.
  void AddDispatches(PlannedDispatch dispatch, int axis) {
    if (axis == 3) {
      made_.dispatches.push_back(std::move(dispatch));
      return;
    }
    RenderedKernel& rendered = dispatch.rendered;
    const int base_arg = rendered.base_arg[axis];
    if (base_arg < 0) return AddDispatches(std::move(dispatch), axis + 1);
    const int most = rendered.group[axis] * rendered.max_groups[axis];
    const int all = rendered.grid[axis];
    for (int first = 0; first < all; first += most) {
      rendered.args[static_cast<size_t>(base_arg)].i = first;
      rendered.grid[axis] = std::min(most, all - first);
      AddDispatches(dispatch, axis + 1);
    }
  }

  size_t FindOrAdd(PlannedDispatch* dispatch) {
    const KernelDesc& desc = kernels_[dispatch->kernel];
    const std::string& source = dispatch->rendered.source;
    for (size_t k = 0; k < made_.kernels.size(); ++k) {
      const DistinctKernel& other = made_.kernels[k];
      if (other.source == source && VariantOf(other.program) == desc.variant) return k;
    }
    DistinctKernel kernel;
    kernel.program = ProgramFor(dispatch->kernel);
    kernel.name = desc.name;
    kernel.source = source;
    uint32_t number = static_cast<uint32_t>(Hash(source.data(), source.size()) >> 16);
    const auto taken = [&](const DistinctKernel& other) { return other.entry == kernel.entry; };
    do {
      // Names of optimised kernels are the same with and without the others.
      kernel.entry =
          desc.name + Format(desc.variant.unoptimised ? "_plain_%08x" : "_%08x", number++);
    } while (std::any_of(made_.kernels.begin(), made_.kernels.end(), taken));
    kernel.parameters = std::move(dispatch->rendered.types);
    made_.kernels.push_back(std::move(kernel));
    return made_.kernels.size() - 1;
  }

  const Variant& VariantOf(size_t program) const {
    return kernels_[static_cast<size_t>(made_.programs[program])].variant;
  }

  // A new kernel's: its own, or that of all which have the same prelude.
  size_t ProgramFor(size_t kernel) {
    const bool shares = context_.gpu->one_program && context_.gpu->api != Api::kGles;
    for (size_t i = 0; shares && i < made_.programs.size(); ++i) {
      if (VariantOf(i) == kernels_[kernel].variant) return i;
    }
    made_.programs.push_back(static_cast<int>(kernel));
    return made_.programs.size() - 1;
  }

  const KernelContext& context_;
  const Layout& layout_;
  const std::vector<Group>& groups_;
  std::vector<KernelDesc>& kernels_;
  RenderedPlan& made_;
};

}  // namespace

void RenderPlan(const KernelContext& context, const Layout& layout,
                const std::vector<Group>& groups, std::vector<KernelDesc>* kernels,
                RenderedPlan* made) {
  PlanRenderer(context, layout, groups, kernels, made).Run();
}

}  // namespace quadra
