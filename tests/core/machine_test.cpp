#include "core/machine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dptrain {
namespace {

namespace fs = std::filesystem;

/// Folders in place of /proc and /sys/fs/cgroup.
class MachineTest : public ::testing::Test {
 protected:
  MachineTest() : folder_(fs::temp_directory_path() / ("dptrain-machine-" + std::to_string(getpid()))) {
    write("proc/meminfo", "MemTotal: 1000000 kB\nMemFree: 5 kB\nMemAvailable: 800000 kB\n");
  }
  ~MachineTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  machine::SystemPaths places() const { return {folder_ / "proc", folder_ / "cgroup"}; }

  const fs::path folder_;
};

TEST_F(MachineTest, WithoutControlGroups) {
  EXPECT_EQ(machine::memory(places()).total, 1024000000U);
  EXPECT_EQ(machine::memory(places()).available, 819200000U);
  EXPECT_EQ(machine::cpu_quota(places()), 0);
}

TEST_F(MachineTest, VersionTwo) {
  write("proc/self/cgroup", "0::/jobs/7\n");
  write("cgroup/jobs/7/cpu.max", "max 100000\n");
  write("cgroup/jobs/cpu.max", "50000 100000\n");  // limit of the parent group
  write("cgroup/jobs/7/memory.max", "300000000\n");
  write("cgroup/jobs/7/memory.current", "120000000\n");
  write("cgroup/jobs/7/memory.stat", "anon 1\ninactive_file 20000000\n");
  write("cgroup/jobs/memory.max", "max\n");
  write("cgroup/jobs/memory.current", "999999999\n");
  EXPECT_EQ(machine::cpu_quota(places()), 0.5);
  EXPECT_EQ(machine::cpus(places()), 1);
  EXPECT_EQ(machine::memory(places()).total, 300000000U);
  EXPECT_EQ(machine::memory(places()).available, 200000000U) << "inactive page cache counts as free";
}

TEST_F(MachineTest, VersionTwoInsideAContainer) {
  write("proc/self/cgroup", "0::/not/there/outside\n");
  write("cgroup/cpu.max", "150000 100000\n");
  write("cgroup/memory.max", "300000000\n");
  write("cgroup/memory.current", "400000000\n");
  EXPECT_EQ(machine::cpu_quota(places()), 1.5);
  EXPECT_EQ(machine::memory(places()).available, 1U) << "none is left; 0 would mean unknown";
}

TEST_F(MachineTest, VersionOne) {
  write("proc/self/cgroup", "9:memory:/docker/ab\n4:cpu,cpuacct:/docker/ab\n1:name=systemd:/docker/ab\n");
  write("cgroup/cpu,cpuacct/docker/ab/cpu.cfs_quota_us", "-1\n");
  write("cgroup/cpu,cpuacct/docker/ab/cpu.cfs_period_us", "100000\n");
  write("cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
  write("cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("cgroup/memory/docker/ab/memory.limit_in_bytes", "209715200\n");
  write("cgroup/memory/docker/ab/memory.usage_in_bytes", "100000000\n");
  write("cgroup/memory/docker/ab/memory.stat", "cache 5\ntotal_inactive_file 50000000\n");
  write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // no limit
  write("cgroup/memory/memory.usage_in_bytes", "1\n");
  EXPECT_EQ(machine::cpu_quota(places()), 2);
  EXPECT_EQ(machine::memory(places()).total, 209715200U);
  EXPECT_EQ(machine::memory(places()).available, 159715200U);
}

TEST_F(MachineTest, HugePagesOnRequest) {
  machine::SystemPaths there = places();
  there.huge_pages = folder_ / "enabled";
  EXPECT_FALSE(machine::has_huge_pages(there)) << "not reported by the system";
  for (const auto& [text, gives] : std::vector<std::pair<std::string, bool>>{{"always [madvise] never\n", true},
                                                                             {"[always] madvise never\n", true},
                                                                             {"always madvise [never]\n", false}}) {
    write("enabled", text);
    EXPECT_EQ(machine::has_huge_pages(there), gives) << text;
  }
}

TEST_F(MachineTest, AffinityLimitsCores) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  EXPECT_EQ(machine::cpus(places()), CPU_COUNT(&before));
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(machine::cpus(places()), 1);
  sched_setaffinity(0, sizeof before, &before);
}

TEST_F(MachineTest, CachesAreThoseOfTheAllowedCpus) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto cache = [&](int of, int index, const char* level, const char* type, const char* size, const char* shared) {
    const std::string folder = "cpu/cpu" + std::to_string(of) + "/cache/index" + std::to_string(index) + "/";
    write(folder + "level", level);
    write(folder + "type", type);
    write(folder + "size", size);
    write(folder + "shared_cpu_list", shared);
  };
  cache(cpu, 0, "1", "Data", "48K", "0");
  cache(cpu, 1, "1", "Instruction", "32K", "0");
  cache(cpu, 2, "2", "Unified", "2048K", "0");
  cache(cpu, 3, "3", "Unified", "32M", "0-1");
  cache(cpu + 1, 0, "1", "Data", "48K", "1");  // not allowed
  machine::SystemPaths all = places();
  all.cpu = folder_ / "cpu";
  EXPECT_EQ(machine::caches(all),
            (std::vector<machine::Cache>{{1, 48U << 10, 1}, {2, 2U << 20, 1}, {3, 32U << 20, 1}}));
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST_F(MachineTest, ThreadsReachExistingCaches) {
  const machine::Cache four{.level = 2, .bytes = 1000, .count = 4};
  EXPECT_EQ(four.bytes_for_threads(1), 1000U);
  EXPECT_EQ(four.bytes_for_threads(3), 3000U);
  EXPECT_EQ(four.bytes_for_threads(8), 4000U) << "two threads share one";
}

TEST_F(MachineTest, CachesComeFromTheLibraryWithoutSystemFiles) {
  machine::SystemPaths none = places();
  none.cpu = folder_ / "none";
  int level = 0;
  for (const machine::Cache& cache : machine::caches(none)) {
    EXPECT_GT(cache.level, level);
    EXPECT_GT(cache.bytes, 0U);
    level = cache.level;
  }
}

}  // namespace
}  // namespace dptrain
