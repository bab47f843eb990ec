// The cache of plans: what was saved is loaded, and what is wrong with a file is a sentence.
#include "delegate_native/cache/model_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "delegate_native/base/known_hashes.h"
#include "delegate_native/cache/build_id.h"
#include "delegate_native/passes/passes.h"
#include "delegate_native/plan/binaries.h"
#include "delegate_native/plan/check_plan.h"
#include "delegate_native/plan/dispatch_group.h"
#include "delegate_native/plan/make_plan.h"
#include "gtest/gtest.h"

namespace quadra {
namespace {

const char kGraph[] = R"(input %0 [1,2,2,3]
const %1 [3] = {2, 3, 5}
%2 [1,2,2,3] = mul(%0, %1) from 0
output %2
)";

Graph GraphOf(const std::string& text) {
  Graph graph;
  EXPECT_TRUE(Parse(text, &graph).ok());
  return graph;
}

class ModelCacheTest : public testing::Test {
 protected:
  void SetUp() override { SetUp(kGraph); }
  void SetUp(const std::string& text) {
    std::string name = testing::TempDir() + "/plan_cache_XXXXXX";
    ASSERT_NE(mkdtemp(&name[0]), nullptr);
    root_ = name;
    folder_ = root_ + "/kept";
    DecideTarget(&target_);
    MakePlanOf(text, &plan_);
    const fb::Plan& plan = *fb::GetPlan(plan_.data());
    binaries_ = PackBinaries(plan, std::vector<ProgramBinary>(plan.programs()->size(), {kCode, 7}));
  }
  void TearDown() override {
    for (const std::string& name : Files()) unlink((folder_ + "/" + name).c_str());
    rmdir(folder_.c_str());
    rmdir(root_.c_str());
  }

  void MakePlanOf(const std::string& text, PlanBytes* plan) const {
    Graph graph = GraphOf(text);
    AddBorders(&graph);
    ASSERT_TRUE(MakePlan(graph, target_, PlanRequest(), plan).ok());
  }
  ModelCache Cache(int64_t most_bytes = 1 << 30) const {
    return ModelCache(folder_, "model", most_bytes);
  }
  // `removed`: null: nothing is removed.
  Status Save(const std::string& key, int64_t most_bytes = 1 << 30,
              std::string* removed = nullptr) const {
    std::string text;
    const Status status = Cache(most_bytes).Save(key, plan_, {}, binaries_, &text);
    EXPECT_EQ(text.empty(), !removed) << text;
    if (removed) *removed = text;
    return status;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    DIR* folder = opendir(folder_.c_str());
    if (!folder) return files;
    while (const dirent* entry = readdir(folder)) {
      if (entry->d_name[0] != '.') files.push_back(entry->d_name);
    }
    closedir(folder);
    return files;
  }
  // The path of the one file that is kept.
  std::string Kept() const {
    const std::vector<std::string> files = Files();
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? "" : folder_ + "/" + files[0];
  }
  static std::string BytesOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  std::string Miss(const std::string& key = "key") const {
    PlanBytes plan;
    const fb::Binaries* binaries = nullptr;
    const Status status = Cache().Load(key, &plan, &binaries);
    EXPECT_EQ(plan.size() == 0, !status.ok());
    EXPECT_EQ(binaries == nullptr, !status.ok());
    return status.ok() ? "" : status.message();
  }

