// Kernels that do not need each other: the first one's work-items come first along z, behind them
// the second's, whose text gets names of its own. Conditions are the same for all work-items of a
// group, so that barriers stay right. Where each work-item of the second needs only what the same
// one of the first has made, it goes on with that.
#include "delegate_native/plan/join_kernels.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/bindings.h"
#include "delegate_native/kernel/text.h"
#include "delegate_native/ops/grid.h"
#include "delegate_native/ops/limits.h"

namespace quadra {
namespace {

// How far back a kernel may go to another one, in kernels: a layer's are beside each other.
constexpr size_t kFarthest = 8;
constexpr int kMostParts = 4;
// A small kernel has at most so many times the work-items that fill a GPU: where sums are shared
// there are up to twice as many. So many may have nothing to do in a joined one, too.
constexpr int64_t kMostFills = 2;

bool IsOfWord(char c) { return c == '_' || isalnum(static_cast<unsigned char>(c)); }
bool HasWord(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

// Words of a body that have the name of a tensor or constant in them (kernel/kernel.h).
constexpr const char* kBefore[] = {"read_",         "write_",        "fetch_", "read_medium_",
                                   "write_medium_", "fetch_medium_", "at_",    "along_",
                                   "down_",         "begin_"};
constexpr const char* kBehind[] = {"_w", "_h", "_s", "_c", "_b", "_at", "_slice"};

// An argument's name, and the one that it gets.
struct Renaming {
  std::string from, to;
  bool is_number;

  // Whether the word is or has the name; it is changed then.
  bool Rename(std::string* word) const {
    if (*word == from) {
      *word = to;
      return true;
    }
    if (is_number) return false;
    for (const char* before : kBefore) {
      if (*word != before + from) continue;
      *word = before + to;
      return true;
    }
    for (const char* behind : kBehind) {
      if (*word != from + behind) continue;
      *word = to + behind;
      return true;
    }
    return false;
  }
};

std::string Renamed(const std::string& text, const std::vector<Renaming>& names) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && IsOfWord(text[end])) ++end;
    if (end == at) {
      made += text[at++];
      continue;
    }
    std::string word = text.substr(at, end - at);
    // A lane (v.x) has no name of its own.
    if (at == 0 || text[at - 1] != '.') {
      std::any_of(names.begin(), names.end(),
                  [&](const Renaming& one) { return one.Rename(&word); });
    }
    made += word;
    at = end;
  }
  return made;
}

constexpr const char* kBody = QUADRA_TEXT(R"(if (GLOBAL_Z < $from) { $first } else { $second }
)");
constexpr const char* kInside =
    QUADRA_TEXT("if (GLOBAL_X < $columns && GLOBAL_Y < $rows) {\n$body}\n");

constexpr const char* kInOrder = QUADRA_TEXT(R"(
$if(!group) sum4_t $kept = vec4(0.0f);
{ $first }
$if(shared) GROUP_BARRIER();
{ $second }
)");

// The text with what was kept of slice `s`, or of the only one, in place of word(x, y, s).
std::string WithKept(const std::string& text, const std::string& word, bool group) {
  std::string made;
  size_t from = 0;
  for (size_t at = text.find(word + "("); at != std::string::npos; at = text.find(word + "(", at)) {
    made.append(text, from, at - from);
    at += word.size();
    size_t slice = at;
    for (int depth = 0;; ++at) {
      if (text[at] == '(') ++depth;
      if (text[at] == ',' && depth == 1) slice = at + 1;
      if (text[at] == ')' && --depth == 0) break;
    }
    made += group ? "kept[" + text.substr(slice, at - slice) + "]" : "kept";
    from = ++at;
  }
  return made + text.substr(from);
}

int UpToGroup(const KernelDesc& kernel, int axis) {
  return CeilDiv(kernel.grid[axis], kernel.group[axis]) * kernel.group[axis];
}

int64_t ItemsOf(const KernelDesc& kernel) {
  return int64_t{kernel.grid[0]} * kernel.grid[1] * kernel.grid[2];
}

