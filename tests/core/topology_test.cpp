#include "core/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

namespace dptrain::machine {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Groups = std::vector<std::vector<int>>;

/// A folder in place of /sys/devices/system/cpu.
class CoreGroups : public ::testing::Test {
 protected:
  CoreGroups() : folder_(fs::temp_directory_path() / ("dptrain-topology-" + std::to_string(getpid()))) {}
  ~CoreGroups() override { fs::remove_all(folder_); }

  void write(int cpu, const std::string& name, const std::string& text) const {
    const fs::path path = folder_ / ("cpu" + std::to_string(cpu)) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void add(int cpu, const std::string& siblings, const std::string& last_cache, const std::string& node) const {
    write(cpu, "topology/thread_siblings_list", siblings);
    write(cpu, "cache/index0/level", "1");
    write(cpu, "cache/index0/shared_cpu_list", siblings);
    write(cpu, "cache/index1/level", "3");
    write(cpu, "cache/index1/shared_cpu_list", last_cache);
    if (!node.empty()) fs::create_directories(folder_ / ("cpu" + std::to_string(cpu)) / node);
  }
  Groups groups(int cpus) const {
    std::vector<int> all(static_cast<std::size_t>(cpus));
    std::iota(all.begin(), all.end(), 0);
    SystemPaths places;
    places.cpu = folder_;
    return core_groups(places, all);
  }

  const fs::path folder_;
};

TEST_F(CoreGroups, ShareTheLastCache) {
  for (int cpu = 0; cpu < 8; ++cpu) add(cpu, std::to_string(cpu), cpu < 4 ? "0-3" : "4-7", "node0");
  EXPECT_THAT(groups(8), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7)));
  EXPECT_THAT(groups(6), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5))) << "of the CPUs that are allowed";
}

TEST_F(CoreGroups, HaveOneThreadOfACore) {
  for (int cpu = 0; cpu < 4; ++cpu) add(cpu, cpu % 2 == 0 ? "0,2" : "1,3", "0-3", "");
  EXPECT_THAT(groups(4), ElementsAre(ElementsAre(0, 1)));
}

TEST_F(CoreGroups, AreOfOneNode) {
  for (int cpu = 0; cpu < 4; ++cpu) add(cpu, std::to_string(cpu), "0-3", cpu < 2 ? "node0" : "node1");
  EXPECT_THAT(groups(4), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST_F(CoreGroups, AreOneGroupIfTheTopologyIsUnknown) {
  EXPECT_THAT(groups(3), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(groups(0), IsEmpty());
}

Groups groups_of(const std::vector<int>& sizes) {
  Groups groups;
  int cpu = 0;
  for (const int size : sizes) {
    groups.emplace_back();
    for (int i = 0; i < size; ++i) groups.back().push_back(cpu++);
  }
  return groups;
}

std::pair<int, int> replicas_and_threads(const std::vector<int>& sizes, int most = 1000) {
  const Layout layout = layout_of(groups_of(sizes), most);
  for (const std::vector<int>& cpus : layout.cpus) EXPECT_EQ(static_cast<int>(cpus.size()), layout.threads);
  return {static_cast<int>(layout.cpus.size()), layout.threads};
}

TEST(Layout, AssignsAReplicaPerGroup) {
  EXPECT_EQ(replicas_and_threads({8}), std::pair(1, 8));
  EXPECT_EQ(replicas_and_threads({8, 8, 8, 8}), std::pair(4, 8));
  EXPECT_THAT(layout_of(groups_of({2, 2}), 4).cpus, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(Layout, UnevenGroupsLeaveFewCoresIdle) {
  EXPECT_EQ(replicas_and_threads({8, 7}), std::pair(2, 7)) << "1 of 15 is idle";
  EXPECT_EQ(replicas_and_threads({8, 4}), std::pair(3, 4));
  EXPECT_EQ(replicas_and_threads({8, 3}), std::pair(5, 2)) << "4 would leave 3 of 11, 3 would leave 2";
}

TEST(Layout, AQuotaUsesTheFirstCores) {
  EXPECT_EQ(replicas_and_threads({8, 8}, 8), std::pair(1, 8));
  EXPECT_EQ(replicas_and_threads({8, 8}, 12), std::pair(3, 4));
  EXPECT_EQ(replicas_and_threads({8, 8}, 3), std::pair(1, 3));
  EXPECT_EQ(replicas_and_threads({8, 8}, 1), std::pair(1, 1));
}

TEST(CpuList, JoinsNeighbours) {
  EXPECT_EQ(cpu_list({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(cpu_list({1, 3, 4}), "1,3-4");
  EXPECT_EQ(cpu_list({7}), "7");
}

TEST(BindThread, AppliesToTheThreadAndItsChildren) {
  const std::vector<int> before = allowed_cpus();
  std::thread([&] {
    bind_thread({before.back()});
    EXPECT_THAT(allowed_cpus(), ElementsAre(before.back()));
    std::thread([&] { EXPECT_THAT(allowed_cpus(), ElementsAre(before.back())); }).join();
    bind_thread({CPU_SETSIZE + 5});
    EXPECT_THAT(allowed_cpus(), ElementsAre(before.back())) << "missing CPUs are ignored";
  }).join();
  EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
}  // namespace dptrain::machine
