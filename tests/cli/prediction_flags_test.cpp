// The value of bench --predict.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/prediction_flags.h"
#include "core/error.h"

namespace dptrain::cli {
namespace {

using ::testing::HasSubstr;

std::string refused(const std::string& text) {
  try {
    parse_prediction(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << text;
    return error.what();
  }
  return "accepted";
}

TEST(PredictionFlags, ReadUnits) {
  const bench::PredictionRequest flags = parse_prediction(
      "gpus=8, nodes=64, link=200Gbit, latency=3us, inner=150GB/s, inner_latency=800ns, step=85ms, batch=32, "
      "algorithm=two_level");
  EXPECT_EQ(flags.ranks(), 512);
  EXPECT_EQ(flags.ranks_per_node(), 8);
  EXPECT_DOUBLE_EQ(*flags.link, 25e9);
  EXPECT_DOUBLE_EQ(*flags.latency, 3e-6);
  EXPECT_DOUBLE_EQ(*flags.inner, 150e9);
  EXPECT_DOUBLE_EQ(*flags.inner_latency, 8e-7);
  EXPECT_DOUBLE_EQ(*flags.step, 0.085);
  EXPECT_EQ(flags.batch, 32);
  EXPECT_EQ(flags.algorithm, bench::SumAlgorithm::kTwoLevel);
  EXPECT_DOUBLE_EQ(*parse_prediction("gpus=2,inner=64MiB").inner, 64.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(*parse_prediction("gpus=2,inner=1.5Mbit/s").inner, 187500);
}

TEST(PredictionFlags, CountProcesses) {
  const bench::PredictionRequest flags =
      parse_prediction("cpus=2x3,processes=10,nodes=3,link=1Gbit,latency=0.2ms,cores=16");
  EXPECT_EQ(flags.ranks(), 10);
  EXPECT_EQ(flags.ranks_per_node(), 4);
  EXPECT_EQ(flags.cpus->replicas, 2);
  EXPECT_EQ(flags.cpus->threads, 3);
  EXPECT_EQ(flags.cores, 16);
  EXPECT_EQ(parse_prediction("nodes=3,link=1Gbit,latency=1ms").ranks(), 3) << "a process each";
}

TEST(PredictionFlags, RejectInvalidValues) {
  EXPECT_THAT(refused("gpus=8,node=4"), HasSubstr("--predict: unknown key 'node'; did you mean 'nodes'?"));
  EXPECT_THAT(refused("gpus=8,gpus=4"), HasSubstr("gpus is given twice"));
  EXPECT_THAT(refused("gpus"), HasSubstr("gpus has no value"));
  EXPECT_THAT(refused("gpus=0"), HasSubstr("gpus must be a whole number from 1 to 1048576, found '0'"));
  EXPECT_THAT(refused("gpus=2.5"), HasSubstr("found '2.5'"));
  for (const char* link : {"200", "200gbit", "Gbit", "-1Gbit", "1e3Gbit", "0Gbit", "2 0Gbit", "1..5GB", "200Gbit/h"})
    EXPECT_THAT(refused(std::string("gpus=8,nodes=2,latency=3us,link=") + link),
                HasSubstr(std::string("link must be a rate such as 200Gbit, 25GB/s or 900MB/s, found '") + link + "'"));
  EXPECT_THAT(refused("gpus=8,step=85"), HasSubstr("step must be a time such as 3us, 0.2ms or 1.5s, found '85'"));
  EXPECT_THAT(refused("gpus=8,algorithm=rnig"), HasSubstr("did you mean 'ring'?"));
}

TEST(PredictionFlags, RejectConflictingFlags) {
  EXPECT_THAT(refused("step=85ms"), HasSubstr("a count is missing"));
  EXPECT_THAT(refused("gpus=8,cores=4"), HasSubstr("gpus cannot be combined with cpus, processes or cores"));
  EXPECT_THAT(refused("gpus=8,link=1Gbit"), HasSubstr("apply between nodes, but there is one node"));
  EXPECT_THAT(refused("gpus=8,nodes=2,latency=3us"), HasSubstr("link is missing"));
  EXPECT_THAT(refused("gpus=8,nodes=2,link=1Gbit"), HasSubstr("latency is missing"));
  EXPECT_THAT(refused("processes=2,nodes=3,link=1Gbit,latency=3us"), HasSubstr("processes=2 are fewer than nodes=3"));
  EXPECT_THAT(refused("processes=2,algorithm=ring"), HasSubstr("processes on CPUs sum with algorithm=direct"));
  EXPECT_THAT(refused("gpus=2,algorithm=direct"), HasSubstr("ring, tree or two_level"));
}

}  // namespace
}  // namespace dptrain::cli
