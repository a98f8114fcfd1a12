#include "optim/loss.h"

namespace dptrain::optim {
namespace {

using config::key;
using config::Schema;
using config::type_def;

config::Family make_losses() {
  using Categorical = CategoricalCrossentropySpec;
  using Sparse = SparseCategoricalCrossentropySpec;
  using Binary = BinaryCrossentropySpec;
  config::Family family("loss");
  family.add(
      type_def<Categorical>(Schema::of<Categorical>("CategoricalCrossentropy")
                                .key(key("from_logits", &Categorical::from_logits))
                                .key(key("label_smoothing", &Categorical::label_smoothing).at_least(0).at_most(1)),
                            {"categorical_crossentropy"}));
  family.add(type_def<Sparse>(
      Schema::of<Sparse>("SparseCategoricalCrossentropy").key(key("from_logits", &Sparse::from_logits)),
      {"sparse_categorical_crossentropy"}));
  family.add(type_def<Binary>(Schema::of<Binary>("BinaryCrossentropy")
                                  .key(key("from_logits", &Binary::from_logits))
                                  .key(key("label_smoothing", &Binary::label_smoothing).at_least(0).at_most(1)),
                              {"binary_crossentropy", "bce"}));
  family.add(type_def<MeanSquaredErrorSpec>(Schema::of<MeanSquaredErrorSpec>("MeanSquaredError"),
                                            {"mse", "mean_squared_error", "MSE"}));
  family.add(type_def<MeanAbsoluteErrorSpec>(Schema::of<MeanAbsoluteErrorSpec>("MeanAbsoluteError"),
                                             {"mae", "mean_absolute_error", "MAE"}));
  return family;
}

}  // namespace

config::Family& loss_family() {
  static config::Family family = make_losses();
  return family;
}

}  // namespace dptrain::optim