// Makes one kernel of two.
class Pair {
 public:
  Pair(const KernelDesc& first, const KernelDesc& second)
      : made_(first), first_(first), second_(second), number_(Format("_%d", first.parts + 1)) {}

  KernelDesc Join(const GpuInfo& gpu) {
    AddTensors(second_);
    AddConstants();
    AddNumbers();
    AddShared();
    AddBody();
    made_.trips = std::max(first_.trips, second_.trips);
    made_.shares_sums |= second_.shares_sums;
    made_.parts += second_.parts;
    for (int axis = 0; axis < 2; ++axis) {
      made_.grid[axis] = std::max(first_.grid[axis], second_.grid[axis]);
    }
    made_.grid[2] = UpToGroup(first_, 2) + second_.grid[2];
    if (!std::equal(first_.group, first_.group + 3, second_.group)) SetGroup(gpu, &made_);
    FitGroup(gpu, &made_);
    return std::move(made_);
  }

  // Work-items make the first's result, which is one pixel, and go on with the second. `stores`:
  // others read that result, too.
  KernelDesc GoOn(int slices, bool stores) {
    const std::string kept = "kept" + number_;
    const size_t written = first_.Written();
    const bool group = first_.reads_own;
    KernelDesc second = second_;
    for (size_t i = second.tensors.size(); i-- > 0;) {
      const TensorArg arg = second.tensors[i];
      if (arg.tensor != first_.tensors[written].tensor) continue;
      // Its sizes are those of the result.
      names_.push_back({arg.name, first_.tensors[written].name, false});
      second.tensors.erase(second.tensors.begin() + static_cast<std::ptrdiff_t>(i));
      second.body = WithKept(second.body, "read_" + arg.name, group);
      for (TensorArg& other : second.tensors) {
        other.epilogue = WithKept(other.epilogue, "read_" + arg.name, group);
      }
    }
    names_.push_back({"kept", kept, true});
    made_.tensors[written].epilogue += kept + (group ? "[e_s]" : "") + " = e_v;\n";
    if (!stores) made_.tensors[written].access = Access::kKept;
    AddTensors(second);
    AddConstants();
    AddNumbers();
    AddShared();
    RenameSteps();
    if (group) made_.shared.push_back({kept, "sum4_t", slices});
    Text text(kInOrder);
    text.Set("group", group).Set("kept", kept).Set("shared", !made_.shared.empty());
    made_.body = text.Set("first", first_.body).Set("second", Renamed(second.body, names_));
    made_.trips += second_.trips;
    made_.parts += second_.parts;
    return std::move(made_);
  }

 private:
  std::string Name(const std::string& name, bool is_number) {
    names_.push_back({name, name + number_, is_number});
    return names_.back().to;
  }

  // A tensor that both read is one argument.
  void AddTensors(const KernelDesc& second) {
    for (const TensorArg& arg : second.tensors) {
      const auto same =
          std::find_if(first_.tensors.begin(), first_.tensors.end(), [&](const TensorArg& one) {
            return one.tensor == arg.tensor && one.access == Access::kRead &&
                   arg.access == Access::kRead && one.dense == arg.dense;
          });
      if (same != first_.tensors.end()) {
        names_.push_back({arg.name, same->name, false});
        continue;
      }
      made_.tensors.push_back(arg);
      made_.tensors.back().name = Name(arg.name, false);
    }
  }

  void AddConstants() {
    for (const ConstantArg& constant : second_.constants) {
      made_.constants.push_back(constant);
      made_.constants.back().name = Name(constant.name, false);
    }
  }

  void AddNumbers() {
    for (const ScalarArg& number : second_.scalars) {
      const bool same =
          std::any_of(first_.scalars.begin(), first_.scalars.end(), [&](const ScalarArg& one) {
            return one.name == number.name && !one.is_float && !number.is_float &&
                   one.i == number.i;
          });
      if (same) continue;
      made_.scalars.push_back(number);
      made_.scalars.back().name = Name(number.name, true);
    }
  }

