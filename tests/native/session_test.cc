// A session from a graph's text to numbers, on every backend of this machine, and what it writes
// and refuses.
#include "delegate_native/session/session.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "delegate_native/runtime/null/null_backend.h"
#include "delegate_native/session/tune.h"
#include "tests/native/backends.h"

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

Session NullSession(const std::string& dump_dir, Api api = Api::kOpenCl) {
  SessionOptions options;
  options.target.api = api;
  DecideTarget(&options.target);
  options.dump_dir = dump_dir;
  return Session(GraphOf(kGraph), MakeNullBackend(options.target), options);
}

// `run`(inputs, outputs) computes kGraph.
template <typename Run>
void ExpectRight(const Shape& shape, Run run) {
  std::vector<float> in(static_cast<size_t>(shape.elements())), out(in.size(), -1.0f);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) - 3;
  const Status status = run({in.data()}, {out.data()});
  ASSERT_TRUE(status.ok()) << status.message();
  const float factors[] = {2, 3, 5};
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(out[i], std::min(std::max(in[i] * factors[i % 3], 0.0f), 100.0f)) << i;
  }
}

void ExpectRight(Session* session, const Shape& shape) {
  ExpectRight(shape, [&](const std::vector<const void*>& in, const std::vector<void*>& out) {
    return session->Invoke(in, out);
  });
}

TEST(Session, AnOpWithoutAnAttributeThatItNeedsIsAnError) {
  const char* const graph = R"(input %0 [1,2,2,4]
%1 [1,2,2,4] = depth_to_space(%0) {blocks: 1}
output %1
)";
  SessionOptions options;
  DecideTarget(&options.target);
  Session session(GraphOf(graph), MakeNullBackend(options.target), options);
  const Status status = session.Prepare({SizeOf(1, 2, 2, 4)});
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_EQ(status.message(), "depth_to_space: it has no attribute 'block'");
}

class GpuSession : public OnEveryBackend {
 protected:
  void SetUp() override {
    OnEveryBackend::SetUp();
    if (backend_) options_.target = backend_->info();
  }

  SessionOptions options_;
};

TEST_P(GpuSession, FollowsItsInputsSizes) {
  Session session(GraphOf(kGraph), backend_, options_);
  for (const Shape& shape : {SizeOf(1, 2, 2, 3), SizeOf(2, 5, 1, 3), SizeOf(1, 2, 2, 3)}) {
    ASSERT_TRUE(session.Prepare({shape}).ok());
    EXPECT_EQ(session.outputs()[0].shape, shape);
    EXPECT_EQ(session.outputs()[0].rank, 4);
    ExpectRight(&session, shape);
    const uint8_t* plan = reinterpret_cast<const uint8_t*>(session.plan());
    ASSERT_TRUE(session.Prepare({shape}).ok());
    EXPECT_EQ(reinterpret_cast<const uint8_t*>(session.plan()), plan) << "was built twice";
  }
}

TEST_P(GpuSession, AFailedSizeDoesNotSpoilTheNext) {
  Session session(GraphOf(kGraph), backend_, options_);
  EXPECT_FALSE(session.Prepare({SizeOf(1, 2, 2, 4)}).ok());  // three factors for four channels
  std::vector<float> in(16), out(16);
  EXPECT_FALSE(session.Invoke({in.data()}, {out.data()}).ok());
  ASSERT_TRUE(session.Prepare({SizeOf(1, 2, 2, 3)}).ok());
  ExpectRight(&session, SizeOf(1, 2, 2, 3));
}

TEST_P(GpuSession, KeepsTheLastHundredProfiles) {
  options_.profile = true;
  Session session(GraphOf(kGraph), backend_, options_);
  ASSERT_TRUE(session.Prepare({SizeOf(1, 2, 2, 3)}).ok());
  for (int run = 0; run < 103; ++run) ExpectRight(&session, SizeOf(1, 2, 2, 3));
  ASSERT_EQ(session.profile().size(), 100u);
  EXPECT_EQ(session.profile()[0].dispatches.size(), session.plan()->dispatches()->size());
}

