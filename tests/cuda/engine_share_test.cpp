// Which replica plans an engine and which reuse it. tests/plans shows cuDNN's use of shared engines.

#include "backend/cuda/engine_share.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"

namespace dptrain::test {
namespace {

using namespace backend::cuda;
using std::chrono_literals::operator""s;

/// A replica's plans: "planned conv3" if it made one, "taken conv3" if it reused one.
struct Replica {
  explicit Replica(std::shared_ptr<EngineShare> share) : table(std::move(share)) {}

  std::shared_future<std::string> begin(const std::string& layer) {
    const auto make = [&] {
      ++planned;
      if (layer == broken) throw Error(ErrorKind::kDevice, "no engine for " + layer);
      return "planned " + layer;
    };
    const auto describe = [&](const std::string&, bool with_text) {
      texts += with_text;
      SharedEngine engine;
      engine.rank = layer;
      return std::make_shared<const SharedEngine>(engine);
    };
    return table.begin(layer, "shared " + layer, make, describe, [this](const SharedEngine& engine) {
      ++taken;
      return "taken " + engine.rank;
    });
  }

  PlanTable<std::string, std::string> table;
  std::string broken{};
  std::atomic<int> planned{0}, taken{0};
  std::atomic<int> texts{0};  ///< engines described with cuDNN's text
};

std::vector<std::unique_ptr<Replica>> replicas_of(int count, const std::shared_ptr<EngineShare>& share) {
  std::vector<std::unique_ptr<Replica>> replicas;
  for (int i = 0; i < count; ++i) replicas.push_back(std::make_unique<Replica>(share));
  return replicas;
}

/// All layers on every replica, each on several threads that start together.
template <class Each>
void run_concurrently(std::vector<std::unique_ptr<Replica>>& replicas, int threads, int layers, const Each& each) {
  std::latch start(static_cast<std::ptrdiff_t>(replicas.size()) * threads);
  std::vector<std::jthread> all;
  for (auto& replica : replicas)
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&] {
        start.arrive_and_wait();
        std::vector<std::shared_future<std::string>> plans;
        for (int layer = 0; layer < layers; ++layer) plans.push_back(replica->begin("conv" + std::to_string(layer)));
        for (int layer = 0; layer < layers; ++layer) each(layer, plans[static_cast<std::size_t>(layer)]);
      });
}

TEST(EngineShare, EachEngineIsPlannedOnceForAllReplicas) {
  constexpr int kLayers = 20, kReplicas = 4;
  auto replicas = replicas_of(kReplicas, std::make_shared<EngineShare>());
  std::atomic<int> wrong = 0;
  run_concurrently(replicas, 3, kLayers, [&](int layer, const auto& plan) {
    const std::string text = plan.get(), name = " conv" + std::to_string(layer);
    wrong += text != "planned" + name && text != "taken" + name;
  });
  EXPECT_EQ(wrong, 0);
  int planned = 0, texts = 0;
  for (const auto& replica : replicas) {
    EXPECT_EQ(replica->planned + replica->taken, kLayers) << "a replica has every plan once";
    planned += replica->planned;
    texts += replica->texts;
  }
  EXPECT_EQ(planned, kLayers);
  EXPECT_EQ(texts, kLayers);
}

TEST(EngineShare, UnequalGpusPlanForThemselves) {
  constexpr int kLayers = 6;
  auto replicas = replicas_of(2, std::make_shared<EngineShare>());
  replicas.push_back(std::make_unique<Replica>(std::make_shared<EngineShare>()));
  replicas.push_back(std::make_unique<Replica>(nullptr));
  run_concurrently(replicas, 2, kLayers, [](int, const auto& plan) { plan.wait(); });
  EXPECT_EQ(replicas[0]->planned + replicas[1]->planned, kLayers);
  EXPECT_EQ(replicas[2]->planned, kLayers);
  EXPECT_EQ(replicas[3]->planned, kLayers);
  EXPECT_EQ(replicas[2]->taken + replicas[3]->taken, 0);
}

