#include "delegate_native/ops/limits.h"

#include <algorithm>
#include <cctype>

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/bindings.h"

namespace quadra {
namespace {

using Kind = TensorLayout::Kind;

bool IsOfWord(char c) { return c == '_' || isalnum(static_cast<unsigned char>(c)); }

// One kernel and one device; each function checks one kind of limit.
class Check {
 public:
  Check(const KernelContext& context, const KernelDesc& desc,
        const std::vector<TensorLayout>& layouts)
      : context_(context), gpu_(*context.gpu), desc_(desc), layouts_(layouts) {}

  Status Run() const {
    QUADRA_RETURN_IF_ERROR(Group());
    QUADRA_RETURN_IF_ERROR(SharedMemory());
    QUADRA_RETURN_IF_ERROR(Tensors());
    QUADRA_RETURN_IF_ERROR(Constants());
    QUADRA_RETURN_IF_ERROR(Trips());
    return gpu_.api == Api::kGles ? Units() : Status();
  }

 private:
  Status Group() const {
    const int* group = desc_.group;
    const int* most = gpu_.max_work_group;
    const int64_t items = int64_t{group[0]} * group[1] * group[2];
    if (items <= gpu_.max_work_group_size && group[0] <= most[0] && group[1] <= most[1] &&
        group[2] <= most[2]) {
      return Status();
    }
    return Unsupported(
        "kernel %s needs groups of %d x %d x %d work-items; '%s' allows %d, at most "
        "%d x %d x %d: this node stays on the CPU",
        desc_.name.c_str(), group[0], group[1], group[2], gpu_.name.c_str(),
        gpu_.max_work_group_size, most[0], most[1], most[2]);
  }

  Status SharedMemory() const {
    int64_t bytes = 0;
    for (const SharedArg& shared : desc_.shared) {
      const bool four = shared.type == "vec4" || shared.type == "sum4_t";
      bytes += int64_t{shared.count} * (four ? 16 : 4);
    }
    if (bytes <= gpu_.local_memory_bytes) return Status();
    return Unsupported(
        "kernel %s shares %lld bytes in a group; '%s' has %lld: this node stays on the CPU",
        desc_.name.c_str(), static_cast<long long>(bytes), gpu_.name.c_str(),
        static_cast<long long>(gpu_.local_memory_bytes));
  }

  Status Bytes(const std::string& what, int64_t bytes, const char* helps) const {
    // Kernels' offsets have 32 bits.
    const int64_t most = std::min(gpu_.max_buffer_bytes, int64_t{UINT32_MAX});
    if (bytes <= most) return Status();
    return Unsupported("%s of kernel %s needs a buffer of %lld bytes; '%s' allows %lld: %s",
                       what.c_str(), desc_.name.c_str(), static_cast<long long>(bytes),
                       gpu_.name.c_str(), static_cast<long long>(most), helps);
  }

  const char* Helps(bool halved) const {
    const bool full = !StoresHalf(context_.precision);
    return full && halved ? QUADRA_TEXT("half storage (precision f32_f16) or a smaller input helps")
                          : "a smaller input helps";
  }

  // By read_NAME alone, four neighbours at once.
  bool ReadsDense(size_t i) const {
    const TensorArg& arg = desc_.tensors[i];
    const auto has = [&](const std::string& word) {
      return desc_.body.find(word) != std::string::npos;
    };
    return arg.access == Access::kRead && layouts_[i].shape.c % 4 == 0 && !layouts_[i].is_bytes() &&
           !has(arg.name + "_lanes") && !has("fetch_" + arg.name);
  }

  // By words other than those that take a place (x, y, s).
  bool WalksThrough(size_t i) const {
    const std::string& body = desc_.body;
    const std::string name = "_" + desc_.tensors[i].name;
    for (size_t at = body.find(name); at != std::string::npos; at = body.find(name, at + 1)) {
      if (IsOfWord(body[at + name.size()])) continue;
      size_t begin = at;
      while (begin > 0 && IsOfWord(body[begin - 1])) --begin;
      std::string word = body.substr(begin, at - begin);
      const size_t medium = word.rfind("_medium");
      if (medium != std::string::npos) word.resize(medium);
      if (word != "read" && word != "write") return true;
    }
    return body.find(desc_.tensors[i].name + "_lanes") != std::string::npos;
  }