TEST_P(GpuSession, WhatItWroteLoadsWithoutBeingCompiled) {
  options_.dump_dir = testing::TempDir() + "/session_test_" + GetParam().name;
  ASSERT_TRUE(Session(GraphOf(kGraph), backend_, options_).Prepare({SizeOf(1, 2, 2, 3)}).ok());
  ASSERT_TRUE(OpenAnother().ok());
  const auto bytes_of = [&](const char* name) {
    std::ifstream file(options_.dump_dir + name, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    char* memory = static_cast<char*>(aligned_alloc(64, (bytes.size() + 63) / 64 * 64));
    std::copy(bytes.begin(), bytes.end(), memory);
    return std::unique_ptr<char, decltype(&free)>(memory, free);
  };
  const auto plan = bytes_of("/plan.quadra"), binaries = bytes_of("/binaries.quadra");
  const fb::Plan* read = fb::GetPlan(plan.get());
  EXPECT_EQ(read->api()->str(), GetParam().name);
  std::unique_ptr<Executable> executable;
  LoadTimes times;
  const Status status = backend_->Load(read, {}, flatbuffers::GetRoot<fb::Binaries>(binaries.get()),
                                       &executable, &times);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(times.binaries.loaded, static_cast<int>(read->programs()->size()));
  ExpectRight(SizeOf(1, 2, 2, 3),
              [&](const std::vector<const void*>& in, const std::vector<void*>& out) {
                return executable->Run(in, out, nullptr);
              });
}

TEST_P(GpuSession, SeveralWorkInThreadsOfTheirOwn) {
  std::vector<std::thread> threads;
  for (int height = 1; height <= 3; ++height) {
    threads.emplace_back([this, height] {
      Session session(GraphOf(kGraph), backend_, options_);
      for (int run = 0; run < 20; ++run) {
        const Shape shape = SizeOf(1, height, run / 10 + 1, 3);
        ASSERT_TRUE(session.Prepare({shape}).ok());
        ExpectRight(&session, shape);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(All, GpuSession, EveryBackend(), NameOfBackend);

TEST(Session, WritesWhatItMade) {
  for (const Api api : {Api::kOpenCl, Api::kGles}) {
    const bool gles = api == Api::kGles;
    const std::string folder = testing::TempDir() + "/session_test/a/" + (gles ? "gles" : "opencl");
    Session session = NullSession(folder, api);
    const Status status = session.Prepare({SizeOf(1, 2, 2, 3)});
    ASSERT_TRUE(status.ok()) << status.message();
    const char* const kernel = gles ? "kernels/000_to_slices.comp" : "kernels/000_to_slices.cl";
    for (const char* name : {"graph.txt", "graph.opt.txt", "plan.quadra", kernel}) {
      EXPECT_TRUE(IsFile(folder + "/" + name)) << name;
    }
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

std::vector<Group> GroupsToTry(const Group& own, const Group& grid, const GpuInfo& gpu, bool all) {
  std::vector<Group> found;
  Group group;
  for (int i = 0; i < kGroupsToTry; ++i) {
    if (GroupToTry(i, own, grid, gpu, all, &group)) found.push_back(group);
  }
  return found;
}

// The kernel's own first, each once, within the device's limits and no larger than the grid needs.
TEST(Groups, ThoseToTry) {
  GpuInfo gpu;
  gpu.max_work_group_size = 128;
  gpu.max_work_group[0] = gpu.max_work_group[1] = 100;
  gpu.max_work_group[2] = 4;
  DecideTarget(&gpu);
  const Group own = {7, 1, 1};
  for (bool all : {false, true}) {
    for (const Group& grid : std::vector<Group>{{9, 7, 2}, {1, 1, 3000}, {4000, 1, 1}, {3, 1, 1}}) {
      const std::vector<Group> tried = GroupsToTry(own, grid, gpu, all);
      EXPECT_EQ(tried[0], own);
      EXPECT_LE(tried.size(), all ? 60u : 13u);
      for (size_t i = 1; i < tried.size(); ++i) {
        EXPECT_EQ(std::count(tried.begin(), tried.end(), tried[i]), 1);
        EXPECT_LE(ItemsOf(tried[i]), 128);
        for (size_t axis = 0; axis < 3; ++axis) {
          EXPECT_GE(tried[i][axis], 1);
          EXPECT_LE(tried[i][axis], std::min(2 * grid[axis], gpu.max_work_group[axis]));
        }
      }
    }
  }
  EXPECT_EQ(GroupsToTry(own, {4000, 1, 1}, gpu, true),
            (std::vector<Group>{own, {16, 1, 1}, {32, 1, 1}, {64, 1, 1}}));
  EXPECT_EQ(GroupsToTry(own, {3, 1, 1}, gpu, true), (std::vector<Group>{own, {4, 1, 1}}));
  gpu.max_groups[0] = 100;  // larger groups, or it would take several dispatches
  EXPECT_EQ(GroupsToTry(own, {4000, 1, 1}, gpu, false), (std::vector<Group>{own, {64, 1, 1}}));
  EXPECT_EQ(GroupsToTry(own, {7, 9, 2}, gpu, false),
            (std::vector<Group>{own, {8, 8, 1}, {4, 16, 1}, {8, 4, 2}, {4, 8, 2}, {2, 16, 2}}));
}

}  // namespace
}  // namespace quadra