  std::string root_, folder_;
  GpuInfo target_;
  PlanBytes plan_;
  const std::vector<uint8_t> kCode = {0, 1, 2, 3, 254, 255};
  std::vector<uint8_t> binaries_;
};

TEST_F(ModelCacheTest, WhatWasSavedIsLoaded) {
  EXPECT_EQ(Miss(), "none is kept");
  ASSERT_TRUE(Save("key").ok());
  PlanBytes read;
  const fb::Binaries* kept = nullptr;
  const Status status = Cache().Load("key", &read, &kept);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(read.size(), plan_.size());
  EXPECT_EQ(memcmp(read.data(), plan_.data(), read.size()), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read.data()) % PlanBytes::kAlignment, 0u);
  const auto* programs = fb::GetPlan(read.data())->programs();
  ASSERT_EQ(kept->programs()->size(), programs->size());
  for (unsigned i = 0; i < programs->size(); ++i) {
    const fb::ProgramBinary& binary = *kept->programs()->Get(i);
    EXPECT_EQ(binary.fingerprint(), programs->Get(i)->fingerprint());
    EXPECT_EQ(binary.format(), 7u);
    EXPECT_EQ(std::vector<uint8_t>(binary.bytes()->begin(), binary.bytes()->end()), kCode);
  }
  struct stat found;
  ASSERT_EQ(stat(Kept().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(folder_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
}

// Of two nodes, the second on the GPU, as a partition.
std::vector<uint8_t> SomeVerdicts() {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<uint8_t> placements = {fb::Placement_Cpu, fb::Placement_Gpu};
  const std::vector<flatbuffers::Offset<flatbuffers::String>> reasons = {
      builder.CreateString("no such op"), builder.CreateString("")};
  const std::vector<int> nodes = {1}, inputs = {5}, outputs = {6}, ranks = {4, 4};
  const std::vector<int> sizes = {1, 1, 1, 2, 2, 3, 1, 1, 1, 2, 2, 4};
  const std::vector<flatbuffers::Offset<fb::PartitionRecord>> partitions = {
      fb::CreatePartitionRecordDirect(builder, &nodes, &inputs, &outputs, &sizes, &ranks, 0, 0,
                                      "00ff")};
  builder.Finish(fb::CreateVerdictsDirect(builder, &placements, &reasons, &partitions));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

TEST_F(ModelCacheTest, VerdictsAreLoadedWhereTheyAreAFlatBufferOfTheSchema) {
  PlanBytes file;
  const fb::Verdicts* verdicts = nullptr;
  const std::vector<uint8_t> bytes = SomeVerdicts();
  const auto load = [&](const std::vector<uint8_t>& saved) {
    EXPECT_TRUE(Cache().SaveVerdicts("key", {saved.data(), saved.size()}).ok());
    return Cache().LoadVerdicts("key", &file, &verdicts);
  };
  const Status status = load(bytes);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_STREQ(verdicts->reasons()->Get(0)->c_str(), "no such op");
  EXPECT_EQ(verdicts->placements()->Get(1), fb::Placement_Gpu);
  const fb::PartitionRecord& partition = *verdicts->partitions()->Get(0);
  EXPECT_EQ(partition.inputs()->Get(0), 5);
  EXPECT_EQ(partition.sizes()->Get(11), 4);
  EXPECT_EQ(verdicts->miscompiled(), nullptr);
  // The end are the letters of the first text that was made.
  for (size_t size = 0; size + 4 < bytes.size(); ++size) {
    EXPECT_FALSE(load({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}).ok())
        << size;
  }
  // Files of earlier versions began with the number of nodes, and had one for each.
  for (int nodes = 0; nodes < 70; ++nodes) {
    for (int each = 0; each < 3; ++each) {
      std::vector<int> numbers(static_cast<size_t>(nodes) + 1, each);
      numbers[0] = nodes;
      const auto* old = reinterpret_cast<const uint8_t*>(numbers.data());
      EXPECT_EQ(load({old, old + 4 * numbers.size()}).message(),
                "they are no FlatBuffer of this schema")
          << nodes;
    }
  }
}

TEST_F(ModelCacheTest, TheKeyOfAnotherModelFindsNothing) {
  ASSERT_TRUE(Save("key").ok());
  EXPECT_EQ(Miss("another key"), "none is kept");
  // As after a collision of names.
  const std::string path = Kept();
  ASSERT_TRUE(Save("others").ok());
  for (const std::string& name : Files()) {
    if (folder_ + "/" + name != path) rename((folder_ + "/" + name).c_str(), path.c_str());
  }
  EXPECT_EQ(Miss(), "it is for another model, device, driver or library");
}

TEST_F(ModelCacheTest, KeysTellGraphsNumbersDevicesAndPrecisionsApart) {
  const Graph graph = GraphOf(kGraph);
  const auto key = [&](const Graph& g, const GpuInfo& target, const GpuInfo& device,
                       const char* precision) {
    return ModelCache::KeyOfVerdicts(ModelCache::HashOfGraph(g), " profile=0", precision, target,
                                     device);
  };
  const std::string first = key(graph, target_, target_, "f32");
  EXPECT_EQ(first, key(GraphOf(kGraph), target_, target_, "f32"));
  std::string text = kGraph;
  text.replace(text.find("{2,"), 3, "{2.0000002,");
  EXPECT_NE(first, key(GraphOf(text), target_, target_, "f32")) << "the last bit of a number";
  text = kGraph;
  text.replace(text.find("mul("), 4, "add(");
  EXPECT_NE(first, key(GraphOf(text), target_, target_, "f32"));
  GpuInfo device = target_;
  device.driver += "1";
  EXPECT_NE(first, key(graph, target_, device, "f32"));
  EXPECT_NE(first, key(graph, device, target_, "f32"));
  device.api_version += "1";
  const auto key_of_plan = [&](const GpuInfo& info) {
    return ModelCache::KeyOfPlan(ModelCache::HashOfGraph(graph), "f32", info, info);
  };
  EXPECT_EQ(key_of_plan(target_), key_of_plan(device));
  device.device_name += "1";
  EXPECT_NE(key_of_plan(target_), key_of_plan(device));
  EXPECT_NE(first, key(graph, target_, target_, "f16"));
  Graph vector = graph;
  vector.values[0].rank = 3;
  EXPECT_NE(first, key(vector, target_, target_, "f32"));
  EXPECT_EQ(BuildId().size(), 40u);
  EXPECT_NE(first.find(BuildId()), std::string::npos);
}

TEST_F(ModelCacheTest, EveryFlippedBitIsSeen) {
  ASSERT_TRUE(Save("key").ok());
  const std::string path = Kept(), bytes = BytesOf(path);
  const int file = open(path.c_str(), O_RDWR);
  ASSERT_GE(file, 0);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      const char flipped = static_cast<char>(bytes[i] ^ (1 << bit));
      ASSERT_EQ(pwrite(file, &flipped, 1, static_cast<off_t>(i)), 1);
      ASSERT_NE(Miss(), "") << "bit " << bit << " of byte " << i;
    }
    ASSERT_EQ(pwrite(file, &bytes[i], 1, static_cast<off_t>(i)), 1);
  }
  close(file);
  EXPECT_EQ(Miss(), "") << "as it was";
}

TEST_F(ModelCacheTest, EveryOtherLengthIsSeen) {
  ASSERT_TRUE(Save("key").ok());
  const std::string path = Kept(), bytes = BytesOf(path);
  Write(path, bytes + '\0');
  EXPECT_NE(Miss(), "");
  for (size_t size = bytes.size(); size-- > 0;) {
    ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(size)), 0);
    ASSERT_NE(Miss(), "") << size << " bytes are left";
  }
}

