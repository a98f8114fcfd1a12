#include "session/class_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/node.h"
#include "core/error.h"
#include "experiment/experiment.h"
#include "session/session.h"

namespace dptrain::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Only labels: classes, or rows of values.
class Labels : public data::Source {
 public:
  explicit Labels(std::vector<std::int64_t> classes, std::vector<std::string> names = {}, std::int64_t width = 0)
      : classes_(std::move(classes)), names_(std::move(names)), width_(width) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(classes_.size()); }
  int inputs() const override { return 1; }
  std::string input_name(int) const override { return ""; }
  Shape input_shape(int) const override { return {1}; }
  void read(std::int64_t, int, data::Array&, const data::ReadHint&) const override {}
  data::LabelType label_type(int) const override {
    return width_ > 0 ? data::LabelType::kValues : data::LabelType::kClass;
  }
  std::int64_t label_width(int) const override { return width_ > 0 ? width_ : 1; }
  std::int64_t label_class(std::int64_t index, int) const override { return classes_[static_cast<std::size_t>(index)]; }
  void label_values(std::int64_t index, float* out, int) const override {
    for (std::int64_t i = 0; i < width_; ++i)
      out[i] = width_ == 1 ? float(label_class(index, 0)) : label_class(index, 0) == i ? 1 : 0;
  }
  std::string label_place(std::int64_t, int) const override { return ""; }
  std::vector<std::string> class_names(int) const override { return names_; }
  std::string fingerprint() const override { return ""; }

 private:
  std::vector<std::int64_t> classes_;
  std::vector<std::string> names_;
  std::int64_t width_;
};

/// Two labels per sample: a constant class, then the given ones.
class SecondLabels final : public Labels {
 public:
  using Labels::Labels;
  int labels() const override { return 2; }
  std::int64_t label_class(std::int64_t index, int which) const override {
    return which == 0 ? 0 : Labels::label_class(index, 0);
  }
};

const experiment::ClassWeight kBalanced{.balanced = true};
experiment::ClassWeight by(std::vector<std::pair<std::string, double>> weights) {
  return {.weights = std::move(weights)};
}

