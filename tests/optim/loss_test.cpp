#include "optim/loss.h"

#include <gtest/gtest.h>

#include "optim/example.h"

namespace dptrain::optim {
namespace {

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
