#include "delegate_native/session/self_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "delegate_native/passes/passes.h"
#include "delegate_native/session/io_memory.h"

namespace quadra {
namespace {

// One in so many results that may jump is allowed to.
constexpr size_t kOneIn = 256;

float FloatOf(int32_t bits) {
  float number;
  memcpy(&number, &bits, sizeof(number));
  return number;
}

class Comparison {
 public:
  Comparison(const fb::Plan& plan, const std::vector<Check>& checks,
             const std::vector<int>& dispatch_of_node, bool half, const std::string& driver,
             std::unique_ptr<Miscompiled>* found)
      : plan_(plan),
        checks_(checks),
        dispatch_of_node_(dispatch_of_node),
        half_(half),
        driver_(driver),
        found_(found) {}

  // TensorObserver of a Comparison.
  static Status Take(void* who, unsigned tensor, const std::vector<int32_t>& numbers) {
    return static_cast<Comparison*>(who)->Take(tensor, numbers);
  }

 private:
  Status Take(unsigned tensor, const std::vector<int32_t>& numbers) {
    const fb::Tensor& copy = *plan_.tensors()->Get(tensor);
    const size_t number = static_cast<size_t>(copy.copy_of()) - 1;
    if (number % 2 == 0) {
      firsts_.insert(firsts_.end(), numbers.data(), numbers.data() + numbers.size());
      return Status();
    }
    Compare(checks_[number / 2], copy.cell() >= fb::Cell_Int, firsts_.data() + next_, numbers);
    next_ += numbers.size();
    if (next_ < firsts_.size()) return Status();
    firsts_.clear();
    next_ = 0;
    return Status();
  }

  void Compare(const Check& check, bool ints, const int32_t* results,
               const std::vector<int32_t>& plain) {
    // Sums of other orders, products that are added with one rounding or two.
    const double relative = half_ ? 2e-2 : 1e-3;
    const double most_finite = half_ ? 6e4 : 3e38;
    const auto number = [ints](int32_t bits) { return ints ? bits : double{FloatOf(bits)}; };
    double largest = 0.0, difference = 0.0;
    for (int32_t bits : plain) {
      const double magnitude = std::fabs(number(bits));
      if (magnitude <= most_finite) largest = std::max(largest, magnitude);
    }
    const bool steps = check.step > 0.0f;  // of 1, as ints
    const double allowed =
        ints ? (steps ? 1.0 : 0.0) : relative * largest + 1.01 * double{check.step};
    size_t differ = 0;
    for (size_t i = 0; i < plain.size(); ++i) {
      const double wanted = number(plain[i]), got = number(results[i]);
      // Another order overflows elsewhere.
      if (results[i] == plain[i] || !(std::fabs(wanted) <= most_finite)) continue;
      const double off = std::fabs(got - wanted);  // perhaps NaN
      if (off <= allowed) continue;
      ++differ;
      if (!(off <= difference)) difference = off;
    }
    if (differ <= (check.jumps ? plain.size() / kOneIn : 0)) return;
    const auto& nodes = *DispatchAt(dispatch_of_node_[static_cast<size_t>(check.node)]).nodes();
    auto one = std::make_unique<Miscompiled>();
    one->nodes.assign(nodes.data(), nodes.data() + nodes.size());
    one->why = TextOf(
        "self_check: %s computes wrong numbers: %zu of %zu are off, by up to %g where the largest is "
        "%g; driver: %s; next: inv bisect",
        KernelsOf(check).c_str(), differ, plain.size(), difference, largest, driver_.c_str());
    one->next.swap(*found_);
    found_->swap(one);
  }

  const fb::Dispatch& DispatchAt(int i) const {
    return *plan_.dispatches()->Get(static_cast<unsigned>(i));
  }

  // Which of a node's kernels is wrong their result does not tell.
  std::string KernelsOf(const Check& check) const {
    const int* const first = &dispatch_of_node_[static_cast<size_t>(check.node)];
    std::string names, last;
    for (int i = first[0]; i < first[1]; ++i) {
      const std::string entry = DispatchAt(i).entry()->str();
      if (entry == last) continue;  // another part of its grid
      if (!last.empty()) names += ", ";
      names += last = entry;
    }
    return names == last ? names : "one of " + names;
  }

  const fb::Plan& plan_;
  const std::vector<Check>& checks_;
  const std::vector<int>& dispatch_of_node_;
  const bool half_;
  const std::string& driver_;
  std::unique_ptr<Miscompiled>* const found_;
  // First copies, one behind the other, and where those begin whose second ones are to come.
  std::vector<int32_t> firsts_;
  size_t next_ = 0;
};

// Floats in -1..1, bytes of all values; other ints may be indices: 0 and 1.
void Fill(const fb::Plan& plan, const std::vector<IoTensor>& inputs, IoMemory* memory) {
  uint32_t random = 1;
  for (unsigned i = 0; i < plan.inputs()->size(); ++i) {
    const Element element = inputs[i].element;
    const fb::Io* io = plan.inputs()->Get(i);
    const fb::Tensor& tensor = *plan.tensors()->Get(static_cast<unsigned>(io->tensor()));
    const size_t count = (tensor.bytes() + 3) / 4;
    int32_t* to = static_cast<int32_t*>(const_cast<void*>(memory->inputs[i]));
    for (size_t k = 0; k < count; ++k) {
      random = random * 1664525u + 1013904223u;
      const int32_t drawn = static_cast<int32_t>(random >> 8);  // 24 bits
      const float real = static_cast<float>(drawn) * 0x1p-23f - 1.0f;
      if (IsFloat(element)) memcpy(&to[k], &real, sizeof(real));
      else
        to[k] = tensor.cell() > fb::Cell_Int ? static_cast<int32_t>(random ^ (random >> 16))
                                             : drawn >> 23;
    }
  }
}

}  // namespace

Status SelfCheck(Graph* graph, const std::vector<IoTensor>& inputs, const GpuInfo& target,
                 const PlanRequest& request, Backend* backend,
                 std::unique_ptr<Miscompiled>* found) {
  PlanBytes bytes;
  std::vector<Check> checks;
  std::vector<int> dispatch_of_node;
  ComputeTwice(graph, &checks);
  QUADRA_RETURN_IF_ERROR(MakePlan(*graph, target, request, &bytes, &dispatch_of_node));
  const fb::Plan& plan = *fb::GetPlan(bytes.data());
  IoMemory memory(plan);
  Fill(plan, inputs, &memory);
  std::unique_ptr<Executable> executable;
  LoadTimes times;
  QUADRA_RETURN_IF_ERROR(backend->Load(&plan, {}, nullptr, &executable, &times));
  int launched = 0;
  QUADRA_RETURN_IF_ERROR(executable->LaunchFirst(&launched, &times.refusal));
  Comparison comparison(plan, checks, dispatch_of_node, request.precision != Precision::kF32,
                        backend->info().driver, found);
  executable->ObserveTensors(Comparison::Take, &comparison);
  return executable->Run(memory.inputs, memory.outputs, nullptr);
}

}  // namespace quadra
