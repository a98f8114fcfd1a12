#include "sweep/results.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/text.h"

namespace dptrain::sweep {
namespace {

Sweep example_results() {
  Sweep sweep;
  Plan& plan = sweep.plan;
  plan.vary = {"train.optimizer.learning_rate=1e-4..1e-2:log", "model.layers.a.units=8,16,64",
               "train.optimizer=sgd,adam"};
  plan.trials = 3;
  plan.objective = "val_loss";
  plan.rungs = {1, 3};
  sweep.trials = trials_of(plan);
  sweep.trials[0].values = {"0.001", "8", "sgd"};
  sweep.trials[0].status = Status::kDone;
  sweep.trials[0].outcome = {.exit = "completed", .objective = 0.5, .best_epoch = 1, .epochs = 1, .seconds = 2};
  sweep.trials[1].values = {"0.0003", "64", "adam"};
  sweep.trials[1].status = Status::kDone;
  sweep.trials[1].rung = 1;
  sweep.trials[1].outcome = {.exit = "early_stopping", .objective = 0.25, .best_epoch = 2, .epochs = 3, .seconds = 63};
  sweep.trials[2].values = {"0.01", "16", "adam"};
  sweep.trials[2].status = Status::kFailed;
  sweep.trials[2].outcome = {.exit_code = 6, .reason = "the loss of step 3 is nan, \"really\""};
  return sweep;
}

TEST(Results, TableIsSortedByObjectiveWithReasons) {
  const std::vector<std::string> lines = table_of(example_results(), "runs/x/sweep-001");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "     trial  learning_rate  units  optimizer  val_loss  best_epoch  epochs        time  run");
  EXPECT_EQ(lines[1],
            "  1      2         0.0003     64       adam    0.2500           2       3  1 min 03 s  "
            "runs/x/sweep-001/002: stopped early: no further improvement");
  EXPECT_EQ(
      lines[2],
      "  2      1          0.001      8        sgd    0.5000           1       1         2 s  runs/x/sweep-001/001");
  EXPECT_EQ(lines[3],
            "  3      3           0.01     16       adam         -           -       -           -  "
            "runs/x/sweep-001/003: the loss of step 3 is nan, \"really\"");
}

TEST(Results, CsvReadsBack) {
  const auto rows = csv_rows(csv_of(example_results()));
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"rank", "trial", "train.optimizer.learning_rate", "model.layers.a.units",
                                               "train.optimizer", "val_loss", "best_epoch", "epochs", "seconds",
                                               "status", "reason", "run"}));
  EXPECT_EQ(rows[1],
            (std::vector<std::string>{"1", "2", "0.0003", "64", "adam", "0.25", "2", "3", "63", "done", "", "002"}));
  EXPECT_EQ(rows[3], (std::vector<std::string>{"3", "3", "0.01", "16", "adam", "", "", "0", "0", "failed",
                                               "the loss of step 3 is nan, \"really\"", "003"}));
}

TEST(Results, ChartHasAPanelPerKey) {
  const plot::Chart chart = chart_of(example_results(), "x");
  ASSERT_EQ(chart.panels.size(), 3U);
  EXPECT_TRUE(chart.panels[0].log_x);
  EXPECT_TRUE(chart.panels[0].x_names.empty()) << "drawn from a range";
  EXPECT_FALSE(chart.panels[1].log_x);
  EXPECT_EQ(chart.panels[1].x_names, (std::vector<std::string>{"8", "16", "64"})) << "choices are categories";
  EXPECT_EQ(chart.panels[2].x_names, (std::vector<std::string>{"sgd", "adam"}));
  for (const plot::Panel& panel : chart.panels) {
    ASSERT_EQ(panel.lines.size(), 3U);
    EXPECT_TRUE(panel.lines[0].style.hollow);  // stopped by halving
    EXPECT_FALSE(panel.lines[1].style.hollow);
    EXPECT_TRUE(panel.lines[1].best);
    EXPECT_FALSE(panel.lines[0].best);
    EXPECT_TRUE(std::isnan(panel.lines[2].points[0].y));
  }
  EXPECT_EQ(chart.panels[2].lines[1].points[0].x, 1);
  EXPECT_EQ(chart.panels[1].lines[1].points[0].x, 2);
  EXPECT_EQ(chart.panels[0].lines[1].points[0].x, 0.0003);
}

TEST(Results, ASweepWithoutValuesHasNoBest) {
  Sweep sweep = example_results();
  sweep.trials.erase(sweep.trials.begin(), sweep.trials.begin() + 2);
  EXPECT_FALSE(best_of(sweep));
  EXPECT_EQ(table_of(sweep, "x").size(), 2U);
  EXPECT_EQ(chart_of(sweep, "x").panels.size(), 3U);
}

TEST(Results, SetsAKeyBeforeItsChildren) {
  Sweep sweep = example_results();
  sweep.plan.sets = {"name=x", "train.optimizer.momentum=0.9", "train.optimizers=1"};
  EXPECT_EQ(
      sets_of(sweep.plan, sweep.trials[0]),
      (std::vector<std::string>{"name=x", "train.optimizer=sgd", "train.optimizer.momentum=0.9", "train.optimizers=1",
                                "train.optimizer.learning_rate=0.001", "model.layers.a.units=8"}));
}

}  // namespace
}  // namespace dptrain::sweep