// Behind all hashes: no damage of a plan leads out of its bytes (the sanitizers watch), and many
// are named.
TEST_F(ModelCacheTest, DamagedPlansAreChecked) {
  std::mt19937 random(5);
  std::vector<std::string> reasons;
  uint8_t* copy = static_cast<uint8_t*>(aligned_alloc(64, (plan_.size() + 63) / 64 * 64));
  for (int i = 0; i < 20000; ++i) {
    memcpy(copy, plan_.data(), plan_.size());
    for (unsigned n = random() % 3 + 1; n > 0; --n) {
      const uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xff, static_cast<uint8_t>(random())};
      copy[random() % plan_.size()] = kEdges[random() % 6];
    }
    const Status status = CheckPlan(copy, plan_.size());
    if (!status.ok()) reasons.push_back(status.message());
  }
  free(copy);
  std::sort(reasons.begin(), reasons.end());
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
  EXPECT_GT(reasons.size(), 5u);
}

// Elements of eight bytes, and weights that a device uses where they lie: FlatBuffers' verifier
// asks for no more than lengths of four.
TEST_F(ModelCacheTest, WhatIsNotAlignedIsRefused) {
  uint8_t* copy = static_cast<uint8_t*>(aligned_alloc(64, (plan_.size() + 63) / 64 * 64));
  memcpy(copy, plan_.data(), plan_.size());
  const auto later = [](const flatbuffers::Table& table, flatbuffers::voffset_t field) {
    uint8_t* at = const_cast<uint8_t*>(table.GetAddressOf(field));
    flatbuffers::WriteScalar(at, flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at) + 4);
  };
  const auto& plan = reinterpret_cast<const flatbuffers::Table&>(*fb::GetPlan(copy));
  later(plan, fb::Plan::VT_REGIONS);
  EXPECT_EQ(CheckPlan(copy, plan_.size()).message(), "the regions of its plan are not aligned");
  memcpy(copy, plan_.data(), plan_.size());
  const auto& buffers = *fb::GetPlan(copy)->buffers();
  unsigned weights = 0;
  while (buffers[weights]->kind() != fb::BufferKind_Constant) ++weights;
  const fb::Buffer& buffer = *buffers[weights];
  // Its first four bytes are its length now.
  uint8_t* data = const_cast<uint8_t*>(buffer.data()->data());
  flatbuffers::WriteScalar<uint32_t>(data, static_cast<uint32_t>(buffer.bytes() - 4));
  later(reinterpret_cast<const flatbuffers::Table&>(buffer), fb::Buffer::VT_DATA);
  flatbuffers::WriteScalar<uint64_t>(
      const_cast<uint8_t*>(
          reinterpret_cast<const flatbuffers::Table&>(buffer).GetAddressOf(fb::Buffer::VT_BYTES)),
      buffer.data()->size());
  EXPECT_EQ(CheckPlan(copy, plan_.size()).message(),
            "buffer " + std::to_string(weights) + " of its plan is wrong");
  free(copy);
}

// What a kernel's text says is how its groups run: others would leave work-items out.
TEST_F(ModelCacheTest, GroupsAreThoseOfTheTextAndCoverTheGrid) {
  uint8_t* copy = static_cast<uint8_t*>(aligned_alloc(64, (plan_.size() + 63) / 64 * 64));
  const auto numbers = [](const flatbuffers::Vector<int32_t>* list) {
    EXPECT_EQ(list->size(), 3u);
    return reinterpret_cast<int32_t*>(const_cast<uint8_t*>(list->Data()));
  };
  const auto said = [&](void (*damage)(int32_t* global, int32_t* local, int32_t* grid)) {
    memcpy(copy, plan_.data(), plan_.size());
    const fb::Dispatch& dispatch = *fb::GetPlan(copy)->dispatches()->Get(1);
    EXPECT_TRUE(dispatch.has_free_group());
    damage(numbers(dispatch.global()), numbers(dispatch.local()), numbers(dispatch.grid()));
    return CheckPlan(copy, plan_.size()).message();
  };
  const std::string wrong = "dispatch 1 of its plan is wrong";
  EXPECT_EQ(said([](int32_t*, int32_t*, int32_t*) {}), "");
  EXPECT_EQ(said([](int32_t* g, int32_t* l, int32_t*) { g[0] *= 2, l[0] *= 2; }), wrong);
  EXPECT_EQ(said([](int32_t*, int32_t* l, int32_t*) { l[0] *= 2; }), wrong);
  EXPECT_EQ(said([](int32_t*, int32_t* l, int32_t*) { l[0] = 1 << 30; }), wrong);
  EXPECT_EQ(said([](int32_t* g, int32_t* l, int32_t*) { g[0] += l[0]; }), wrong);
  EXPECT_EQ(said([](int32_t*, int32_t*, int32_t* n) { n[0] = 0; }), wrong);
  EXPECT_EQ(said([](int32_t* g, int32_t*, int32_t* n) { n[0] = g[0] + 1; }), wrong);
  free(copy);
}

