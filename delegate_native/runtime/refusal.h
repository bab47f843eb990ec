// The parts of a plan that a driver does not take, as a value: what is tried next follows from it
// (session/revise.h).
#ifndef QUADRA_RUNTIME_REFUSAL_H_
#define QUADRA_RUNTIME_REFUSAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "delegate_native/plan/dispatch_group.h"

namespace quadra {

struct Refusal {
  enum class Stage : uint8_t {
    kOther,   // nothing that another plan of the same graph would change
    kMemory,  // its buffers
    kImages,  // images over buffers
    kBuild,   // kernels, when they were compiled
    kLaunch,  // kernels, when they were launched
  };
  struct Dispatch {
    unsigned index;
    int most_items;  // of a group, which the driver may take; 0: the group is not the reason
  };
  Stage stage = Stage::kOther;
  std::vector<Dispatch> dispatches;
  bool all = false;  // all kernels that were launched
  std::string why;   // kImages: a sentence

  // Where the driver does not say how many work-items it takes: half as many, if there may be.
  void AddLaunch(const fb::Plan& plan, unsigned index);
};

// The programs that a build left, and its compiler.
class Build {
 public:
  virtual bool Has(const fb::Dispatch& dispatch) const = 0;
  virtual bool Compiles(const fb::Dispatch& dispatch, const Group& group) const = 0;

 protected:
  ~Build() = default;
};

// After a build that failed: tries smaller groups for each kernel that is not there.
Refusal FindRefused(const fb::Plan& plan, const Build& build);

// The plan's first dispatch of the same kernel: in the same group, for its text says that.
unsigned FirstOfKernel(const fb::Plan& plan, unsigned index);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_REFUSAL_H_
