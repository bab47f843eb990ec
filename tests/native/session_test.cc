// A session from a graph's text to numbers, on the OpenCL device of this machine, and what it
// writes and refuses.
#include "delegate_native/session/session.h"

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "delegate_native/runtime/null/null_backend.h"
#include "delegate_native/runtime/opencl/opencl_backend.h"
#include "gtest/gtest.h"

namespace quadra {
namespace {

// out = clamp(in * {2, 3, 5}, 0, 100)
const char kGraph[] = R"(input %0 [1,2,2,3]
const %1 [3] = {2, 3, 5}
%2 [1,2,2,3] = mul(%0, %1) from 0
%3 [1,2,2,3] = clamp(%2) {low: 0.0, high: 100.0} from 1
output %3
)";

Graph GraphOf(const std::string& text) {
  Graph graph;
  const Status status = Parse(text, &graph);
  EXPECT_TRUE(status.ok()) << status.message();
  return graph;
}

Shape SizeOf(int b, int h, int w, int c) {
  Shape shape;
  shape.b = b, shape.h = h, shape.w = w, shape.c = c;
  return shape;
}

bool IsFile(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0;
}

Session NullSession(const std::string& dump_dir) {
  SessionOptions options;
  Decide(&options.target);
  options.dump_dir = dump_dir;
  return Session(GraphOf(kGraph), MakeNullBackend(options.target), options);
}

class OpenClSession : public testing::Test {
 protected:
  void SetUp() override {
    const Status status = MakeOpenClBackend("", &backend_);
    if (!status.ok()) GTEST_SKIP() << status.message();
    options_.target = backend_->info();
  }

  void ExpectRight(Session* session, const Shape& shape) {
    std::vector<float> in(static_cast<size_t>(shape.elements())), out(in.size(), -1.0f);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) - 3;
    const Status status = session->Invoke({in.data()}, {out.data()});
    ASSERT_TRUE(status.ok()) << status.message();
    const float factors[] = {2, 3, 5};
    for (size_t i = 0; i < in.size(); ++i) {
      ASSERT_EQ(out[i], std::min(std::max(in[i] * factors[i % 3], 0.0f), 100.0f)) << i;
    }
  }

  std::shared_ptr<Backend> backend_;
  SessionOptions options_;
};

TEST_F(OpenClSession, FollowsItsInputsSizes) {
  Session session(GraphOf(kGraph), backend_, options_);
  for (const Shape& shape : {SizeOf(1, 2, 2, 3), SizeOf(2, 5, 1, 3), SizeOf(1, 2, 2, 3)}) {
    ASSERT_TRUE(session.Prepare({shape}).ok());
    EXPECT_EQ(session.output_shape(0), shape);
    EXPECT_EQ(session.output_rank(0), 4);
    ExpectRight(&session, shape);
    const uint8_t* plan = reinterpret_cast<const uint8_t*>(session.plan());
    ASSERT_TRUE(session.Prepare({shape}).ok());
    EXPECT_EQ(reinterpret_cast<const uint8_t*>(session.plan()), plan) << "was built twice";
  }
}

TEST_F(OpenClSession, AFailedSizeDoesNotSpoilTheNext) {
  Session session(GraphOf(kGraph), backend_, options_);
  EXPECT_FALSE(session.Prepare({SizeOf(1, 2, 2, 4)}).ok());  // three factors for four channels
  std::vector<float> in(16), out(16);
  EXPECT_FALSE(session.Invoke({in.data()}, {out.data()}).ok());
  ASSERT_TRUE(session.Prepare({SizeOf(1, 2, 2, 3)}).ok());
  ExpectRight(&session, SizeOf(1, 2, 2, 3));
}

TEST_F(OpenClSession, KeepsTheLastHundredProfiles) {
  options_.profile = true;
  Session session(GraphOf(kGraph), backend_, options_);
  ASSERT_TRUE(session.Prepare({SizeOf(1, 2, 2, 3)}).ok());
  for (int run = 0; run < 103; ++run) ExpectRight(&session, SizeOf(1, 2, 2, 3));
  ASSERT_EQ(session.profile().size(), 100u);
  EXPECT_EQ(session.profile()[0].size(), session.plan()->dispatches()->size());
}

TEST(Session, WritesWhatItMade) {
  const std::string folder = testing::TempDir() + "/session_test/a/b";
  Session session = NullSession(folder);
  const Status status = session.Prepare({SizeOf(1, 2, 2, 3)});
  ASSERT_TRUE(status.ok()) << status.message();
  for (const char* name : {"graph.txt", "graph.opt.txt", "plan.quadra", "kernels/000_to_slices.cl"}) {
    EXPECT_TRUE(IsFile(folder + "/" + name)) << name;
  }
}

TEST(Session, AFolderThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const std::string file = testing::TempDir() + "/session_test_file";
  fclose(fopen(file.c_str(), "w"));
  for (const std::string& folder : {file, file + "/sub", std::string("/proc/nothing")}) {
    Session session = NullSession(folder);
    const Status status = session.Prepare({SizeOf(1, 2, 2, 3)});
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_NE(status.message().find(folder), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("dump_dir"), std::string::npos) << status.message();
  }
}

TEST(Session, TheNullBackendPlansAndRunsNothing) {
  Session session = NullSession("");
  ASSERT_TRUE(session.Prepare({SizeOf(1, 2, 2, 3)}).ok());
  EXPECT_GT(session.plan()->dispatches()->size(), 0u);
  std::vector<float> in(12), out(12);
  const Status status = session.Invoke({in.data()}, {out.data()});
  EXPECT_NE(status.message().find("choose another backend"), std::string::npos);
}

}  // namespace
}  // namespace quadra