// Which leaves their content to the driver.
TEST_F(ModelCacheTest, DamagedBinariesAreChecked) {
  std::mt19937 random(6);
  int refused = 0;
  uint8_t* copy = static_cast<uint8_t*>(aligned_alloc(64, (binaries_.size() + 63) / 64 * 64));
  for (int i = 0; i < 20000; ++i) {
    std::copy(binaries_.begin(), binaries_.end(), copy);
    const size_t size = random() % 4 ? binaries_.size() : random() % (binaries_.size() + 1);
    const uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xff, static_cast<uint8_t>(random())};
    copy[random() % binaries_.size()] = kEdges[random() % 6];
    if (!CheckBinaries(copy, size).ok()) {
      ++refused;
      continue;
    }
    size_t sum = 0;
    for (const fb::ProgramBinary* one : *flatbuffers::GetRoot<fb::Binaries>(copy)->programs()) {
      for (unsigned k = 0; one->bytes() && k < one->bytes()->size(); ++k)
        sum += one->bytes()->Get(k);
    }
    EXPECT_LT(sum, size * 256);
  }
  free(copy);
  EXPECT_GT(refused, 5000);
}

// A driver may give none, or the file may be of a time when it gave none.
TEST_F(ModelCacheTest, APlanWithoutBinariesIsAPlan) {
  std::string none;
  ASSERT_TRUE(
      Cache().Save("key", plan_, {}, PackBinaries(*fb::GetPlan(plan_.data()), {}), &none).ok());
  EXPECT_EQ(Miss(), "");
  ASSERT_TRUE(Cache().Save("key", plan_, {}, {}, &none).ok());
  EXPECT_EQ(Miss(), "its binaries are no FlatBuffer of this schema");
}

TEST_F(ModelCacheTest, KernelsOfABinaryHaveNames) {
  std::string none;
  for (const bool named : {true, false}) {
    flatbuffers::FlatBufferBuilder builder;
    const auto entry =
        named ? builder.CreateString("add") : flatbuffers::Offset<flatbuffers::String>();
    const std::vector<flatbuffers::Offset<fb::Kernel>> kernels = {fb::CreateKernel(builder, entry)};
    const std::vector<flatbuffers::Offset<fb::ProgramBinary>> binaries = {
        fb::CreateProgramBinaryDirect(builder, 1, 2, &kCode, &kernels)};
    builder.Finish(fb::CreateBinariesDirect(builder, &binaries));
    const uint8_t* from = builder.GetBufferPointer();
    ASSERT_TRUE(Cache().Save("key", plan_, {}, {from, from + builder.GetSize()}, &none).ok());
    EXPECT_EQ(Miss(), named ? "" : "its binaries are no FlatBuffer of this schema");
  }
}

TEST_F(ModelCacheTest, OnlyRegularFilesAreRead) {
  ASSERT_TRUE(Save("key").ok());
  const std::string path = Kept(), moved = root_ + "/moved";
  ASSERT_EQ(rename(path.c_str(), moved.c_str()), 0);
  ASSERT_EQ(symlink(moved.c_str(), path.c_str()), 0);
  EXPECT_NE(Miss(), "");
  unlink(path.c_str());
  unlink(moved.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(Miss(), "it is no regular file");
  unlink(path.c_str());
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  EXPECT_EQ(Miss(), "it is no regular file");
  EXPECT_FALSE(Save("key").ok());
  rmdir(path.c_str());
}

TEST_F(ModelCacheTest, AFailedSaveLeavesNothing) {
  Write(folder_, "a file");
  const Status no_folder = Save("key");
  EXPECT_FALSE(no_folder.ok());
  unlink(folder_.c_str());
  // As on a full disk.
  ASSERT_TRUE(Save("key").ok());
  struct rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const struct rlimit small = {100, limit.rlim_max};
  const auto before = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status full = Save("key");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, before);
  EXPECT_FALSE(full.ok());
  EXPECT_EQ(Files().size(), 1u);
  EXPECT_EQ(Miss(), "") << "the file that was there is whole";
}

TEST_F(ModelCacheTest, AbandonedAndOldFilesGo) {
  const auto make_old = [](const std::string& path, int seconds) {
    const utimbuf when = {time(nullptr) - seconds, time(nullptr) - seconds};
    ASSERT_EQ(utime(path.c_str(), &when), 0);
  };
  ASSERT_TRUE(Save("first").ok());
  const std::string first = Kept();
  make_old(first, 100);
  Write(folder_ + "/model_1.quadra.7.0.unfinished", "dead");
  make_old(folder_ + "/model_1.quadra.7.0.unfinished", 7200);
  Write(folder_ + "/model_1.quadra.8.0.unfinished", "at work");
  Write(folder_ + "/notes.txt", std::string(100000, 'x'));  // not ours
  ASSERT_TRUE(Save("second").ok());
  EXPECT_EQ(Files().size(), 4u) << "all but the dead one";
  const auto size = static_cast<int64_t>(BytesOf(first).size());
  for (const std::string& name : Files()) {
    if (folder_ + "/" + name != first) make_old(folder_ + "/" + name, 50);
  }
  EXPECT_EQ(Miss("first"), "");  // it is used again
  std::string removed;
  ASSERT_TRUE(Save("third", 2 * size + 100, &removed).ok());
  EXPECT_EQ(removed, "removed files: 1 (0.0 MiB), the limit is 0 MiB");
  EXPECT_EQ(Miss("first"), "");
  EXPECT_EQ(Miss("second"), "none is kept");
  EXPECT_EQ(Miss("third"), "");
}