  // Groups run one part only: they can have the same memory.
  void AddShared() {
    for (const SharedArg& shared : second_.shared) {
      const auto same = std::find_if(
          made_.shared.begin(), made_.shared.end(),
          [&](const SharedArg& one) { return one.name == shared.name && one.type == shared.type; });
      if (same != made_.shared.end()) {
        same->count = std::max(same->count, shared.count);
        continue;
      }
      made_.shared.push_back(shared);
      made_.shared.back().name = Name(shared.name, true);
    }
  }

  void AddBody() {
    const std::string from = "from" + number_;
    made_.Int(from, UpToGroup(first_, 2));
    names_.push_back({"GLOBAL_Z", "(GLOBAL_Z - " + from + ")", true});
    RenameSteps();
    Text text(kBody);
    text.Set("from", from).Set("first", Inside("first", first_, second_, first_.body));
    made_.body =
        text.Set("second", Inside("second", second_, first_, Renamed(second_.body, names_)));
  }

  void RenameSteps() {
    for (size_t i = first_.tensors.size(); i < made_.tensors.size(); ++i) {
      made_.tensors[i].epilogue = Renamed(made_.tensors[i].epilogue, names_);
    }
  }

  // A body with a free group knows its own limits.
  std::string Inside(const std::string& part, const KernelDesc& own, const KernelDesc& other,
                     const std::string& body) {
    const int columns = UpToGroup(own, 0), rows = UpToGroup(own, 1);
    if (own.HasFreeGroup() || (columns >= UpToGroup(other, 0) && rows >= UpToGroup(other, 1))) {
      return "\n" + body;
    }
    const std::string name = part + number_;
    made_.Int(name + "_columns", columns);
    made_.Int(name + "_rows", rows);
    Text text(kInside);
    text.Set("columns", name + "_columns").Set("rows", name + "_rows");
    return text.Set("body", body);
  }

  KernelDesc made_;
  const KernelDesc &first_, &second_;
  const std::string number_;  // behind the second's names
  std::vector<Renaming> names_;
};

class Joiner {
 public:
  Joiner(const KernelContext& context, const Graph& graph, GraphKernels* made)
      : context_(context), graph_(graph), made_(*made) {}

