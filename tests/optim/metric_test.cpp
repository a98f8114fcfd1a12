#include "optim/metric.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "optim/example.h"

namespace dptrain::optim {
namespace {

ResolvedMetric resolved(const std::string& yaml, const Shape& output, LabelKind labels = LabelKind::kDense) {
  return resolve_metric(make(metric_family(), yaml), {.name = "'out'", .output = output, .labels = labels});
}

std::string refusal(const std::string& yaml, const Shape& output, LabelKind labels = LabelKind::kDense) {
  try {
    resolved(yaml, output, labels);
  } catch (const Error& error) {
    const std::string text = error.what();
    const std::size_t start = text.find("error: ");
    return start == std::string::npos ? text : text.substr(start + 7);
  }
  return "";
}

TEST(Metric, TheKeyInLogsIsTheStringGiven) {
  for (const char* name : {"accuracy", "acc", "mse", "MSE", "mae", "mean_squared_error", "mean_absolute_error",
                           "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy",
                           "top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy"})
    EXPECT_EQ(resolved(name, {10}).names, std::vector<std::string>{name});
  EXPECT_EQ(resolved("MeanSquaredError", {10}).names.front(), "mean_squared_error");
  EXPECT_EQ(resolved("mse: {name: error}", {10}).names.front(), "error");
  EXPECT_EQ(resolved("TopKCategoricalAccuracy: {k: 3, name: top3}", {10}).names.front(), "top3");
}

TEST(Metric, AMeanIsTheSumOverTheSamples) {
  const double sum = 3;
  EXPECT_EQ(resolved("mse", {3}).values({&sum, 1}, 4), std::vector<double>{0.75});
}

TEST(Metric, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(refusal("top_k_categorical_accuracy", {3}),
            "TopKCategoricalAccuracy: k = 5 of an output of 3 classes would count every sample; give a smaller k");
  EXPECT_EQ(refusal("categorical_accuracy", {1}),
            "CategoricalAccuracy: is always 1 with one output value (output 'out'); try binary_accuracy");
  EXPECT_EQ(refusal("sparse_categorical_accuracy", {4, 4, 3}, LabelKind::kClass),
            "SparseCategoricalAccuracy: wants one row of class scores per sample, but output 'out' is 4x4x3");
  EXPECT_EQ(refusal("mse", {3}, LabelKind::kClass),
            "MeanSquaredError: compares values with values, but the labels are class numbers and output 'out' is 3; "
            "try accuracy");
  EXPECT_EQ(refusal("accuracy", {1}, LabelKind::kClass), "");
  EXPECT_EQ(refusal("accuracy", {3}, LabelKind::kClass), "");
}

TEST(Metric, TheBetterSideIsKnownByTheKey) {
  for (const char* key : {"val_accuracy", "acc", "kind_top_k_categorical_accuracy"})
    EXPECT_TRUE(is_larger_better(key)) << key;
  for (const char* key : {"loss", "val_mse", "mae"}) EXPECT_FALSE(is_larger_better(key)) << key;
}

}  // namespace
}  // namespace dptrain::optim