TEST_F(ModelCacheTest, FilesInUseStayWhateverTheLimit) {
  std::unique_ptr<HeldFile> plan = Cache().HoldPlan("first");
  const std::unique_ptr<HeldFile> verdicts = Cache().HoldVerdicts("first");
  std::string removed;
  ASSERT_TRUE(Save("first", 1, &removed).ok());
  EXPECT_EQ(removed, "files in use: 0.0 MiB, the limit is 0 MiB");
  Write(verdicts->path(), "verdicts");
  ASSERT_TRUE(Save("second", 1, &removed).ok());
  EXPECT_EQ(removed, "files in use: 0.0 MiB, the limit is 0 MiB");
  EXPECT_EQ(Miss("first"), "");
  ASSERT_TRUE(Save("second", 0).ok()) << "no limit";
  plan.reset();
  ASSERT_TRUE(Save("second", 1, &removed).ok());
  EXPECT_EQ(removed, "removed files: 1 (0.0 MiB), files in use: 0.0 MiB, the limit is 0 MiB");
  EXPECT_EQ(Miss("first"), "none is kept");
  EXPECT_EQ(BytesOf(verdicts->path()), "verdicts");
}

TEST_F(ModelCacheTest, AProcessThatIsKilledLeavesNoDamage) {
  int whole = 0;
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) (void)Save("key");
    }
    ASSERT_GT(child, 0);
    usleep(static_cast<useconds_t>(37 * i % 3000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string miss = Miss();
    ASSERT_TRUE(miss.empty() || miss == "none is kept") << miss;
    whole += miss.empty();
    if (i % 10 == 0) {
      for (const std::string& name : Files()) unlink((folder_ + "/" + name).c_str());
    }
  }
  EXPECT_GT(whole, 20);
}

TEST_F(ModelCacheTest, ManyWriteAndReadAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(8);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string key = "key " + std::to_string(i % 3);
        const Status saved = Save(key);
        if (!saved.ok()) wrong[t] = saved.message();
        PlanBytes read;
        const fb::Binaries* kept = nullptr;
        const Status loaded = Cache().Load(key, &read, &kept);
        if (!loaded.ok() || read.size() != plan_.size()) wrong[t] = loaded.message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& message : wrong) EXPECT_EQ(message, "");
  EXPECT_EQ(Files().size(), 3u);
}

// Two large constants, made from numbers that begin with these.
std::string GraphWith(int first, int second) {
  constexpr int kSide = 64, kDepth = 4;  // 64 KB
  std::string text = Format("input %%0 [1,%d,%d,%d]\n", kSide, kSide, kDepth);
  for (int constant = 1; constant <= 2; ++constant) {
    text += Format("const %%%d [1,%d,%d,%d] = {", constant, kSide, kSide, kDepth);
    for (int i = 0; i < kSide * kSide * kDepth; ++i) {
      text += Format("%s%d", i ? ", " : "", (constant == 1 ? first : second) + i % 100);
    }
    text += "}\n";
  }
  return text + Format("%%3 [1,%d,%d,%d] = mul(%%0, %%1) from 0\n", kSide, kSide, kDepth) +
         Format("%%4 [1,%d,%d,%d] = add(%%3, %%2) from 1\noutput %%4\n", kSide, kSide, kDepth);
}

// Plans with weights, which are in files of their own.
class WeightsTest : public ModelCacheTest {
 protected:
  void SetUp() override { ModelCacheTest::SetUp(GraphWith(1, 2)); }