  // Any tensor may become an input or output of a partition, which is dense floats in a buffer.
  Status Tensors() const {
    for (size_t i = 0; i < layouts_.size(); ++i) {
      const TensorLayout& layout = layouts_[i];
      const Shape& s = layout.shape;
      const std::string what = "tensor '" + desc_.tensors[i].name + "' " + ToString(s);
      const int64_t quads = int64_t{s.b} * s.slices() * s.h * s.w;
      const bool in_slices = layout.kind == Kind::kSlicesBuffer;
      if (layout.kind == Kind::kDenseBuffer && !desc_.tensors[i].dense && !ReadsDense(i)) {
        return Unsupported("kernel %s reads slices only", desc_.name.c_str());
      }
      if (layout.is_scattered() && WalksThrough(i)) {
        return Unsupported("kernel %s walks through memory", desc_.name.c_str());
      }
      const int64_t dense = s.elements() * 4;
      const int64_t kept = in_slices ? quads * (layout.half() ? 8 : 16) : 0;
      QUADRA_RETURN_IF_ERROR(Bytes(what, std::max(dense, kept), Helps(kept > dense)));
      // Places in a tensor are counted by ints.
      if (quads > INT32_MAX / 4) {
        return Unsupported("%s of kernel %s has more than 2^31 numbers: a smaller input helps",
                           what.c_str(), desc_.name.c_str());
      }
    }
    return Status();
  }

  Status Constants() const {
    const std::vector<int> joined = JoinedConstants(desc_, context_.DialectOf().language);
    int64_t together = 0;
    for (size_t i = 0; i < desc_.constants.size(); ++i) {
      const ConstantArg& constant = desc_.constants[i];
      const bool half = constant.CellOf(StoresHalf(context_.precision)) == Cell::kHalf;
      const int64_t bytes = constant.floats * (half ? 2 : 4);
      const bool is_joined = std::count(joined.begin(), joined.end(), static_cast<int>(i)) > 0;
      if (is_joined) together += bytes;
      const char* helps = half ? "smaller weights help" : "half storage (precision f32_f16) helps";
      QUADRA_RETURN_IF_ERROR(
          Bytes("constant '" + constant.name + "'", is_joined ? together : bytes, helps));
    }
    return Status();
  }

  Status Trips() const {
    if (desc_.trips <= gpu_.most_trips()) return Status();
    return Unsupported(
        "a work-item of kernel %s loops %lld times; GPUs end kernels that loop so long, "
        "the most is %lld: a smaller window or a smaller input helps",
        desc_.name.c_str(), static_cast<long long>(desc_.trips),
        static_cast<long long>(gpu_.most_trips()));
  }

  Status Units() const {
    const Bindings bindings = BindingsOf(desc_, layouts_, context_.DialectOf());
    const struct {
      const char* what;
      int needed, allowed;
    } units[] = {{"storage blocks", bindings.storage_blocks, gpu_.max_storage_blocks},
                 {"image units", bindings.image_units, gpu_.max_image_units},
                 {"storage blocks and image units", bindings.storage_blocks + bindings.image_units,
                  gpu_.max_output_resources},
                 {"texture units", bindings.texture_units, gpu_.max_texture_units}};
    for (const auto& unit : units) {
      if (unit.needed <= unit.allowed) continue;
      return Unsupported(
          "kernel %s needs %d %s; '%s' allows %d: tensors kept elsewhere (\"storage\" in "
          "a target file) or fewer operands help",
          desc_.name.c_str(), unit.needed, unit.what, gpu_.name.c_str(), unit.allowed);
    }
    return Status();
  }

  const KernelContext& context_;
  const GpuInfo& gpu_;
  const KernelDesc& desc_;
  const std::vector<TensorLayout>& layouts_;
};

}  // namespace

void FitGroup(const GpuInfo& gpu, KernelDesc* desc) {
  if (!desc->shared.empty()) return;
  int* group = desc->group;
  for (int axis = 0; axis < 3; ++axis) {
    while (group[axis] > std::max(1, gpu.max_work_group[axis]))
      group[axis] = CeilDiv(group[axis], 2);
  }
  while (int64_t{group[0]} * group[1] * group[2] > std::max(1, gpu.max_work_group_size)) {
    int* largest = std::max_element(group, group + 3);
    *largest = CeilDiv(*largest, 2);
  }
}

Status CheckLimits(const KernelContext& context, const KernelDesc& desc,
                   const std::vector<TensorLayout>& layouts) {
  return Check(context, desc, layouts).Run();
}

}  // namespace quadra
