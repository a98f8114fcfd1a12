// The summary at the end of fit: best validation, time, files, and suggested commands.

#include "cli/run_summary.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace dptrain::cli {
namespace {

using testing::ElementsAre;

train::EndReport ended(const char* exit) {
  train::EndReport report;
  report.result.exit = exit;
  report.epochs = 12;
  report.steps = 4'690;
  report.seconds = 200;
  report.examples_per_second = 39'871.4;
  report.best = {{"loss", {0.1, 12}}, {"val_accuracy", {0.91234, 9}}, {"val_loss", {0.25, 7}}};
  return report;
}

const RunSummary kFacts{.run = "runs/my net/001",
                        .files = {"curves.svg", "model.h5"},
                        .resume_flags = " --cpus 2",
                        .can_eval = true,
                        .peak_bytes = 96U << 20U};

TEST(RunSummary, DescribesACompletedRun) {
  EXPECT_THAT(
      summary_lines(ended("completed"), kFacts),
      ElementsAre("completed; 12 epochs, 4,690 steps in 3 min 20 s, 39,871 samples/s, 96.0 MiB of memory",
                  "  best     val_accuracy 0.9123 in epoch 9, val_loss 0.2500 in epoch 7",
                  "  run      runs/my net/001: curves.svg, model.h5", "  evaluate dptrain eval 'runs/my net/001'",
                  "  predict  dptrain predict 'runs/my net/001' --input FILE"));
}

TEST(RunSummary, UsesTrainingValuesWithoutValidation) {
  train::EndReport report = ended("completed");
  report.epochs = report.steps = 1;
  report.best = {{"loss", {0.125, 1}}, {"mean_squared_error", {103749845.3849, 1}}};
  EXPECT_THAT(summary_lines(report, {.run = "r", .files = {}, .peak_bytes = 96U << 20U}),
              ElementsAre("completed; 1 epoch, 1 step in 3 min 20 s, 39,871 samples/s, 96.0 MiB of memory",
                          "  best     loss 0.1250 in epoch 1, mean_squared_error 103,749,845 in epoch 1",
                          "  run      r", "  predict  dptrain predict r --input FILE"));
}

TEST(RunSummary, SuggestsHowToContinueAStoppedRun) {
  for (const char* const exit : {"signal", "max_time"})
    EXPECT_THAT(summary_lines(ended(exit), kFacts),
                testing::Contains("  continue dptrain resume 'runs/my net/001' --cpus 2"));
  EXPECT_THAT(summary_lines(ended("diverged"), kFacts), testing::Not(testing::Contains(testing::HasSubstr("predict"))));
}

TEST(RunSummary, FiguresForScripts) {
  train::EndReport report = ended("early_stopping");
  report.result.final.set("loss", 0.125);
  EXPECT_THAT(
      summary_figures(report, "runs/a/001"),
      ElementsAre("loss: 0.125", "best_val_accuracy: 0.91234", "best_val_accuracy_epoch: 9", "best_val_loss: 0.25",
                  "best_val_loss_epoch: 7", "epochs: 12", "steps: 4690", "seconds: 200.000",
                  "examples_per_second: 39871.4", "exit: early_stopping", "run: runs/a/001"));
}

TEST(RunSummary, FieldsOfTheLog) {
  train::EndReport report = ended("completed");
  report.result.final.set("loss", 0.125);
  const nlohmann::ordered_json fields = summary_fields(report, "runs/a/001");
  EXPECT_EQ(fields["ev"], "end");
  EXPECT_EQ(fields["final"]["loss"], 0.125);
  EXPECT_EQ(fields["best_by_metric"]["val_accuracy"]["epoch"], 9);
  EXPECT_EQ(fields["run"], "runs/a/001");
}

}  // namespace
}  // namespace dptrain::cli