  static bool EndsWith(const std::string& name, const std::string& ending) {
    return name.size() > ending.size() &&
           name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
  }
  std::vector<std::string> PathsOf(const std::string& ending) const {
    std::vector<std::string> paths;
    for (const std::string& name : Files()) {
      if (EndsWith(name, ending)) paths.push_back(folder_ + "/" + name);
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  std::vector<std::string> Weights() const { return PathsOf(".weights"); }
  static void MakeOld(const std::string& path, int seconds) {
    const utimbuf when = {time(nullptr) - seconds, time(nullptr) - seconds};
    ASSERT_EQ(utime(path.c_str(), &when), 0);
  }
};

TEST_F(WeightsTest, PlansHaveEqualOnesOnce) {
  ASSERT_TRUE(Save("first").ok());
  const std::vector<std::string> weights = Weights();
  ASSERT_EQ(weights.size(), 2u);
  MakePlanOf(GraphWith(2, 3), &plan_);
  ASSERT_TRUE(Save("second").ok());
  ASSERT_EQ(Weights().size(), 3u);
  const std::vector<std::string> plans = PathsOf(".quadra");
  ASSERT_EQ(plans.size(), 2u);
  for (const std::string& path : plans) EXPECT_LT(BytesOf(path).size(), 32768u);
  for (const std::string& path : Weights()) {
    EXPECT_EQ(BytesOf(path).size(), 65536u);
    struct stat found;
    ASSERT_EQ(stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0600u);
  }
  PlanBytes read;
  const fb::Binaries* kept = nullptr;
  const Status status = Cache().Load("second", &read, &kept);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(read.size(), plan_.size());
  EXPECT_EQ(memcmp(read.data(), plan_.data(), read.size()), 0);
  EXPECT_EQ(kept->programs()->Get(0)->bytes()->size(), kCode.size());
  int mapped = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) mapped += EndsWith(line, ".weights");
  EXPECT_EQ(mapped, 2);
  EXPECT_EQ(Miss("first"), "");
}

TEST_F(WeightsTest, AProcessReadsThemOnceUntilTheyAreChanged) {
  ASSERT_TRUE(Save("key").ok());
  // How many bytes of them it reads for their hashes.
  const auto hashed = [&](PlanBytes* read) {
    const int64_t before = KnownHashes::OfProcess()->hashed_bytes();
    const fb::Binaries* kept;
    const Status status = Cache().Load("key", read, &kept);
    EXPECT_TRUE(status.ok()) << status.message();
    return KnownHashes::OfProcess()->hashed_bytes() - before;
  };
  const int64_t all = 2 * 65536;
  PlanBytes fresh, first, second, changed;
  EXPECT_EQ(hashed(&fresh), all);
  EXPECT_EQ(hashed(&first), all) << "it was written just now: its time may stay when it is changed";
  usleep(2100000);
  EXPECT_EQ(hashed(&first), all);
  EXPECT_EQ(hashed(&second), 0);
  EXPECT_EQ(memcmp(second.data(), plan_.data(), plan_.size()), 0);
  const std::string path = Weights()[0], bytes = BytesOf(path);
  const int file = open(path.c_str(), O_RDWR);
  ASSERT_EQ(pwrite(file, "x", 1, 7), 1);
  EXPECT_EQ(Miss(), "a file of its weights: it is damaged");
  ASSERT_EQ(pwrite(file, &bytes[7], 1, 7), 1);
  close(file);
  EXPECT_EQ(hashed(&changed), all / 2);
}

TEST_F(WeightsTest, EveryDamageIsSeenAndMended) {
  ASSERT_TRUE(Save("key").ok());
  const std::string path = Weights()[1], bytes = BytesOf(path);
  const auto mended = [&] {
    std::string none;
    const Status status = Cache().Save("key", plan_, {}, binaries_, &none);
    return status.ok() && Miss().empty() && BytesOf(path) == bytes && Files().size() == 3;
  };
  const int file = open(path.c_str(), O_RDWR);
  for (size_t i = 0; i < bytes.size(); i += 97) {
    const char flipped = static_cast<char>(bytes[i] ^ (1 << i % 8));
    ASSERT_EQ(pwrite(file, &flipped, 1, static_cast<off_t>(i)), 1);
    ASSERT_EQ(Miss(), "a file of its weights: it is damaged") << i;
    ASSERT_EQ(pwrite(file, &bytes[i], 1, static_cast<off_t>(i)), 1);
  }
  EXPECT_EQ(Miss(), "");
  ASSERT_EQ(pwrite(file, "x", 1, 7), 1);
  close(file);
  EXPECT_TRUE(mended());
  for (size_t size : {size_t{0}, size_t{1}, size_t{4096}, bytes.size() - 1, bytes.size() + 1}) {
    ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(size)), 0);
    EXPECT_EQ(Miss(), "a file of its weights: it is damaged") << size;
    EXPECT_TRUE(mended());
  }
  Write(path, BytesOf(Weights()[0]));
  EXPECT_EQ(Miss(), "a file of its weights: it is damaged") << "another one's";
  EXPECT_TRUE(mended());
  unlink(path.c_str());
  EXPECT_EQ(Miss(), "a file of its weights: none is kept");
  EXPECT_TRUE(mended());
  const std::string moved = root_ + "/moved";
  ASSERT_EQ(rename(path.c_str(), moved.c_str()), 0);
  ASSERT_EQ(symlink(moved.c_str(), path.c_str()), 0);
  EXPECT_NE(Miss(), "");
  EXPECT_TRUE(mended());
  EXPECT_EQ(BytesOf(moved), bytes);
  unlink(moved.c_str());
  unlink(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(Miss(), "a file of its weights: it is no regular file");
  EXPECT_TRUE(mended());
}

TEST_F(WeightsTest, EveryFlippedByteOfThePlansFileIsSeen) {
  ASSERT_TRUE(Save("key").ok());
  const std::string path = PathsOf(".quadra")[0], bytes = BytesOf(path);
  const int file = open(path.c_str(), O_RDWR);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char flipped = static_cast<char>(bytes[i] ^ (1 << i % 8));
    ASSERT_EQ(pwrite(file, &flipped, 1, static_cast<off_t>(i)), 1);
    ASSERT_NE(Miss(), "") << i;
    ASSERT_EQ(pwrite(file, &bytes[i], 1, static_cast<off_t>(i)), 1);
  }
  close(file);
  EXPECT_EQ(Miss(), "");
}

TEST_F(WeightsTest, AFailedSaveLeavesNoPlanWithoutThem) {
  struct rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const struct rlimit small = {60000, limit.rlim_max};  // a plan's file would fit
  const auto before = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status full = Save("key");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, before);
  EXPECT_EQ(full.message().compare(0, 10, "write it: "), 0) << full.message();
  EXPECT_EQ(Files().size(), 0u);
}

