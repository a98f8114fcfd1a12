// Comparison of several runs: their differences and the best values.

#include "report/page.h"

#include <gmock/gmock.h>

#include "report/run_folder.h"
#include "report/tags.h"

namespace dptrain::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

RunRecord record(const std::string& name, Fields settings, Fields environment = {}) {
  RunRecord run{.folder = name, .name = name};
  run.settings = std::move(settings);
  run.environment = std::move(environment);
  return run;
}

TEST(Comparison, OnlyKeysThatDiffer) {
  const std::vector<Difference> all = differences(
      {record("1", {{"seed", "1"}, {"rate", "0.1"}}, {{"time", "8"}, {"devices", "cpu"}}),
       record("2", {{"seed", "1"}, {"rate", "0.2"}, {"use_ema", "true"}}, {{"time", "9"}, {"devices", "gpu"}})});
  ASSERT_EQ(all.size(), 3U) << "the time is no matter";
  EXPECT_EQ(all[0].name, "rate");
  EXPECT_THAT(all[0].values, ElementsAre("0.1", "0.2"));
  EXPECT_EQ(all[1].name, "use_ema");
  EXPECT_THAT(all[1].values, ElementsAre("", "true"));
  EXPECT_EQ(all[2].name, "devices");
  EXPECT_TRUE(differences({record("1", {{"a", "1"}}), record("2", {{"a", "1"}})}).empty());
}

TEST(Comparison, TheBestOfEachMetricIsMarked) {
  const Runs runs;
  const std::vector<RunRecord> all{read_record(runs.whole("001", "0.5", "0.75"), "001"),
                                   read_record(runs.whole("002", "0.1", "0.9"), "002")};
  const std::string table = runs_table(all);
  EXPECT_THAT(table, HasSubstr("<span class=\"best\">0.9000</span>"));
  EXPECT_THAT(table, Not(HasSubstr("<span class=\"best\">0.7500</span>")));
  EXPECT_THAT(table, Not(HasSubstr("<span class=\"best\">0.6000</span>"))) << "the losses are equal";
  EXPECT_THAT(table, HasSubstr("<th>learning_<wbr/>rate</th>")) << "what differs, where it is little";
}

TEST(Comparison, DistinguishesAKeyFromAFigureOfTheSameName) {
  const std::vector<RunRecord> runs{record("1", {{"train.epochs", "1"}}), record("2", {{"train.epochs", "2"}})};
  const std::string table = runs_table(runs);
  EXPECT_THAT(table, HasSubstr("<th>train.<wbr/>epochs</th>"));
  EXPECT_THAT(table, HasSubstr("<th class=\"number\">epochs</th>"));
}

TEST(Comparison, DistinguishesKeysOfOneName) {
  const std::vector<RunRecord> runs{record("1", {{"layers.a.units", "1"}, {"layers.b.units", "1"}}),
                                    record("2", {{"layers.a.units", "2"}, {"layers.b.units", "2"}})};
  const std::string table = runs_table(runs);
  EXPECT_THAT(table, HasSubstr("<th>layers.<wbr/>a.<wbr/>units</th><th>layers.<wbr/>b.<wbr/>units</th>"));
}

TEST(Comparison, ManyRunsHaveARowEach) {
  std::vector<RunRecord> runs;
  for (int i = 0; i < 30; ++i) runs.push_back(record(std::to_string(i), {{"rate", std::to_string(i)}}));
  const std::string many = differences_table(runs);
  EXPECT_THAT(many, HasSubstr("<th>rate</th>"));
  EXPECT_EQ(markup_error(many), "");
  runs.resize(2);
  EXPECT_THAT(differences_table(runs), HasSubstr("<code>rate</code>"));
  runs[1] = runs[0];
  EXPECT_THAT(differences_table(runs), HasSubstr("Nothing: configs and environments are equal"));
}

}  // namespace
}  // namespace dptrain::report
