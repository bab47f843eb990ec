// The inputs and outputs of a plan: where they are, and objects of the GPU API in their place.
#ifndef QUADRA_RUNTIME_PORTS_H_
#define QUADRA_RUNTIME_PORTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "delegate_native/base/lean/function.h"
#include "delegate_native/base/status.h"
#include "delegate_native/plan/plan_generated.h"

namespace quadra {

// How many a list of a plan has, which may be absent.
template <typename Vector>
unsigned Count(const Vector* vector) {
  return vector ? vector->size() : 0;
}

// One of each input and one of each output of a plan, in the plan's order.
template <typename T>
struct Ports {
  std::vector<T> inputs, outputs;

  template <typename Use>
  void ForEach(Use use) {
    for (T& one : inputs) use(one);
    for (T& one : outputs) use(one);
  }
  template <typename Use>
  void ForEach(Use use) const {
    for (const T& one : inputs) use(one);
    for (const T& one : outputs) use(one);
  }
};

// Objects of the GPU API (cl_mem; the name of an OpenGL ES buffer); null: the host's memory serves.
// No lists: none.
struct PortObjects : Ports<void*> {
  bool any() const;
  bool all() const;
};

struct PlanPort {
  unsigned buffer = 0;  // of the plan
  size_t offset = 0, bytes = 0;
  // Its buffer serves no other tensor but the other one of a state: an object can take its place.
  bool is_own = false;
  int state = -1;         // of an input: the output whose buffer it has, too; -1: none
  void* bound = nullptr;  // the object in its place; of a state: in the output's
  bool is_copied = true;  // in an inference; bound objects are not
};

// How much an inference copied, and for what.
struct CopiedBytes {
  int64_t inputs = 0, outputs = 0;
  int64_t states = 0;  // that came in in other memory than they go out in
  int64_t all() const { return inputs + outputs + states; }
};
CopiedBytes CopiedBytesOf(const Ports<PlanPort>& ports);

PlanPort PortOf(const fb::Plan& plan, const fb::Tensor& tensor);
Ports<PlanPort> PortsOf(const fb::Plan& plan);

// The objects take their places, but for those that cannot: the first reason for that. `measure`
// says how large an object is, or why it is none.
Status BindObjects(const PortObjects& objects,
                   const Function<Status(void* object, size_t* bytes)>& measure,
                   Ports<PlanPort>* ports);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_PORTS_H_
