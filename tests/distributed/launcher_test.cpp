#include "distributed/mpi_transport.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"

namespace dptrain::distributed {
namespace {

std::optional<Launch> launch_of(const std::map<std::string, std::string>& variables) {
  return find_launch([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launcher, IsDetectedFromEnvironmentVariables) {
  EXPECT_FALSE(launch_of({}));
  const auto open_mpi = launch_of({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "1"}});
  ASSERT_TRUE(open_mpi);
  EXPECT_EQ(open_mpi->library, "openmpi");
  EXPECT_EQ(open_mpi->processes, 4);
  const auto mpich = launch_of({{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}});
  ASSERT_TRUE(mpich);
  EXPECT_EQ(mpich->library, "mpich");
  EXPECT_EQ(mpich->processes, 2);
  const auto srun = launch_of({{"PMIX_RANK", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}});
  ASSERT_TRUE(srun);
  EXPECT_EQ(srun->library, "openmpi");
  EXPECT_EQ(srun->processes, 8);
}

TEST(Launcher, OfOneProcessIsNone) {
  EXPECT_FALSE(launch_of({{"OMPI_COMM_WORLD_SIZE", "1"}}));
  EXPECT_FALSE(launch_of({{"PMI_SIZE", "1"}}));
  EXPECT_FALSE(launch_of({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
}

/// A Slurm batch script has the job's variables but no step of its own.
TEST(Launcher, IgnoresTheVariablesOfASlurmJob) {
  EXPECT_FALSE(launch_of({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}));
}

TEST(Launcher, CanBeNamed) {
  EXPECT_EQ(launch_of({{"PMIX_RANK", "0"}, {"DPTRAIN_MPI", "mpich"}})->library, "mpich");
  EXPECT_FALSE(launch_of({{"OMPI_COMM_WORLD_SIZE", "4"}, {"DPTRAIN_MPI", "none"}}));
  EXPECT_FALSE(launch_of({{"DPTRAIN_MPI", "openmpi"}}));
  try {
    launch_of({{"DPTRAIN_MPI", "lam"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(error.what(), "DPTRAIN_MPI: found 'lam', expected openmpi, mpich, abi or none");
  }
}

TEST(Launcher, CanDisableSharedMemory) {
  EXPECT_TRUE(launch_of({{"PMIX_RANK", "0"}})->shares_memory);
  EXPECT_FALSE(launch_of({{"PMIX_RANK", "0"}, {"DPTRAIN_SHARED_MEMORY", "none"}})->shares_memory);
  EXPECT_THROW(launch_of({{"PMIX_RANK", "0"}, {"DPTRAIN_SHARED_MEMORY", "no"}}), Error);
}

TEST(Launcher, WithUnconnectedProcessesIsAnError) {
  try {
    launch_of({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("srun has started 4 processes that cannot find each other"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace dptrain::distributed
