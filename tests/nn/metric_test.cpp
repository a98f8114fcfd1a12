#include "nn/metric.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "nn/counting_metrics.h"
#include "nn/example.h"

namespace dptrain::nn {
namespace {

ResolvedMetric resolved(const std::string& yaml, const Shape& output, LabelKind labels = LabelKind::kDense) {
  return resolve_metric(make(metric_family(), yaml), {.name = "'out'", .output = output, .labels = labels});
}

std::string metric_error(const std::string& yaml, const Shape& output, LabelKind labels = LabelKind::kDense) {
  try {
    resolved(yaml, output, labels);
  } catch (const Error& error) {
    const std::string text = error.what();
    const std::size_t start = text.find("error: ");
    return start == std::string::npos ? text : text.substr(start + 7);
  }
  return "";
}

TEST(Metric, TheKeyInLogsIsTheGivenString) {
  for (const char* name :
       {"accuracy", "acc", "mse", "MSE", "mae", "mean_squared_error", "mean_absolute_error", "binary_accuracy",
        "categorical_accuracy", "sparse_categorical_accuracy", "top_k_categorical_accuracy",
        "sparse_top_k_categorical_accuracy", "precision", "recall", "auc", "root_mean_squared_error", "r2_score"})
    EXPECT_EQ(resolved(name, {10}).names, std::vector<std::string>{name});
  EXPECT_EQ(resolved("MeanSquaredError", {10}).names.front(), "mean_squared_error");
  EXPECT_EQ(resolved("mse: {name: error}", {10}).names.front(), "error");
  EXPECT_EQ(resolved("TopKCategoricalAccuracy: {k: 3, name: top3}", {10}).names.front(), "top3");
}

TEST(Metric, AMeanDividesTheSumByTheSamples) {
  const double sum = 3;
  EXPECT_EQ(resolved("mse", {3}).values({&sum, 1}, 4), std::vector<double>{0.75});
}

TEST(Metric, RejectsOutputsThatDoNotFit) {
  EXPECT_EQ(metric_error("top_k_categorical_accuracy", {3}),
            "TopKCategoricalAccuracy: k = 5 of an output of 3 classes would count every sample; give a smaller k");
  EXPECT_EQ(metric_error("categorical_accuracy", {1}),
            "CategoricalAccuracy: is always 1 with one output value (output 'out'); try binary_accuracy");
  EXPECT_EQ(metric_error("sparse_categorical_accuracy", {}, LabelKind::kClass),
            "SparseCategoricalAccuracy: needs a row of class scores, but output 'out' is scalar");
  EXPECT_EQ(metric_error("sparse_categorical_accuracy", {4, 4, 3}, LabelKind::kClass), "");  // a class per position
  EXPECT_EQ(metric_error("mse", {3}, LabelKind::kClass),
            "MeanSquaredError: compares values, but the labels are class numbers and output 'out' is 3; try accuracy");
  EXPECT_EQ(metric_error("accuracy", {1}, LabelKind::kClass), "");
  EXPECT_EQ(metric_error("accuracy", {3}, LabelKind::kClass), "");
}

TEST(Metric, SeveralValuesHaveNumberedNames) {
  EXPECT_EQ(resolved("f1_score", {3}).names, (std::vector<std::string>{"f1_score_0", "f1_score_1", "f1_score_2"}));
  EXPECT_EQ(resolved("F1Score: {average: macro}", {3}).names, std::vector<std::string>{"f1_score"});
  EXPECT_EQ(resolved("Precision: {thresholds: [0.2, 0.8], name: p}", {1}).names,
            (std::vector<std::string>{"p_0", "p_1"}));
  EXPECT_EQ(resolved("r2_score", {3}).names.size(), 1U);
  EXPECT_EQ(metric_error("f1_score", {100}),
            "F1Score: has 100 values, but logs have room for at most 64; average them");
}

TEST(Metric, RejectsArgumentsThatDoNotFitTheOutput) {
  EXPECT_EQ(metric_error("Precision: {top_k: 4}", {3}),
            "Precision: top_k = 4 of an output of 3 values; give a smaller one");
  EXPECT_EQ(metric_error("Recall: {class_id: 3}", {3}),
            "Recall: class_id = 3 of an output of 3 values, counted from 0");
  EXPECT_EQ(metric_error("AUC: {multi_label: true, num_labels: 4}", {3}),
            "AUC: num_labels is 4, but output 'out' has 3 values");
  EXPECT_EQ(metric_error("AUC: {label_weights: [1, 2]}", {3}), "AUC: 2 label_weights for an output of 3 values");
  EXPECT_EQ(metric_error("MeanIoU: {num_classes: 2}", {3}), "MeanIoU: num_classes is 2, but output 'out' has 3");
  EXPECT_EQ(metric_error("r2_score", {2, 3}), "R2Score: needs one row of values per sample, but output 'out' is 2x3");
  EXPECT_EQ(metric_error("AUC: {num_labels: 3}", {3}), "AUC: num_labels is for multi_label: true");
  EXPECT_EQ(read(metric_family(), "Precision: {thresholds: 1.5}").errors.find("must be in [0, 1], found 1.5") ==
                std::string::npos,
            false);
  EXPECT_NE(read(metric_family(), "MeanIoU").errors, "");
}

TEST(Metric, DetectsAreasWithEvenThresholds) {
  const auto even = [](const std::string& yaml) { return make(metric_family(), yaml).as<AUCSpec>().evenly_spaced(); };
  EXPECT_TRUE(even("auc"));
  EXPECT_TRUE(even("AUC: {thresholds: [0.75, 0.25, 0.5]}"));
  EXPECT_FALSE(even("AUC: {thresholds: [0.1, 0.9]}"));
}

TEST(Metric, EachHasADirection) {
  for (const config::TypeDef* def : metric_family().types())
    EXPECT_NE(static_cast<const MetricType&>(*def).better, Direction::kUnknown)
        << def->name << ": add larger_is_better() or smaller_is_better() to its definition";
}

}  // namespace
}  // namespace dptrain::nn
