#include "nn/loss.h"

#include <gtest/gtest.h>

#include "nn/example.h"
#include "nn/losses.h"

namespace dptrain::nn {
namespace {

TEST(Loss, AliasesOfKeras) {
  const config::Family& family = loss_family();
  EXPECT_TRUE(make(family, "categorical_crossentropy").get_if<CategoricalCrossentropySpec>());
  EXPECT_TRUE(make(family, "sparse_categorical_crossentropy").get_if<SparseCategoricalCrossentropySpec>());
  EXPECT_TRUE(make(family, "binary_crossentropy").get_if<BinaryCrossentropySpec>());
  for (const char* name : {"mse", "mean_squared_error", "MSE", "MeanSquaredError"})
    EXPECT_TRUE(make(family, name).get_if<losses::MeanSquaredError>()) << name;
  EXPECT_TRUE(make(family, "mae").get_if<losses::MeanAbsoluteError>());
  EXPECT_EQ(
      make(family, "CategoricalCrossentropy: {label_smoothing: 0.1}").as<CategoricalCrossentropySpec>().label_smoothing,
      0.1);
  EXPECT_EQ(read(family, "SparseCategoricalCrossentropy: {label_smoothing: 0.1}").errors.substr(0, 48),
            "SparseCategoricalCrossentropy: unknown argument ");
}

TEST(Loss, EveryLossHasItsKerasString) {
  for (const config::TypeDef* def : loss_family().types()) {
    const auto& type = static_cast<const LossType&>(*def);
    EXPECT_EQ(loss_family().find(type.keras_name), def) << type.name;
    const config::Typed loss =
        make(loss_family(), type.name + (type.example.empty() ? "" : ": {" + type.example + "}"));
    EXPECT_EQ(type.mismatch(loss.spec(), {.output = Shape{4}}), "") << type.name;
    EXPECT_FALSE(from_logits(loss)) << type.name;
  }
  EXPECT_TRUE(from_logits(make(loss_family(), "BinaryFocalCrossentropy: {from_logits: true}")));
  for (const char* word : {"kld", "KLD", "mape", "MAPE", "msle", "MSLE", "BCE", "cosine_similarity"})
    EXPECT_NE(loss_family().find(word), nullptr) << word;
}

TEST(Loss, SumsOverAxesHaveTheirLayout) {
  const Shape output{3, 4, 5};
  const auto sums = [&](std::vector<std::int64_t> axis) {
    const SumLayout s = sum_layout({.axis = std::move(axis)}, output);
    return std::vector<std::int64_t>{s.outer, s.length, s.inner};
  };
  EXPECT_EQ(sums({1, 2, 3}), (std::vector<std::int64_t>{1, 60, 1}));
  EXPECT_EQ(sums({2, 1}), (std::vector<std::int64_t>{1, 12, 5}));
  EXPECT_EQ(sums({-1}), (std::vector<std::int64_t>{12, 5, 1}));
  EXPECT_EQ(sums({2}), (std::vector<std::int64_t>{3, 4, 5}));
}

}  // namespace
}  // namespace dptrain::nn