// The plan itself has zeros in their place.
TEST_F(WeightsTest, ThatAnotherPlanHasAreWrittenFromThere) {
  PlanBytes other;
  MakePlanOf(GraphWith(1, 2), &other);
  std::vector<WeightsContent> nowhere, there;
  for (const fb::Buffer* buffer : *fb::GetPlan(other.data())->buffers()) {
    nowhere.emplace_back();
    there.push_back({buffer->content_high() != 0 ? buffer->data()->data() : nullptr, nullptr});
  }
  for (const fb::Buffer* buffer : *fb::GetPlan(plan_.data())->buffers()) {
    if (buffer->content_high() == 0) continue;
    memset(const_cast<uint8_t*>(buffer->data()->data()), 0, buffer->bytes());
  }
  std::string none;
  EXPECT_EQ(Cache().Save("key", plan_, nowhere, binaries_, &none).message(),
            "the device alone has its weights");
  EXPECT_EQ(Files().size(), 0u);
  EXPECT_TRUE(Cache().Save("key", plan_, there, binaries_, &none).ok());
  EXPECT_EQ(Miss("key"), "");
  EXPECT_TRUE(Cache().Save("another", plan_, nowhere, binaries_, &none).ok()) << "a file has them";
  EXPECT_EQ(Miss("another"), "");
}

// As a device does that has a copy: once the keepers have the weights, the host's are zeros.
class KeptWeightsTest : public WeightsTest {
 protected:
  void SetUp() override {
    WeightsTest::SetUp();
    for (const fb::Buffer* buffer : *fb::GetPlan(plan_.data())->buffers()) {
      contents_.emplace_back();
      if (buffer->content_high() == 0) continue;
      const quadra::Weights weights(buffer->content_low(), buffer->content_high(), buffer->bytes());
      contents_.back().keeper = Cache().MakeKeeper(weights);
    }
  }

  void Keep() {
    const fb::Plan& plan = *fb::GetPlan(plan_.data());
    for (unsigned i = 0; i < plan.buffers()->size(); ++i) {
      if (!contents_[i].keeper) continue;
      const fb::Buffer& buffer = *plan.buffers()->Get(i);
      contents_[i].keeper->Keep(buffer.data()->data());
      memset(const_cast<uint8_t*>(buffer.data()->data()), 0, buffer.bytes());
    }
  }
  std::string SaveKept(const std::string& key = "key") const {
    std::string none;
    return Cache().Save(key, plan_, contents_, binaries_, &none).message();
  }

  std::vector<WeightsContent> contents_;  // parallel to the plan's buffers
};

TEST_F(KeptWeightsTest, AreInTheFilesOnceThePlanIsSaved) {
  PlanBytes whole;
  MakePlanOf(GraphWith(1, 2), &whole);
  Keep();
  EXPECT_EQ(PathsOf(".unfinished").size(), 2u);
  EXPECT_EQ(Weights().size(), 0u);
  EXPECT_EQ(SaveKept(), "");
  EXPECT_EQ(PathsOf(".unfinished").size(), 0u);
  PlanBytes read;
  const fb::Binaries* kept = nullptr;
  ASSERT_EQ(Cache().Load("key", &read, &kept).message(), "");
  ASSERT_EQ(read.size(), whole.size());
  EXPECT_EQ(memcmp(read.data(), whole.data(), whole.size()), 0);
  EXPECT_EQ(SaveKept("another"), "") << "the files have them";
  unlink(Weights()[0].c_str());
  EXPECT_EQ(SaveKept("a third"), "the device alone has its weights");
}

TEST_F(KeptWeightsTest, OfAPlanThatIsNeverSavedLeaveNothing) {
  Keep();
  EXPECT_EQ(Files().size(), 2u);
  const pid_t child = fork();
  if (child == 0) {
    contents_.clear();
    _exit(0);
  }
  ASSERT_GT(child, 0);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(Files().size(), 2u) << "they are this process's";
  contents_.clear();
  EXPECT_EQ(Files().size(), 0u);
}

TEST_F(KeptWeightsTest, LeaveNothingOnAFullDisk) {
  struct rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const struct rlimit small = {60000, limit.rlim_max};
  const auto before = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Keep();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, before);
  EXPECT_EQ(Files().size(), 0u);
  EXPECT_EQ(SaveKept().compare(0, 10, "write it: "), 0) << SaveKept();
  EXPECT_EQ(Files().size(), 0u);
}

TEST_F(KeptWeightsTest, WithoutAFolderAreNotSaved) {
  Write(folder_, "a file");
  Keep();
  EXPECT_NE(SaveKept(), "");
  unlink(folder_.c_str());
  EXPECT_EQ(SaveKept().compare(0, 9, "make it: "), 0) << SaveKept();
}

TEST_F(KeptWeightsTest, ThatSomebodyReplacesAreNotTaken) {
  Keep();
  const std::vector<std::string> unfinished = PathsOf(".unfinished");
  const std::string content = BytesOf(unfinished[0]);
  for (size_t i = 0; i < unfinished.size(); ++i) {
    ASSERT_EQ(rename(unfinished[i].c_str(), Format("%s/%zu", root_.c_str(), i).c_str()), 0);
    Write(unfinished[i], content);
  }
  EXPECT_EQ(SaveKept(), "somebody replaced it");
  for (const char* moved : {"/0", "/1"}) unlink((root_ + moved).c_str());
  EXPECT_EQ(Weights().size(), 0u);
  EXPECT_EQ(Miss(), "none is kept");
}

