// Facts that processes, here threads, compare and exchange before training.

#include "session/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "distributed/fake_transport.h"
#include "session/shared_file.h"
#include "support/folder.h"

namespace dptrain::session {
namespace {

using ::testing::HasSubstr;

/// The error of each process, or "".
std::vector<std::string> errors_of(int count, const std::function<std::vector<Fact>(int process)>& facts) {
  std::vector<std::string> errors(static_cast<std::size_t>(count));
  test::FakeNetwork network(count);
  test::in_processes(network, [&](distributed::Processes& processes) {
    try {
      require_equal(&processes, facts(processes.process()), ErrorKind::kData);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      errors[static_cast<std::size_t>(processes.process())] = error.what();
    }
  });
  return errors;
}

TEST(Agreement, AcceptsEqualFacts) {
  EXPECT_THAT(errors_of(3,
                        [](int) {
                          return std::vector<Fact>{{"the data", "a\nb"}, {"the goals", ""}};
                        }),
              ::testing::Each(""));
  require_equal(nullptr, {{"the data", "a"}}, ErrorKind::kData);
}

TEST(Agreement, NamesTheProcessAndTheLineThatDiffer) {
  const auto errors = errors_of(3, [](int process) {
    return std::vector<Fact>{{"the builds", "1"},
                             {"the data", process == 2 ? "train: 5\ntest: 8" : "train: 5\ntest: 7"}};
  });
  EXPECT_THAT(errors,
              ::testing::Each("the data of process 2 (node-1) differ from those of process 0 (node-0): 'test: 8' "
                              "against 'test: 7'; all processes of a run need the same"));
}

TEST(Agreement, NamesAMissingFact) {
  const auto errors = errors_of(2, [](int process) {
    return std::vector<Fact>{{"the data", process == 1 ? "a" : "a\nb"}};
  });
  EXPECT_THAT(errors.front(), HasSubstr("nothing against 'b'"));
}

TEST(Agreement, NumbersReplicasAfterThoseOfEarlierProcesses) {
  test::FakeNetwork network(3);
  test::in_processes(network, [](distributed::Processes& processes) {
    const int local_ranks[] = {2, 1, 3};
    const distributed::RankLayout rank_layout = make_rank_layout(&processes, local_ranks[processes.process()]);
    EXPECT_THAT(rank_layout.first_ranks, ::testing::ElementsAre(0, 2, 3, 6));
    const World world = world_of(rank_layout);
    EXPECT_EQ(world.ranks, 6);
    EXPECT_EQ(world.processes, 3);
    EXPECT_EQ(world.rank(0), processes.process() == 0 ? 0 : processes.process() + 1);
  });
  EXPECT_EQ(world_of(make_rank_layout(nullptr, 4)).ranks, 4);
}

TEST(Agreement, FindsProcessesThatShareCores) {
  test::FakeNetwork network(3);  // two processes on node-0
  test::in_processes(network, [](distributed::Processes& processes) {
    EXPECT_EQ(processes_on_these_cores(&processes), processes.process() == 2 ? 1 : 2);
  });
  EXPECT_EQ(processes_on_these_cores(nullptr), 1);
}

TEST(SharedFile, HasTheBytesOfProcess0Everywhere) {
  const test::Folder folder;
  const std::string path = folder / "file";
  const std::string bytes = std::string(100'000, 'x') + "end";
  std::ofstream(path) << bytes;
  test::FakeNetwork network(3);
  test::in_processes(network, [&](distributed::Processes& processes) {
    const SharedFile file(&processes, processes.is_first() ? path : "/nowhere");
    std::ifstream in(file.path());
    EXPECT_EQ((std::string{std::istreambuf_iterator<char>(in), {}}), bytes);
    const SharedFile none(&processes, processes.is_first() ? "" : "/nowhere");
    EXPECT_EQ(none.path(), "");
  });
  EXPECT_EQ(SharedFile(nullptr, path).path(), path);
}

}  // namespace
}  // namespace dptrain::session
