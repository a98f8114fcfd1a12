#include "train/curves.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace dptrain::train {
namespace {

namespace fs = std::filesystem;
using plot::Dash;
using plot::LegendEntry;

class CurvesTest : public ::testing::Test {
 protected:
  CurvesTest() : folder_(fs::temp_directory_path() / ("dptrain-curves-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
  }
  ~CurvesTest() override { fs::remove_all(folder_); }

  /// The folder of a completed run with this train.csv.
  std::string run(const std::string& name, const std::string& csv) const {
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "train.csv") << csv;
    std::ofstream(folder_ / name / "result.json")
        << R"({"directions": {"loss": "min", "accuracy": "max", "val_loss": "min", "val_accuracy": "max"}})";
    return (folder_ / name).string();
  }
  static plot::Chart chart(const std::vector<std::string>& folders, bool log = false) {
    const RunNames names = names_of_runs(folders);
    std::vector<RunCurves> runs;
    for (std::size_t i = 0; i < folders.size(); ++i) runs.push_back(read_run(folders[i], names.runs[i]));
    return curves_chart(names.title, runs, log);
  }

  const std::string head_ = "epoch,loss,accuracy,val_loss,val_accuracy,lr,examples_per_second,seconds\n";
  const fs::path folder_;
};

TEST_F(CurvesTest, TakesDirectionsFromTheConfigUntilTheRunEnds) {
  const std::string folder = run("net/001", "epoch,loss,best2,f1,val_loss,val_best2,val_f1\n1,1,0.1,3,1,0.2,3\n");
  fs::remove(fs::path(folder) / "result.json");
  const auto direction = [&](const std::string& column) { return read_run(folder, "001").direction_of(column); };
  EXPECT_EQ(direction("val_best2"), nn::Direction::kUnknown) << "train.csv alone";
  std::ofstream(fs::path(folder) / "config.resolved.yaml")
      << "dptrain: 1\n"
         "model: {layers: [{Input: {shape: [4]}}, {Dense: {units: 3, activation: softmax}}]}\n"
         "data: {train: {Synthetic: {samples: 6}}}\n"
         "train: {epochs: 1, batch_size: 3, loss: categorical_crossentropy, metrics: [{TopKCategoricalAccuracy: {k: 2, "
         "name: best2}}, {MeanSquaredError: {name: f1}}]}\n";
  EXPECT_EQ(direction("val_best2"), nn::Direction::kLarger);
  EXPECT_EQ(direction("val_f1"), nn::Direction::kSmaller);
  EXPECT_EQ(direction("val_loss"), nn::Direction::kSmaller);
}

TEST_F(CurvesTest, DrawsTrainingDashedAndMarksTheBestEpoch) {
  const plot::Chart one = chart({run("net/001", head_ + "1,2,0.3,1.9,0.4,1e-3,100,1\n2,1,0.6,1.2,0.8,1e-3,100,1\n"
                                                        "3,0.5,0.9,1.4,0.7,1e-3,100,1\n")});
  EXPECT_EQ(one.title, "net/001");
  ASSERT_EQ(one.panels.size(), 3U) << "loss, accuracy, throughput; the learning rate does not change";
  const plot::Panel& loss = one.panels[0];
  EXPECT_EQ(loss.title, "loss");
  ASSERT_EQ(loss.lines.size(), 2U);
  EXPECT_EQ(loss.lines[0].dash, Dash::kDashed) << "training";
  EXPECT_EQ(loss.lines[1].dash, Dash::kSolid) << "validation";
  EXPECT_FALSE(loss.lines[0].style == loss.lines[1].style);
  EXPECT_FALSE(loss.lines[0].best);
  EXPECT_EQ(loss.lines[1].best, 1U);
  EXPECT_EQ(loss.lines[1].best_text, "best 1.2000, epoch 2");
  EXPECT_EQ(one.panels[1].lines[1].best, 1U) << "of accuracy the largest";
  EXPECT_TRUE(one.legend.empty());
  EXPECT_EQ(one.keys.size(), 3U);
}

TEST_F(CurvesTest, DrawsTrainingSolidWithoutValidation) {
  const plot::Chart one = chart({run("net/001", "epoch,loss,lr,examples_per_second\n1,2,0.1,5\n2,1,0.01,5\n")});
  ASSERT_EQ(one.panels.size(), 3U);
  EXPECT_EQ(one.panels[0].lines[0].dash, Dash::kSolid);
  EXPECT_EQ(one.panels[0].lines[0].best, 1U);
  EXPECT_EQ(one.panels[1].title, "learning rate");
  EXPECT_TRUE(one.panels[1].half);
}

TEST_F(CurvesTest, SkipsEmptyFieldsAndBreaksAtNan) {
  const std::string folder = run("net/001", "epoch,loss,val_loss\n1,2,\n2,nan,3\n3,1,\n4,inf,2\n");
  const RunCurves curves = read_run(folder, "001");
  EXPECT_EQ(curves.values.at("val_loss").size(), 2U) << "validated every second epoch";
  ASSERT_EQ(curves.values.at("loss").size(), 4U);
  EXPECT_FALSE(std::isfinite(curves.values.at("loss")[1].y));
  EXPECT_FALSE(std::isfinite(curves.values.at("loss")[3].y));
  const std::vector<LegendEntry> keys = chart({folder}).keys;
  EXPECT_EQ(keys.back().sample, LegendEntry::Sample::kCross);
}

TEST_F(CurvesTest, KeepsThePanelOfANonFiniteLoss) {
  const plot::Chart one = chart({run("net/001", "epoch,loss,accuracy\n1,nan,0.1\n2,nan,0.1\n")});
  ASSERT_GE(one.panels.size(), 2U);
  EXPECT_EQ(one.panels[0].title, "loss");
  EXPECT_FALSE(one.panels[0].lines[0].best);
}

TEST_F(CurvesTest, RunsSharePanelsAndALegend) {
  std::vector<std::string> folders;
  for (int i = 0; i < 30; ++i)
    folders.push_back(run("net/" + std::to_string(100 + i), head_ + "1,2,0.3,1.9,0.4,1e-3,100,1\n"));
  folders.push_back(run("net/unlike", "epoch,loss,mae\n1,nan,2\n"));
  const plot::Chart many = chart(folders);
  EXPECT_EQ(many.title, "net");
  ASSERT_EQ(many.legend.size(), 31U);
  EXPECT_EQ(many.legend[3].name, "103");
  EXPECT_EQ(many.legend[3].note, "val_loss 1.9000, epoch 1");
  EXPECT_EQ(many.legend[30].note, "loss never finite");
  EXPECT_EQ(many.panels[0].lines.size(), 61U);
  EXPECT_EQ(many.panels[2].title, "mae");
  EXPECT_EQ(many.panels[2].lines.size(), 1U);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_TRUE(many.panels[0].lines[2 * i + 1].style == many.legend[i].style);
}

TEST_F(CurvesTest, NamesAreAsLongAsNeeded) {
  EXPECT_EQ(names_of_runs({"a/x/001", "a/x/002/"}).runs, (std::vector<std::string>{"001", "002"}));
  EXPECT_EQ(names_of_runs({"a/x/001", "a/y/001"}).runs, (std::vector<std::string>{"x/001", "y/001"}));
}

TEST_F(CurvesTest, UsesALogarithmicAxisForLossesOrOnRequest) {
  const std::string folder = run("net/001", head_ + "1,2,0.3,1.9,0.4,1e-3,100,1\n");
  using plot::Scale;
  EXPECT_EQ(chart({folder}).panels[0].scale, Scale::kAuto);
  EXPECT_EQ(chart({folder}).panels[1].scale, Scale::kLinear);
  EXPECT_EQ(chart({folder}, true).panels[0].scale, Scale::kLog);
  EXPECT_EQ(chart({folder}, true).panels[1].scale, Scale::kLog);
}

TEST_F(CurvesTest, RejectsFoldersWithoutARun) {
  const auto message = [](const std::string& folder) {
    try {
      read_run(folder, "x");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(message((folder_ / "none").string()).find("there is no train.csv"), std::string::npos);
  EXPECT_NE(message(run("net/001", "epoch,loss\n")).find("train.csv has no epoch yet"), std::string::npos);
  EXPECT_NE(message(run("net/002", "a,b\n1,2\n")).find("no column 'epoch'"), std::string::npos);
}

TEST_F(CurvesTest, RunsOfDifferentLengthShareAnAxisOfPercent) {
  const std::vector<std::string> folders{
      run("net/001", head_ + "1,1,0.5,1,0.5,0.1,10,1\n"),
      run("net/002", head_ + "1,1,0.5,1,0.5,0.1,10,1\n2,1,0.5,1,0.5,0.1,10,1\n4,1,0.5,1,0.5,0.1,10,1\n")};
  std::vector<RunCurves> runs;
  for (const std::string& folder : folders) runs.push_back(read_run(folder, "x"));
  EXPECT_TRUE(differ_in_length(runs));
  EXPECT_FALSE(differ_in_length({runs[1], runs[1]}));
  const plot::Chart chart = curves_chart("", runs, false, EpochAxis::kShare);
  const plot::Panel& loss = chart.panels.front();
  EXPECT_EQ(loss.x_label, "share of the run's epochs, %");
  EXPECT_FALSE(loss.whole_x);
  EXPECT_EQ(loss.x_limits.low, 0);
  EXPECT_GT(loss.x_limits.high, 100);
  EXPECT_EQ(loss.lines[0].points[0].x, 100);
  EXPECT_EQ(loss.lines[2].points[0].x, 25);
  EXPECT_EQ(loss.lines[2].points[2].x, 100);
  EXPECT_EQ(chart.legend[1].note, "val_loss 1.0000, epoch 1") << "the number of the epoch";
}

}  // namespace
}  // namespace dptrain::train