TEST_F(KeptWeightsTest, WaitForTheirPlanHoweverLong) {
  Keep();
  for (const std::string& path : PathsOf(".unfinished")) MakeOld(path, 7200);
  const std::string abandoned = folder_ + "/model_0.weights.1.0.unfinished";
  Write(abandoned, "of a process that is gone");
  MakeOld(abandoned, 7200);
  PlanBytes kept = std::exchange(plan_, PlanBytes());
  MakePlanOf(kGraph, &plan_);
  ASSERT_TRUE(Save("another").ok());
  EXPECT_EQ(PathsOf(".unfinished").size(), 2u);
  plan_ = std::move(kept);
  EXPECT_EQ(SaveKept(), "");
  EXPECT_EQ(Miss(), "");
}

TEST_F(KeptWeightsTest, AreNotWrittenWhereAFileIsKnownToHaveThem) {
  ASSERT_TRUE(Save("first").ok());
  usleep(2100000);
  EXPECT_EQ(Miss("first"), "");  // they are checked
  Keep();
  EXPECT_EQ(PathsOf(".unfinished").size(), 0u);
  EXPECT_EQ(SaveKept(), "");
  const int64_t hashed = KnownHashes::OfProcess()->hashed_bytes();
  EXPECT_EQ(Miss(), "");
  EXPECT_EQ(KnownHashes::OfProcess()->hashed_bytes(), hashed) << "the files are as they were";
}

TEST_F(WeightsTest, TheyGoWithTheLastPlanThatHasThem) {
  ASSERT_TRUE(Save("first").ok());
  const std::string first = PathsOf(".quadra")[0];
  MakeOld(first, 100);
  MakePlanOf(GraphWith(2, 3), &plan_);
  ASSERT_TRUE(Save("second").ok());
  for (const std::string& path : PathsOf(".quadra")) {
    if (path != first) MakeOld(path, 50);
  }
  const std::vector<std::string> all = Weights();
  ASSERT_EQ(all.size(), 3u);
  for (const std::string& path : all) MakeOld(path, 7200);  // older than any plan
  MakePlanOf(kGraph, &plan_);
  std::string removed;
  constexpr int64_t kTwo = 2 * 65536 + 65535;  // and the plans' files
  ASSERT_TRUE(Save("third", kTwo, &removed).ok());
  EXPECT_EQ(removed, "removed files: 2 (0.1 MiB), the limit is 0 MiB");
  EXPECT_EQ(Miss("first"), "none is kept");
  EXPECT_EQ(Miss("second"), "");
  EXPECT_EQ(Weights().size(), 2u);
  const std::unique_ptr<HeldFile> held = Cache().HoldPlan("second");
  ASSERT_TRUE(Save("third", 1, &removed).ok());
  EXPECT_EQ(removed, "files in use: 0.2 MiB, the limit is 0 MiB");
  EXPECT_EQ(Miss("second"), "") << "its weights stay with it";
}

TEST_F(WeightsTest, ThoseOfNoPlanGoAfterAnHour) {
  ASSERT_TRUE(Save("first").ok());
  const std::string plan = PathsOf(".quadra")[0];
  unlink(plan.c_str());
  ASSERT_TRUE(Save("second", 0).ok());
  ASSERT_EQ(Weights().size(), 2u);
  unlink(PathsOf(".quadra")[0].c_str());
  MakeOld(Weights()[0], 7200);
  MakePlanOf(kGraph, &plan_);
  ASSERT_TRUE(Save("third", 0).ok());
  EXPECT_EQ(Weights().size(), 1u) << "the other one's plan may be about to be written";
}

TEST_F(WeightsTest, AProcessThatIsKilledLeavesNoDamage) {
  int whole = 0;
  for (int i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) (void)Save("key");
    }
    ASSERT_GT(child, 0);
    usleep(static_cast<useconds_t>(997 * i % 40000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string miss = Miss();
    ASSERT_TRUE(miss.empty() || miss == "none is kept") << miss;
    whole += miss.empty();
    if (i % 10 == 0) {
      for (const std::string& name : Files()) unlink((folder_ + "/" + name).c_str());
    }
  }
  EXPECT_GT(whole, 5);
}

TEST_F(WeightsTest, ManyWriteAndReadAtOnce) {
  PlanBytes other;
  MakePlanOf(GraphWith(2, 3), &other);
  std::vector<std::string> wrong(6);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string key = "key " + std::to_string(i % 2);
        std::string none;
        const Status saved = Cache().Save(key, i % 2 ? plan_ : other, {}, binaries_, &none);
        if (!saved.ok()) wrong[t] = saved.message();
        PlanBytes read;
        const fb::Binaries* kept = nullptr;
        const Status loaded = Cache().Load(key, &read, &kept);
        if (!loaded.ok()) wrong[t] = loaded.message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& message : wrong) EXPECT_EQ(message, "");
  EXPECT_EQ(Files().size(), 5u);
}

}  // namespace
}  // namespace quadra
