#include <gtest/gtest.h>

#include "core/error.h"
#include "optim/example.h"
#include "optim/loss.h"

namespace dptrain::optim {
namespace {

ResolvedMetric resolved(const std::string& yaml, const Shape& output) {
  return resolve_metric(make(metric_family(), yaml), output);
}

TEST(Metric, AccuracyFollowsTheOutput) {
  EXPECT_EQ(resolved("accuracy", {10}).kind, MetricKind::kArgmaxEqual);
  EXPECT_EQ(resolved("accuracy", {1}).kind, MetricKind::kBinaryEqual);
  EXPECT_EQ(resolved("accuracy", {4, 1}).kind, MetricKind::kBinaryEqual);
  EXPECT_EQ(resolved("binary_accuracy", {10}).kind, MetricKind::kBinaryEqual);
}

TEST(Metric, TheKeyInLogsIsTheStringGiven) {
  for (const char* name : {"accuracy", "acc", "mse", "mae", "mean_squared_error", "mean_absolute_error",
                           "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy",
                           "top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy"})
    EXPECT_EQ(resolved(name, {10}).name, name);
  EXPECT_EQ(resolved("MeanSquaredError", {10}).name, "mean_squared_error");
  EXPECT_EQ(resolved("TopKCategoricalAccuracy: {k: 3, name: top3}", {10}).name, "top3");
}

TEST(Metric, Kinds) {
  EXPECT_EQ(resolved("mse", {3}).kind, MetricKind::kSquaredError);
  EXPECT_EQ(resolved("MeanAbsoluteError", {3}).kind, MetricKind::kAbsoluteError);
  EXPECT_EQ(resolved("SparseTopKCategoricalAccuracy: {k: 2}", {3}).k, 2);
  EXPECT_EQ(resolved("BinaryAccuracy: {threshold: 0.7}", {1}).threshold, 0.7);
  EXPECT_THROW(resolved("top_k_categorical_accuracy", {3}), Error);  // k is 5
}

TEST(Loss, AliasesOfKeras) {
  const config::Family& family = loss_family();
  EXPECT_TRUE(make(family, "categorical_crossentropy").get_if<CategoricalCrossentropySpec>());
  EXPECT_TRUE(make(family, "sparse_categorical_crossentropy").get_if<SparseCategoricalCrossentropySpec>());
  EXPECT_TRUE(make(family, "binary_crossentropy").get_if<BinaryCrossentropySpec>());
  for (const char* name : {"mse", "mean_squared_error", "MSE", "MeanSquaredError"})
    EXPECT_TRUE(make(family, name).get_if<MeanSquaredErrorSpec>()) << name;
  EXPECT_TRUE(make(family, "mae").get_if<MeanAbsoluteErrorSpec>());
  EXPECT_EQ(
      make(family, "CategoricalCrossentropy: {label_smoothing: 0.1}").as<CategoricalCrossentropySpec>().label_smoothing,
      0.1);
  EXPECT_EQ(read(family, "SparseCategoricalCrossentropy: {label_smoothing: 0.1}").errors.substr(0, 48),
            "SparseCategoricalCrossentropy: unknown argument ");
}

}  // namespace
}  // namespace dptrain::optim
