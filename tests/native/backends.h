// The GPU backends, for tests whose one body serves all of them.
#ifndef QUADRA_TESTS_NATIVE_BACKENDS_H_
#define QUADRA_TESTS_NATIVE_BACKENDS_H_

#include <memory>
#include <string>

#include "delegate_native/runtime/gles/gles_backend.h"
#include "delegate_native/runtime/opencl/opencl_backend.h"
#include "gtest/gtest.h"

namespace quadra {

struct BackendMaker {
  const char* name;
  const char* library;
  Status (*make)(const std::string& library, const Contexts& shared,
                 std::shared_ptr<Backend>* backend);
};

inline void PrintTo(const BackendMaker& maker, std::ostream* out) { *out << maker.name; }

inline auto EveryBackend() {
  return testing::Values(BackendMaker{"opencl", "libOpenCL.so.1", MakeOpenClBackend},
                         BackendMaker{"gles", "libEGL.so.1", MakeGlesBackend});
}

inline std::string NameOfBackend(const testing::TestParamInfo<BackendMaker>& info) {
  return info.param.name;
}

// A test on the backend that its parameter names; skipped where the machine has none.
class OnEveryBackend : public testing::TestWithParam<BackendMaker> {
 protected:
  void SetUp() override {
    const Status status = GetParam().make("", {}, &backend_);
    if (!status.ok()) GTEST_SKIP() << status.message();
  }

  // A backend that has seen no plan: the process has one for each name of a library.
  Status OpenAnother() { return GetParam().make(GetParam().library, {}, &backend_); }

  std::shared_ptr<Backend> backend_;
};

}  // namespace quadra

#endif  // QUADRA_TESTS_NATIVE_BACKENDS_H_
