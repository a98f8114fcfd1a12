#include "backend/cuda/plan_cache.h"

#include "backend/cuda/cudnn_tuner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace dptrain::test {
namespace {

using backend::cuda::PlanCache;

class PlanCacheTest : public testing::Test {
 protected:
  PlanCacheTest() : folder_(std::filesystem::temp_directory_path() / ("plan_cache_" + std::to_string(getpid()))) {}
  ~PlanCacheTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "deeper" / "plans.txt").string(); }
  std::string text() const {
    std::ifstream file(path());
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(PlanCacheTest, KeepsTheLastEngineOfAKey) {
  {
    PlanCache cache(path());
    ASSERT_TRUE(cache.is_open());
    EXPECT_EQ(cache.find("forward f32"), std::nullopt);
    EXPECT_TRUE(cache.store("forward f32", "eng1 k2=3", 12.5));
    EXPECT_TRUE(cache.store("data f32", "eng7", 3));
    EXPECT_TRUE(cache.store("forward f32", "eng2", 11));
    EXPECT_EQ(cache.find("forward f32"), "eng2");
  }
  PlanCache again(path());
  EXPECT_EQ(again.find("forward f32"), "eng2");
  EXPECT_EQ(again.find("data f32"), "eng7");
  EXPECT_EQ(again.find("weights f32"), std::nullopt);
  EXPECT_EQ(text().front(), '#');
}

TEST_F(PlanCacheTest, SkipsAndRepairsDamage) {
  { PlanCache cache(path()); }
  std::ofstream(path(), std::ios::app) << "no tabs here\n\n\t\t\t\ngood\teng1\t2.0\ncut short\teng9\t1";
  {
    PlanCache cache(path());
    EXPECT_EQ(cache.find("good"), "eng1");
    EXPECT_EQ(cache.find("cut short"), std::nullopt) << "the line may have lost its end";
    EXPECT_TRUE(cache.store("next", "eng3", 1));
  }
  PlanCache again(path());
  EXPECT_EQ(again.find("next"), "eng3");
  EXPECT_EQ(again.find("good"), "eng1");
}

TEST_F(PlanCacheTest, KeepsNothingWithoutAFile) {
  for (const std::string nowhere : {"", "/proc/no/such/folder/plans.txt"}) {
    PlanCache cache(nowhere);
    EXPECT_FALSE(cache.is_open());
    EXPECT_FALSE(cache.store("key", "eng1", 1));
  }
}

TEST_F(PlanCacheTest, OneHolderAtATimePublishesItsEngines) {
  std::atomic<int> inside = 0, measured = 0, crowded = 0;
  std::vector<std::thread> replicas;
  for (int i = 0; i < 8; ++i)
    replicas.emplace_back([&] {
      PlanCache cache(path());
      if (++inside > 1) ++crowded;
      if (!cache.find("key")) {
        ++measured;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        cache.store("key", "eng1", 1);
      }
      --inside;
    });
  for (std::thread& replica : replicas) replica.join();
  EXPECT_EQ(crowded, 0);
  EXPECT_EQ(measured, 1);
}

TEST(PlanCachePath, IsUnderTheCacheFolderAndNamesLibraryAndGpu) {
  const auto with = [](const char* cache, const char* home) {
    const auto put = [](const char* name, const char* value) { value ? setenv(name, value, 1) : unsetenv(name); };
    const char* old_cache = std::getenv("XDG_CACHE_HOME");
    const char* old_home = std::getenv("HOME");
    const std::string kept_cache = old_cache ? old_cache : "", kept_home = old_home ? old_home : "";
    put("XDG_CACHE_HOME", cache);
    put("HOME", home);
    const std::string path = backend::cuda::plan_cache_path("9.19.0", "NVIDIA H200");
    put("XDG_CACHE_HOME", old_cache ? kept_cache.c_str() : nullptr);
    put("HOME", old_home ? kept_home.c_str() : nullptr);
    return path;
  };
  EXPECT_EQ(with("/cache", "/home/me"), "/cache/dptrain/plans-9.19.0-NVIDIA-H200.txt");
  EXPECT_EQ(with(nullptr, "/home/me"), "/home/me/.cache/dptrain/plans-9.19.0-NVIDIA-H200.txt");
  EXPECT_EQ(with("not/absolute", "/home/me"), "/home/me/.cache/dptrain/plans-9.19.0-NVIDIA-H200.txt");
  EXPECT_EQ(with(nullptr, nullptr), "");
}

TEST(Tuner, RunsShortEnginesMoreOften) {
  using backend::cuda::runs_of_window;
  EXPECT_EQ(runs_of_window(0), 100);
  EXPECT_EQ(runs_of_window(1), 100);
  EXPECT_EQ(runs_of_window(10), 30);
  EXPECT_EQ(runs_of_window(70), 5);
  EXPECT_EQ(runs_of_window(100), 3);
  EXPECT_EQ(runs_of_window(1e6), 3);
}

}  // namespace
}  // namespace dptrain::test