std::string refusal(const experiment::ClassWeight& class_weight, const Labels& labels, std::int64_t outputs) {
  try {
    class_weights(class_weight, {.labels = labels, .outputs = outputs});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "accepted";
}

/// A class for each of two positions.
class PairLabels final : public Labels {
 public:
  using Labels::Labels;
  void label_values(std::int64_t index, float* out, int) const override {
    out[0] = static_cast<float>(label_class(index, 0) / 1000);
    out[1] = static_cast<float>(label_class(index, 0) % 1000);
  }
};

TEST(ClassWeights, BalancedCountsPositionsWithoutTheIgnoredClass) {
  // Positions: class 0 five times, class 1 once, 255 twice.
  const PairLabels labels({0, 1, 255, 255000}, {}, 2);
  EXPECT_THAT(class_weights(kBalanced, {.labels = labels, .outputs = 3, .positions = 2, .ignored = 255}),
              ElementsAre(6.0F / 10, 3.0F, 1.0F));
}

/// Maps of two pixels.
class LabelsOfPixels final : public Labels {
 public:
  using Labels::Labels;
  data::LabelType label_type(int) const override { return data::LabelType::kMap; }
  void read_label_map(std::int64_t index, data::Array& out, int) const override {
    out.shape = Shape{1, 2, 1};
    out.type = DType::kU8;
    out.u8 = {static_cast<std::uint8_t>(label_class(index, 0) / 1000),
              static_cast<std::uint8_t>(label_class(index, 0) % 1000)};
  }
};

TEST(ClassWeights, BalancedCountsPixelsOfMaps) {
  const LabelsOfPixels labels({0, 1, 255, 255000});  // class 0 five times, class 1 once, 255 twice
  EXPECT_THAT(class_weights(kBalanced, {.labels = labels, .outputs = 3, .positions = 2, .ignored = 255}),
              ElementsAre(6.0F / 10, 3.0F, 1.0F));
}

TEST(ClassWeights, BalancedIsSamplesByClassesTimesCount) {
  const std::vector<std::int64_t> classes{0, 0, 0, 1, 2, 2};
  for (const std::int64_t width : {0, 3})
    EXPECT_THAT(class_weights(kBalanced, {.labels = Labels(classes, {}, width), .outputs = 3}),
                ElementsAre(6.0F / 9, 2.0F, 1.0F));
  EXPECT_THAT(class_weights(kBalanced, {.labels = Labels({1, 0, 1, 1}, {}, 1), .outputs = 1}),
              ElementsAre(2.0F, 4.0F / 6));
  // Classes without samples are not balanced.
  EXPECT_THAT(class_weights(kBalanced, {.labels = Labels({0, 0, 0, 2}), .outputs = 3}),
              ElementsAre(4.0F / 6, 1.0F, 2.0F));
}

TEST(ClassWeights, MatchNamesThenNumbers) {
  const Labels named({0, 1, 2}, {"daisy", "1", "rose"});
  EXPECT_THAT(class_weights(by({{"rose", 3}, {"1", 0.5}}), {.labels = named, .outputs = 3}), ElementsAre(1, 0.5F, 3));
  EXPECT_THAT(class_weights(by({{"2", 0}}), {.labels = Labels({0, 1}), .outputs = 3}), ElementsAre(1, 1, 0));
  EXPECT_THAT(class_weights(by({{"1", 4}}), {.labels = Labels({0, 1}), .outputs = 1}), ElementsAre(1, 4));
}

TEST(ClassWeights, RejectUnknownClasses) {
  const Labels named({0, 1}, {"daisy", "rose"});
  EXPECT_EQ(refusal(by({{"roses", 2}}), named, 2),
            "train.class_weight: unknown class 'roses'; expected daisy, rose or 0..1; did you mean 'rose'?");
  EXPECT_THAT(refusal(by({{"2", 2}}), Labels({0, 1}), 2), HasSubstr("expected 0..1; the data set has no class names"));
  EXPECT_THAT(refusal(by({{"rose", 2}, {"1", 3}}), named, 2), HasSubstr("two weights, one by name and one by number"));
}

TEST(ClassWeights, CountTheLabelOfTheOutput) {
  const SecondLabels labels({0, 1, 1, 1});
  EXPECT_THAT(class_weights(kBalanced, {.labels = labels, .which = 1, .outputs = 2}), ElementsAre(2, 4.0F / 6));
}

TEST(ClassWeights, AreReadFromTheConfigAndUsedInTraining) {
  const char* config =
      "dptrain: 1\nname: tiny\nmodel: {layers: [Input: {shape: [4]}, Dense: {units: 2, activation: softmax}]}\n"
      "data: {train: {Synthetic: {samples: 8, class_names: [cat, dog]}}}\n"
      "train: {epochs: 1, batch_size: 8, loss: categorical_crossentropy, class_weight: {dog: 0.5}}\n";
  const experiment::Experiment experiment = experiment::load_experiment_text(config, "tiny.yaml", {});
  Session session(experiment, {.devices = {}, .wants_validation = false});
  EXPECT_THAT(session.plan().losses.front().class_weights, ElementsAre(1, 0.5F));
  EXPECT_EQ(session.class_weights_line(), "of classes: cat 1, dog 0.5");
  const experiment::Experiment again =
      experiment::load_experiment_text(config::to_yaml(resolved(experiment)), "resolved", {});
  EXPECT_EQ(again.config.train.class_weight->weights, experiment.config.train.class_weight->weights);

  const auto refused = [&](const std::string& set) {
    try {
      const experiment::Experiment changed =
          experiment::load_experiment_text(config, "tiny.yaml", {.sets = {set}, .variables = {}});
      Session(changed, {.devices = {}, .wants_validation = false});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused("train.class_weight.bird=2"), HasSubstr("unknown class 'bird'; expected cat, dog or 0..1"));
  EXPECT_THAT(refused("train.class_weight.dog=-1"), HasSubstr("class_weight of 'dog' must be a number >= 0"));
  EXPECT_THAT(refused("train.class_weight=often"), HasSubstr("class_weight must be balanced or {class: weight, ...}"));
  EXPECT_THAT(refused("train.loss=mse"), HasSubstr("class_weight needs one class per sample"));
}

}  // namespace
}  // namespace dptrain::session