  void Run() {
    std::vector<KernelDesc>& kernels = made_.kernels;
    for (size_t i = 1; i < kernels.size();) {
      if (!GoOnBackwards(i) && !JoinBackwards(i)) {
        ++i;
        continue;
      }
      kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(i));
      made_.nodes.erase(made_.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (KernelDesc& kernel : kernels) {
      if (kernel.parts > 1) kernel.name += "_joined";
    }
  }

 private:
  // With the nearest one that it can go to.
  bool JoinBackwards(size_t i) {
    if (!IsSmall(made_.kernels[i]) || IsBorder(i)) return false;
    for (size_t at = i; at > 0 && at + kFarthest > i;) {
      if (Meet(made_.kernels[--at], made_.kernels[i])) return false;
      if (Join(at, i)) return true;
    }
    return false;
  }

  // With what the kernel before it made, or one before that.
  bool GoOnBackwards(size_t i) {
    for (size_t at = i; at > 0 && at + kFarthest > i;) {
      if (!Meet(made_.kernels[--at], made_.kernels[i])) continue;
      const KernelDesc &first = made_.kernels[at], &second = made_.kernels[i];
      if (!CanGoOn(first, second)) return false;
      const int made = first.tensors[first.Written()].tensor;
      KernelDesc joined =
          Pair(first, second).GoOn(ValueOf(made).shape.slices(), CountReads(made) > 1);
      if (!AreApart(first, second) || !Fits(joined)) return false;
      Replace(at, i, std::move(joined));
      return true;
    }
    return false;
  }

  // Whether each work-item of the second needs of the first's result, which is one pixel, only what
  // the same work-item of the first has made. With more pixels there is enough to do for both.
  bool CanGoOn(const KernelDesc& first, const KernelDesc& second) const {
    const int written = first.tensors[first.Written()].tensor;
    const Value& made = ValueOf(written);
    const Value& next = ValueOf(second.tensors[second.Written()].tensor);
    const bool alike = first.body == second.body && first.variant == second.variant &&
                       std::equal(first.grid, first.grid + 3, second.grid) &&
                       std::equal(first.group, first.group + 3, second.group) &&
                       HaveSameInts(first, second);
    // Numbers that are written as halfs pass no step that could keep them.
    if (!alike || HasWord(first.body, "write_medium_") || first.parts + second.parts > 2 ||
        first.variant.unoptimised || first.outlined)
      return false;
    if (made.memory_of >= 0 || made.dense || !IsFloat(made.element) || !IsFloat(next.element) ||
        made.shape != next.shape || made.shape.c % 4 != 0 || made.shape.c != made.shape.elements())
      return false;
    // A work-item makes one result, or a group's share of all.
    const int slices = made.shape.slices();
    if (!first.reads_own && ItemsOf(first) != int64_t{slices} << SharesOf(first)) return false;
    bool reads = false;
    for (const TensorArg& arg : second.tensors) {
      if (MemoryOf(arg.tensor) != written) continue;
      const bool is_own = second.reads_own && &arg == second.tensors.data();
      if (arg.tensor != written || (!is_own && HasWord(second.body, arg.name.c_str())))
        return false;
      reads = true;
    }
    return reads;
  }

  // Those that both have are equal.
  static bool HaveSameInts(const KernelDesc& a, const KernelDesc& b) {
    for (const ScalarArg& one : a.scalars) {
      for (const ScalarArg& other : b.scalars) {
        if (one.name == other.name && !one.is_float && one.i != other.i) return false;
      }
    }
    return true;
  }

  // How many work-items share a sum, as a power of two.
  static int SharesOf(const KernelDesc& kernel) {
    for (const ScalarArg& number : kernel.scalars) {
      if (number.name == "split_bits") return number.i;
    }
    return 0;
  }

  std::ptrdiff_t CountReads(int tensor) const {
    std::ptrdiff_t reads = 0;
    for (const KernelDesc& kernel : made_.kernels) {
      reads += std::any_of(kernel.tensors.begin(), kernel.tensors.end(), [&](const TensorArg& arg) {
        return arg.access == Access::kRead && MemoryOf(arg.tensor) == tensor;
      });
    }
    return reads;
  }

  // Instead of two kernels.
  void Replace(size_t at, size_t i, KernelDesc joined) {
    made_.kernels[at] = std::move(joined);
    made_.nodes[at].insert(made_.nodes[at].end(), made_.nodes[i].begin(), made_.nodes[i].end());
  }

  bool Join(size_t at, size_t i) {
    KernelDesc &first = made_.kernels[at], &second = made_.kernels[i];
    if (!AreAlike(first, second) || IsBorder(at) || !AreSiblings(at, i)) return false;
    if (!AreApart(first, second)) return false;
    KernelDesc joined = Pair(first, second).Join(*context_.gpu);
    const int64_t idle = ItemsOf(joined) - ItemsOf(first) - ItemsOf(second);
    if (idle > Most() || !Fits(joined)) return false;
    Replace(at, i, std::move(joined));
    return true;
  }

  // Whether it brings one of the inputs of the plan in, or an output out.
  bool IsBorder(size_t i) const {
    return graph_.nodes[static_cast<size_t>(made_.nodes[i][0])].sources.empty();
  }

  int64_t Most() const { return kMostFills * context_.gpu->enough_work_items; }
  bool IsSmall(const KernelDesc& kernel) const {
    return kernel.parts < kMostParts && !kernel.variant.unoptimised && !kernel.outlined &&
           ItemsOf(kernel) <= kernel.parts * Most() && !HasWord(kernel.body, "GROUP_X") &&
           !HasWord(kernel.body, "GROUP_Y") && !HasWord(kernel.body, "GROUP_Z");
  }

  bool AreAlike(const KernelDesc& a, const KernelDesc& b) const {
    const bool one_group = std::equal(a.group, a.group + 3, b.group);
    const auto is_int = [this](const KernelDesc& kernel) {
      return !IsFloat(ValueOf(kernel.tensors[kernel.Written()].tensor).element);
    };
    return a.name == b.name && a.variant == b.variant && IsSmall(a) &&
           (one_group || (a.HasFreeGroup() && b.HasFreeGroup())) && is_int(a) == is_int(b);
  }

  // Whether both read the same tensor, or what one kernel made, or each updates a state. Others are
  // beside each other by chance.
  bool AreSiblings(size_t at, size_t i) const {
    if (UpdatesState(made_.kernels[at]) && UpdatesState(made_.kernels[i])) return true;
    for (const TensorArg& one : made_.kernels[at].tensors) {
      if (one.access == Access::kWrite || ValueOf(one.tensor).constant) continue;
      for (const TensorArg& other : made_.kernels[i].tensors) {
        if (other.access == Access::kWrite || ValueOf(other.tensor).constant) continue;
        if (MemoryOf(one.tensor) == MemoryOf(other.tensor)) return true;
        const int maker = MakerOf(one.tensor, at);
        if (maker >= 0 && maker == MakerOf(other.tensor, i)) return true;
      }
    }
    return false;
  }

  bool UpdatesState(const KernelDesc& kernel) const {
    const Value& written = ValueOf(kernel.tensors[kernel.Written()].tensor);
    return written.dense && written.memory_of >= 0;
  }

  // The last kernel before `reader` that writes the tensor's memory; -1: there is none.
  int MakerOf(int tensor, size_t reader) const {
    const int memory = MemoryOf(tensor);
    for (size_t i = reader; i-- > 0;) {
      for (const TensorArg& arg : made_.kernels[i].tensors) {
        if (arg.access == Access::kWrite && MemoryOf(arg.tensor) == memory) {
          return static_cast<int>(i);
        }
      }
    }
    return -1;
  }

  // Whether one writes what the other reads or writes.
  bool Meet(const KernelDesc& a, const KernelDesc& b) const {
    for (const TensorArg& one : a.tensors) {
      for (const TensorArg& other : b.tensors) {
        if (one.access == Access::kRead && other.access == Access::kRead) continue;
        if (MemoryOf(one.tensor) == MemoryOf(other.tensor)) return true;
      }
    }
    return false;
  }

  const Value& ValueOf(int tensor) const {
    const int count = static_cast<int>(graph_.values.size());
    return tensor < count ? graph_.value(tensor)
                          : made_.scratch[static_cast<size_t>(tensor - count)];
  }
  int MemoryOf(int tensor) const {
    const int memory = ValueOf(tensor).memory_of;
    return memory < 0 ? tensor : MemoryOf(memory);
  }

  // Constants stay apart, so that other plans can have the same ones. Both languages join alike.
  static bool AreApart(const KernelDesc& first, const KernelDesc& second) {
    return JoinedConstants(first, Language::kGles).empty() &&
           JoinedConstants(second, Language::kGles).empty();
  }
  bool Fits(const KernelDesc& kernel) const {
    const KernelContext context = context_.For(kernel.variant.float32);
    std::vector<TensorLayout> layouts;
    layouts.reserve(kernel.tensors.size());
    for (const TensorArg& arg : kernel.tensors) {
      layouts.push_back(context_.LayoutOf(ValueOf(arg.tensor)));
    }
    return CheckLimits(context, kernel, layouts).ok();
  }

  const KernelContext& context_;
  const Graph& graph_;
  GraphKernels& made_;
};

}  // namespace

void JoinKernels(const KernelContext& context, const Graph& graph, GraphKernels* made) {
  // One processor is not idle while it runs a small kernel.
  if (!context.gpu->runs_items_together() || context.gpu->flat_group > 0) return;
  Joiner(context, graph, made).Run();
}

}  // namespace quadra
