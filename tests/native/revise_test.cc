// What is tried after a driver refused a plan: every row of the table, and where it ends.
#include "delegate_native/session/revise.h"

#include <utility>

#include "gtest/gtest.h"

namespace quadra {
namespace {

using Stage = Refusal::Stage;

// Dispatches with groups of 64 x 1 x 1.
struct Planned {
  bool is_free = true;
  bool shares_sums = false;
  bool is_joined = false;
  int grid = 1000;
};

class ARefusedPlan : public testing::Test {
 protected:
  const fb::Plan& PlanOf(const std::vector<Planned>& dispatches) {
    std::vector<flatbuffers::Offset<fb::Dispatch>> made;
    for (const Planned& one : dispatches) {
      const std::vector<int> local = {64, 1, 1}, grid = {one.grid, 1, 1};
      made.push_back(fb::CreateDispatchDirect(
          builder_, Format("%03zu_kernel", made.size()).c_str(), "kernel", 0, "kernel_1", nullptr,
          &local, &local, nullptr, &grid, one.shares_sums, one.is_free, one.is_joined));
    }
    fb::FinishPlanBuffer(builder_, fb::CreatePlanDirect(builder_, 1, "", "", "", "", "", nullptr,
                                                        nullptr, nullptr, nullptr, &made));
    return *fb::GetPlan(builder_.GetBufferPointer());
  }

  Revision After(Stage stage, std::vector<Refusal::Dispatch> dispatches,
                 const std::vector<Planned>& plan, bool all = false) {
    Refusal refusal;
    refusal.stage = stage;
    refusal.dispatches = std::move(dispatches);
    refusal.all = all;
    return Revise(request_, refusal, PlanOf(plan), target_);
  }

  ARefusedPlan() { DecideTarget(&target_); }

