// What only the OpenGL ES backend has: its library, and a context beside the caller's.
#include "delegate_native/runtime/gles/gl_context.h"
#include "delegate_native/runtime/gles/gles_backend.h"
#include "tests/native/hand_made_plan.h"

namespace quadra {
namespace {

TEST(Gles, TheCallersContextStaysCurrent) {
  GlContext mine;
  const Status status = mine.Open("", {});
  if (!status.ok()) GTEST_SKIP() << status.message();
  const auto current =
      reinterpret_cast<EGLContext (*)()>(mine.egl.GetProcAddress("eglGetCurrentContext"));
  const EGLContext before = current();
  ASSERT_NE(before, EGL_NO_CONTEXT);
  std::shared_ptr<Backend> backend;
  ASSERT_TRUE(MakeGlesBackend("", {}, &backend).ok());
  const HandMadePlan plan(PlanText("gles"));
  std::unique_ptr<Executable> executable;
  LoadTimes times;
  ASSERT_TRUE(backend->Load(plan.get(), {}, nullptr, &executable, &times).ok());
  RunAndCheck(executable.get(), 4);
  EXPECT_EQ(current(), before);
  GLint bound = -1;
  mine.gl.GetIntegerv(GL_CURRENT_PROGRAM, &bound);
  EXPECT_EQ(bound, 0);
  EXPECT_EQ(mine.gl.GetError(), static_cast<GLenum>(GL_NO_ERROR));
}

TEST(Gles, AContextGoesWithItsThread) {
  for (int cycle = 0; cycle < 20; ++cycle) {
    std::shared_ptr<Backend> backend;
    const Status status = MakeGlesBackend("", {}, &backend);
    if (!status.ok()) GTEST_SKIP() << status.message();
    const HandMadePlan plan(PlanText("gles"));
    std::unique_ptr<Executable> executable;
    LoadTimes times;
    ASSERT_TRUE(backend->Load(plan.get(), {}, nullptr, &executable, &times).ok());
    RunAndCheck(executable.get(), static_cast<float>(cycle));
  }
}

TEST(GlesLibrary, AMissingOneIsAnErrorThatNamesIt) {
  std::shared_ptr<Backend> backend;
  const Status status = MakeGlesBackend("/nowhere/libEGL.so", {}, &backend);
  EXPECT_EQ(status.code(), Code::kDeviceFailed);
  EXPECT_NE(status.message().find("/nowhere/libEGL.so"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("egl_library"), std::string::npos) << status.message();
}

TEST(GlesLibrary, AnotherLibraryIsAnErrorThatNamesWhatItLacks) {
  std::shared_ptr<Backend> backend;
  const Status status = MakeGlesBackend("libm.so.6", {}, &backend);
  EXPECT_NE(status.message().find("libm.so.6 lacks eglBindAPI"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace quadra