// A single GPU has no use for the texts.
TEST(EngineShare, WritesPlansAsTextOnlyForOtherGpus) {
  const auto share = std::make_shared<EngineShare>();
  {
    Replica one(share);
    EXPECT_EQ(one.begin("conv0").get(), "planned conv0");
    EXPECT_EQ(one.texts, 0);
    Replica two(share);
    EXPECT_EQ(two.begin("conv0").get(), "taken conv0") << "planned by name";
    EXPECT_EQ(two.begin("conv1").get(), "planned conv1");
    EXPECT_EQ(one.begin("conv1").get(), "taken conv1");
    EXPECT_EQ(one.texts + two.texts, 1);
  }
  Replica later(share);
  EXPECT_EQ(later.begin("conv2").get(), "planned conv2");
  EXPECT_EQ(later.texts, 0) << "the others have left";
}

TEST(EngineShare, AnErrorReachesAllAndOccursOnce) {
  auto replicas = replicas_of(3, std::make_shared<EngineShare>());
  for (auto& replica : replicas) replica->broken = "conv1";
  std::atomic<int> failed = 0, good = 0;
  run_concurrently(replicas, 2, 3, [&](int layer, const auto& plan) {
    try {
      plan.get();
      ++good;
    } catch (const Error& error) {
      failed += layer == 1 && std::strcmp(error.what(), "no engine for conv1") == 0;
    }
  });
  EXPECT_EQ(failed, 6);
  EXPECT_EQ(good, 12);
  EXPECT_EQ(replicas[0]->planned + replicas[1]->planned + replicas[2]->planned, 3);
}

// A pool whose threads all wait for one engine would plan the others one after another.
TEST(EngineShare, PlansOtherEnginesInsteadOfWaiting) {
  const auto share = std::make_shared<EngineShare>();
  PlanTable<std::string, std::string> first(share);
  const auto describe = [](const std::string&, bool) { return std::make_shared<const SharedEngine>(); };
  std::latch begun(1), go_on(1);
  std::jthread slow([&] {
    first.begin(
        "conv", "conv",
        [&] {
          begun.count_down();
          go_on.wait();
          return std::string("planned");
        },
        describe, [](const SharedEngine&) { return std::string(); });
  });
  begun.wait();
  Replica second(share);
  const auto other = second.begin("other");
  EXPECT_EQ(other.get(), "planned other");
  PlanTable<std::string, std::string> third(share);
  const auto never = []() -> std::string { throw Error(ErrorKind::kInternal, "twice"); };
  const auto take = [](const SharedEngine&) { return std::string("taken"); };
  const auto waits = third.begin("conv", "conv", never, describe, take);
  const auto same = first.begin("conv", "conv", never, describe, take);
  EXPECT_EQ(same.wait_for(0s), std::future_status::timeout);
  go_on.count_down();
  EXPECT_EQ(waits.get(), "taken");
  EXPECT_EQ(same.get(), "planned");
}

cudaDeviceProp sample_gpu() {
  cudaDeviceProp gpu{};
  std::strcpy(gpu.name, "NVIDIA H100 80GB HBM3");
  gpu.major = 9;
  gpu.multiProcessorCount = 132;
  gpu.totalGlobalMem = std::size_t{80} << 30;
  gpu.pciBusID = 6;
  return gpu;
}

TEST(EngineShare, GpusOfOneKindShareWhileOneExists) {
  cudaDeviceProp other_place = sample_gpu();
  other_place.pciBusID = 7;
  EXPECT_EQ(kind_of(sample_gpu()), kind_of(other_place));
  std::set<std::string> kinds{kind_of(sample_gpu())};
  const auto changed = [&](const auto& change) {
    cudaDeviceProp gpu = sample_gpu();
    change(gpu);
    kinds.insert(kind_of(gpu));
  };
  changed([](cudaDeviceProp& gpu) { gpu.name[8] = 'A'; });
  changed([](cudaDeviceProp& gpu) { gpu.major = 8; });
  changed([](cudaDeviceProp& gpu) { gpu.minor = 1; });
  changed([](cudaDeviceProp& gpu) { gpu.multiProcessorCount = 114; });
  changed([](cudaDeviceProp& gpu) { gpu.totalGlobalMem /= 2; });
  EXPECT_EQ(kinds.size(), 6U);

  auto share = share_of("kind");
  EXPECT_EQ(share_of("kind"), share);
  EXPECT_NE(share_of("another kind"), share);
  ASSERT_TRUE(share->claim("engine").mine);
  EXPECT_FALSE(share_of("kind")->claim("engine").mine);
  share.reset();
  EXPECT_TRUE(share_of("kind")->claim("engine").mine) << "a later run plans anew";
}

}  // namespace
}  // namespace dptrain::test