  flatbuffers::FlatBufferBuilder builder_;
  GpuInfo target_;
  PlanRequest request_;
};

TEST_F(ARefusedPlan, GetsSmallerGroupsFirst) {
  request_.precision = Precision::kF16;
  for (Stage stage : {Stage::kBuild, Stage::kLaunch}) {
    builder_.Clear();
    const Revision next = After(stage, {{1, 20}}, {{}, {}, {false, true}});
    ASSERT_STREQ(next.change, "smaller groups");
    const std::vector<Group> groups = {{0, 0, 0}, {16, 1, 1}, {0, 0, 0}};
    EXPECT_EQ(next.request.groups, groups);
    EXPECT_TRUE(next.request.shares_sums);
    EXPECT_EQ(next.request.precision, Precision::kF16);
    ASSERT_EQ(next.notes.size(), 1u);
    EXPECT_EQ(next.notes[0],
              "001_kernel: the driver refuses groups of 64 x 1 x 1 and gets 16 x 1 x 1");
  }
}

TEST_F(ARefusedPlan, KeepsTheGroupsThatItHad) {
  request_.groups = {{32, 2, 1}, {8, 8, 1}};
  const Revision next = After(Stage::kLaunch, {{1, 32}}, {{}, {}});
  const std::vector<Group> groups = {{32, 2, 1}, {32, 1, 1}};
  EXPECT_EQ(next.request.groups, groups);
}

TEST_F(ARefusedPlan, HasNoJoinedKernelsNext) {
  request_.groups = {{32, 1, 1}, {0, 0, 0}};
  const Planned joined = {false, true, true};
  for (const auto& refused : {std::vector<Refusal::Dispatch>{{1, 0}}, {}}) {
    builder_.Clear();
    const Revision next = After(Stage::kBuild, refused, {{}, joined});
    ASSERT_STREQ(next.change, "no joined kernels");
    EXPECT_FALSE(next.request.joins_kernels);
    EXPECT_TRUE(next.request.shares_sums);
    EXPECT_TRUE(next.request.groups.empty());
  }
  builder_.Clear();
  EXPECT_EQ(After(Stage::kBuild, {{0, 0}}, {{false}, joined}).change, nullptr);
}

TEST_F(ARefusedPlan, SharesNoSumsNext) {
  request_.precision = Precision::kF16;
  request_.groups = {{32, 1, 1}, {0, 0, 0}};
  const Revision next = After(Stage::kBuild, {{1, 0}}, {{}, {false, true}});
  ASSERT_STREQ(next.change, "no shared sums");
  EXPECT_FALSE(next.request.shares_sums);
  EXPECT_TRUE(next.request.groups.empty());
  EXPECT_EQ(next.request.precision, Precision::kF16);
  ASSERT_EQ(next.notes.size(), 1u);
  EXPECT_NE(next.notes[0].find("each work-item adds up its own sum"), std::string::npos);
}

TEST_F(ARefusedPlan, SharesNoSumsWhereTheDriverDoesNotSayWhichKernelItRefuses) {
  EXPECT_STREQ(After(Stage::kBuild, {}, {{}, {false, true}}).change, "no shared sums");
}

TEST_F(ARefusedPlan, SharesSumsStillWhereAnotherKernelIsRefused) {
  EXPECT_EQ(After(Stage::kBuild, {{0, 0}}, {{false}, {false, true}}).change, nullptr);
}

// A group that its kernel counts on, and that the driver takes if it is smaller.
TEST_F(ARefusedPlan, LimitsGroupsThatAreNotFree) {
  request_.groups = {{32, 1, 1}, {0, 0, 0}};
  const Revision next = After(Stage::kBuild, {{1, 32}}, {{}, {false}});
  ASSERT_STREQ(next.change, "smaller limit");
  EXPECT_EQ(next.request.most_items, 32);
  EXPECT_TRUE(next.request.groups.empty());
  ASSERT_EQ(next.notes.size(), 1u);
  EXPECT_EQ(next.notes[0], "001_kernel: the driver refuses its group; none has more than 32");
  request_ = next.request;
  builder_.Clear();
  EXPECT_EQ(After(Stage::kBuild, {{1, 32}}, {{}, {false}}).change, nullptr) << "it was tried";
  builder_.Clear();
  EXPECT_EQ(After(Stage::kBuild, {{1, 16}}, {{}, {false}}).request.most_items, 16);
}

TEST_F(ARefusedPlan, LimitsGroupsWhereFreeOnesAreRefusedToo) {
  EXPECT_EQ(After(Stage::kBuild, {{0, 32}, {1, 32}}, {{}, {false}}).request.most_items, 32);
}

TEST_F(ARefusedPlan, LimitsNoGroupWhereThatIsNotTheReason) {
  EXPECT_EQ(After(Stage::kBuild, {{1, 0}}, {{}, {false}}).change, nullptr);
}

TEST_F(ARefusedPlan, ComputesInFloat32Next) {
  request_.precision = Precision::kF16;
  request_.shares_sums = false;
  const Revision next = After(Stage::kBuild, {{0, 0}}, {{}, {false, true}});
  ASSERT_STREQ(next.change, "no half arithmetic");
  EXPECT_EQ(next.request.precision, Precision::kF32F16);
  EXPECT_FALSE(next.request.shares_sums);
  ASSERT_EQ(next.notes.size(), 1u);
}

TEST_F(ARefusedPlan, GoesToTheCpuInTheEnd) {
  for (Precision precision : {Precision::kF32, Precision::kF32F16}) {
    builder_.Clear();
    request_.precision = precision;
    EXPECT_EQ(After(Stage::kLaunch, {{0, 0}}, {{}}).change, nullptr);
  }
}

TEST_F(ARefusedPlan, GoesToTheCpuAtOnceWhereNothingOfThisCanHelp) {
  request_.precision = Precision::kF16;
  const std::vector<Planned> plan = {{}, {false, true}};
  for (Stage stage : {Stage::kMemory, Stage::kOther}) {
    builder_.Clear();
    EXPECT_EQ(After(stage, {{0, 32}}, plan).change, nullptr);
  }
  builder_.Clear();
  EXPECT_EQ(After(Stage::kLaunch, {{0, 32}, {1, 0}}, plan, true).change, nullptr);
}

// Parts first, then whole buffers; nothing else changes where images lie.
TEST_F(ARefusedPlan, HasItsImagesElsewhere) {
  request_.precision = Precision::kF16;
  target_.image_memory = ImageMemory::kArena;
  const auto refuse = [&] {
    Refusal refusal;
    refusal.stage = Stage::kImages;
    refusal.why = "make an image: no";
    builder_.Clear();
    return Revise(request_, refusal, PlanOf({{}, {false, true}}), target_);
  };
  Revision next = refuse();
  ASSERT_STREQ(next.change, "images elsewhere");
  EXPECT_EQ(next.request.image_memory, ImageMemory::kBuffers);
  EXPECT_EQ(next.request.precision, Precision::kF16);
  EXPECT_TRUE(next.request.shares_sums);
  EXPECT_EQ(next.notes,
            std::vector<std::string>{"make an image: no; images lie over whole buffers"});
  request_ = next.request;
  next = refuse();
  EXPECT_EQ(next.request.image_memory, ImageMemory::kOwn);
  EXPECT_EQ(next.notes,
            std::vector<std::string>{"make an image: no; images have memory of their own"});
  request_ = next.request;
  EXPECT_EQ(refuse().change, nullptr);
  request_ = PlanRequest();
  target_.image_row_bytes = 64;
  next = refuse();
  EXPECT_FALSE(next.request.has_row_bytes);
  EXPECT_EQ(next.request.image_memory, ImageMemory::kArena) << "it is the rows that may be refused";
  EXPECT_EQ(next.notes, std::vector<std::string>{"make an image: no; rows of images are longer"});
  request_ = next.request;
  EXPECT_EQ(refuse().request.image_memory, ImageMemory::kBuffers);
  request_ = PlanRequest();
  target_.image_row_bytes = 0;
  target_.image_memory = ImageMemory::kBuffers;
  EXPECT_EQ(refuse().request.image_memory, ImageMemory::kOwn) << "parts are none of its target's";
}

TEST_F(ARefusedPlan, HasNoMoreGroupsThanADispatchMayHave) {
  target_.max_groups[0] = 20;
  EXPECT_EQ(After(Stage::kLaunch, {{0, 32}}, {{}}).change, nullptr);
  builder_.Clear();
  target_.max_groups[0] = 40;
  EXPECT_STREQ(After(Stage::kLaunch, {{0, 32}}, {{}}).change, "smaller groups");
}

// Whatever a driver refuses, the CPU's turn comes.
TEST_F(ARefusedPlan, AsksForLessEachTime) {
  request_.precision = Precision::kF16;
  std::vector<std::string> changes;
  for (;;) {
    builder_.Clear();
    const Revision next =
        After(Stage::kLaunch, {{0, 32}, {1, 0}}, {{}, {false, request_.shares_sums}});
    if (!next.change) break;
    ASSERT_LT(changes.size(), 10u);
    changes.push_back(next.change);
    request_ = next.request;
  }
  EXPECT_EQ(changes, (std::vector<std::string>{"no shared sums", "no half arithmetic"}));
}

}  // namespace
}  // namespace quadra
