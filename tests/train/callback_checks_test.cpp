#include "experiment/callback_type.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "experiment/experiment.h"

namespace dptrain::train {
namespace {

const char* kCheckedConfig =
    "dptrain: 1\n"
    "model: {layers: [{Input: {shape: [4]}}, {Dense: {units: 3, activation: softmax}}]}\n"
    "data: {train: {Synthetic: {samples: 12}}, validation: {Synthetic: {samples: 6}}}\n"
    "train: {epochs: 2, batch_size: 3, loss: sparse_categorical_crossentropy, metrics: [accuracy]}\n";

/// The errors of a config with one callback; "" without errors.
std::string config_error(const std::string& callback, const std::vector<std::string>& sets = {}) {
  std::vector<std::string> all{"callbacks=[" + callback + "]"};
  all.insert(all.end(), sets.begin(), sets.end());
  try {
    experiment::load_experiment_text(kCheckedConfig, "net.yaml", {all, {}});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    const std::string text = error.what();
    const std::string mark = "error: ";
    return text.substr(text.find(mark) + mark.size(), text.find('\n', text.find(mark)) - text.find(mark) - mark.size());
  }
  return "";
}

TEST(CallbackChecks, ChecksMonitoredValuesBeforeTraining) {
  const std::string known = "; there are loss, accuracy, val_loss, val_accuracy";
  for (const std::string name : {"EarlyStopping", "ReduceLROnPlateau"}) {
    EXPECT_EQ(config_error("{" + name + ": {monitor: val_accuracy}}"), "");
    EXPECT_NE(
        config_error("{" + name + ": {monitor: val_acc}}").find(name + ": there is no 'val_acc' to monitor" + known),
        std::string::npos)
        << config_error("{" + name + ": {monitor: val_acc}}");
  }
  EXPECT_NE(config_error("{ModelCheckpoint: {monitor: val_f1, save_best_only: true}}")
                .find("there is no 'val_f1' to monitor"),
            std::string::npos);
  EXPECT_NE(
      config_error("{EarlyStopping: {monitor: val_loss}}", {"data.validation=null"}).find("data.validation is missing"),
      std::string::npos);
  EXPECT_EQ(config_error("ReduceLROnPlateau, {EarlyStopping: {monitor: learning_rate, mode: min}}"), "");
  EXPECT_NE(config_error("{EarlyStopping: {monitor: learning_rate}}, ReduceLROnPlateau"), "");
}

TEST(CallbackChecks, ReportsOneErrorPerCallbackInUse) {
  const std::vector<std::string> sets{"callbacks=[{EarlyStopping: {monitor: val_loss}}]", "data.validation=null"};
  EXPECT_NO_THROW(experiment::load_experiment_text(kCheckedConfig, "net.yaml", {sets, {}, false}));
  try {
    experiment::load_experiment_text(
        kCheckedConfig, "net.yaml",
        {{"callbacks=[ReduceLROnPlateau]", "data.validation=null",
          "train.optimizer={SGD: {learning_rate: {CosineDecay: {initial_learning_rate: 0.1, decay_steps: 9}}}}"},
         {}});
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("needs a plain learning_rate"), std::string::npos) << text;
    EXPECT_EQ(text.find("val_loss"), std::string::npos) << text;
  }
}

TEST(CallbackChecks, FieldsOfAFilepath) {
  const auto of = [](const std::string& path, const std::string& more = "", const std::vector<std::string>& sets = {}) {
    return config_error("{ModelCheckpoint: {filepath: '" + path + "'" + more + "}}", sets);
  };
  EXPECT_EQ(of("sub/net-{epoch:02d}-{val_accuracy:.3f}.h5"), "");
  EXPECT_NE(of("{val_acc}.h5").find("there is no 'val_acc'; there are epoch, loss, accuracy, val_loss, val_accuracy"),
            std::string::npos);
  EXPECT_NE(of("{val_loss}.h5", "", {"train.validate_every=2 epochs"}), "") << "not there in every epoch";
  EXPECT_NE(of("{accuracy}.h5", ", save_freq: 5"), "") << "a step has a loss alone";
  EXPECT_EQ(of("{epoch}-{batch}-{loss:.2f}.h5", ", save_freq: 5"), "");
  EXPECT_NE(of("{batch}.h5"), "") << "at an epoch's end";
  EXPECT_NE(of("{epoch:2000000000d}.h5"), "");
  EXPECT_NE(of("{epoch.h5"), "");
  EXPECT_NE(of("m.keras").find("must end in .h5"), std::string::npos);
}

TEST(CallbackChecks, ASchedulerRequiresAnExpressionAndAConstantRate) {
  EXPECT_EQ(config_error("{LearningRateScheduler: {schedule: lr * 0.9 if epoch > 3 else lr}}"), "");
  EXPECT_EQ(config_error("LearningRateScheduler: 0.01 * 0.5 ** epoch"), "");
  EXPECT_EQ(config_error("LearningRateScheduler: lr, {EarlyStopping: {monitor: learning_rate, mode: min}}"), "");
  for (const char* wrong : {"{}", "{schedule: lr if epoch > 3}", "{schedule: rate * 0.9}", "{schedule: epoch >}"})
    EXPECT_NE(config_error(std::string("{LearningRateScheduler: ") + wrong + "}"), "") << wrong;
  EXPECT_NE(config_error("LearningRateScheduler: lr * steps").find("an expression of epoch (counted from 0) and lr"),
            std::string::npos);
  EXPECT_NE(config_error("LearningRateScheduler: lr",
                         {"train.optimizer={SGD: {learning_rate: {CosineDecay: {initial_learning_rate: 0.1, "
                          "decay_steps: 9}}}}"})
                .find("LearningRateScheduler needs a plain learning_rate"),
            std::string::npos);
}

TEST(CallbackChecks, ValidationBySteps) {
  const std::vector<std::string> by_steps{"train.validate_every=5 steps"};
  EXPECT_EQ(config_error("{EarlyStopping: {monitor: val_accuracy}}", by_steps), "");
  EXPECT_EQ(config_error("{ModelCheckpoint: {filepath: '{batch}-{val_loss}.h5', save_best_only: true}}", by_steps), "");
  EXPECT_NE(config_error("{ModelCheckpoint: {filepath: '{epoch}-{val_loss}.h5'}}", by_steps), "")
      << "an epoch may have had no validation";
  EXPECT_NE(config_error("TimeHistory", {"train.validate_every=0.5 steps"}), "");
  EXPECT_NE(config_error("TimeHistory", {"train.validate_every=0 steps"}), "");
  EXPECT_NE(config_error("TimeHistory", {"train.validate_every=5s"}), "");
}

TEST(CallbackChecks, RejectsFilesOutsideTheRun) {
  for (const char* path : {"/tmp/x.h5", "../x.h5", "a/../../x.h5", "", "sub/"})
    EXPECT_NE(config_error(std::string("{ModelCheckpoint: {filepath: '") + path + "'}}"), "") << path;
  for (const char* name : {"/tmp/x.csv", "../x.csv", "", "config.yaml", "./train.csv", "checkpoints/x.csv", ".lock"})
    EXPECT_NE(config_error(std::string("{CSVLogger: {filename: '") + name + "'}}"), "") << name;
  for (const char* name : {"log.csv", "tables/mine.csv"})
    EXPECT_EQ(config_error(std::string("{CSVLogger: {filename: '") + name + "'}}"), "") << name;
}

}  // namespace
}  // namespace dptrain::train
