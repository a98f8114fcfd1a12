#include "nn/losses.h"

#include <algorithm>
#include <string>

#include "core/format.h"
#include "core/text.h"
#include "nn/loss.h"

namespace dptrain::nn {
namespace {

// Element losses: their specs are the equations.

const RegisteredLoss kMeanSquaredError = loss<losses::MeanSquaredError>("MeanSquaredError", "mean_squared_error")
                                             .aliases({"mse", "MSE"})
                                             .doc("squared difference of prediction and label");

const RegisteredLoss kMeanAbsoluteError = loss<losses::MeanAbsoluteError>("MeanAbsoluteError", "mean_absolute_error")
                                              .aliases({"mae", "MAE"})
                                              .doc("absolute difference of prediction and label");

const RegisteredLoss kMeanAbsolutePercentageError =
    loss<losses::MeanAbsolutePercentageError>("MeanAbsolutePercentageError", "mean_absolute_percentage_error")
        .aliases({"mape", "MAPE"})
        .doc("absolute difference of prediction and label, in percent of the label");

const RegisteredLoss kMeanSquaredLogarithmicError =
    loss<losses::MeanSquaredLogarithmicError>("MeanSquaredLogarithmicError", "mean_squared_logarithmic_error")
        .aliases({"msle", "MSLE"})
        .doc("squared difference of the logarithms of 1 + prediction and 1 + label");

const RegisteredLoss kHuber =
    loss<losses::Huber>("Huber", "huber")
        .doc("quadratic for differences up to `delta`, then linear")
        .positional(key("delta", &losses::Huber::delta).above(0).doc("error up to which the loss is quadratic"));

const RegisteredLoss kLogCosh = loss<losses::LogCosh>("LogCosh", "log_cosh").doc("logarithm of cosh of the difference");

const RegisteredLoss kPoisson = loss<losses::Poisson>("Poisson", "poisson")
                                    .doc("loss for labels that are counts: prediction - label * log(prediction)");

const RegisteredLoss kKLDivergence = loss<losses::KLDivergence>("KLDivergence", "kl_divergence")
                                         .aliases({"kld", "KLD"})
                                         .doc("divergence between rows of probabilities");

const RegisteredLoss kHinge =
    loss<losses::Hinge>("Hinge", "hinge").doc("margin: max(0, 1 - label * prediction); labels of 0 count as -1");

const RegisteredLoss kSquaredHinge =
    loss<losses::SquaredHinge>("SquaredHinge", "squared_hinge")
        .doc("squared margin: max(0, 1 - label * prediction)^2; labels of 0 count as -1");

template <class Spec>
auto smoothing_key() {
  return key("label_smoothing", &Spec::label_smoothing)
      .between(0, 1)
      .doc("share of the label that is spread over all classes");
}
template <class Spec>
auto gamma_key() {
  return key("gamma", &Spec::gamma)
      .at_least(0)
      .doc("how much less predictions that are nearly right count; 0: crossentropy");
}

using BinarySpec = BinaryCrossentropySpec;
using BinaryFocalSpec = BinaryFocalCrossentropySpec;

const RegisteredLoss kBinaryCrossentropy = loss<BinarySpec>("BinaryCrossentropy", "binary_crossentropy")
                                               .aliases({"bce", "BCE"})
                                               .doc("crossentropy of two classes, or of independent labels of 0 or 1")
                                               .reads(Reads::kProbabilities)
                                               .labels_in_unit_interval()
                                               .logits(&BinarySpec::from_logits)
                                               .key(smoothing_key<BinarySpec>());

const RegisteredLoss kBinaryFocalCrossentropy =
    loss<BinaryFocalSpec>("BinaryFocalCrossentropy", "binary_focal_crossentropy")
        .doc("`BinaryCrossentropy` in which predictions that are nearly right count less")
        .key(key("apply_class_balancing", &BinaryFocalSpec::apply_class_balancing)
                 .doc("whether to weigh labels of 1 by alpha and labels of 0 by 1 - alpha"))
        .key(key("alpha", &BinaryFocalSpec::alpha)
                 .between(0, 1)
                 .doc("weight of the labels of 1 where classes are balanced"))
        .key(gamma_key<BinaryFocalSpec>())
        .reads(Reads::kProbabilities)
        .labels_in_unit_interval()
        .logits(&BinaryFocalSpec::from_logits)
        .key(smoothing_key<BinaryFocalSpec>());

using CategoricalSpec = CategoricalCrossentropySpec;
using CategoricalFocalSpec = CategoricalFocalCrossentropySpec;

const RegisteredLoss kCategoricalCrossentropy =
    loss<CategoricalSpec>("CategoricalCrossentropy", "categorical_crossentropy")
        .doc("crossentropy of one class of several; labels are class numbers or rows")
        .reads(Reads::kClasses)
        .labels_in_unit_interval()
        .logits(&CategoricalSpec::from_logits)
        .key(smoothing_key<CategoricalSpec>());

const RegisteredLoss kSparseCategoricalCrossentropy =
    loss<SparseCategoricalCrossentropySpec>("SparseCategoricalCrossentropy", "sparse_categorical_crossentropy")
        .doc("crossentropy of one class of several; labels are class numbers only")
        .reads(Reads::kClasses)
        .integer_labels_only()
        .labels_in_unit_interval()
        .logits(&SparseCategoricalCrossentropySpec::from_logits)
        .ignores_class(&SparseCategoricalCrossentropySpec::ignore_class);

const RegisteredLoss kCategoricalFocalCrossentropy =
    loss<CategoricalFocalSpec>("CategoricalFocalCrossentropy", "categorical_focal_crossentropy")
        .doc("`CategoricalCrossentropy` in which predictions that are nearly right count less")
        .key(key("alpha", &CategoricalFocalSpec::alpha).at_least(0).doc("factor of the whole loss"))
        .key(gamma_key<CategoricalFocalSpec>())
        .reads(Reads::kClasses)
        .labels_in_unit_interval()
        .logits(&CategoricalFocalSpec::from_logits)
        .key(smoothing_key<CategoricalFocalSpec>());

const RegisteredLoss kCategoricalHinge = loss<CategoricalHingeSpec>("CategoricalHinge", "categorical_hinge")
                                             .doc("margin between the label's class and the best other class");

const RegisteredLoss kCosineSimilarity =
    loss<CosineSimilaritySpec>("CosineSimilarity", "cosine_similarity")
        .doc("minus the cosine of the angle between the rows of prediction and label")
        .key(key("axis", &CosineSimilaritySpec::axis).doc("only the last axis, -1"))
        .mismatch([](const CosineSimilaritySpec& spec, const LossFit& fit) -> std::string {
          if (spec.axis == -1 || spec.axis == fit.output.rank()) return "";  // axes count the batch
          return fmt::format("axis {} is not supported, only the last axis is: -1 or {}", spec.axis, fit.output.rank());
        });

std::vector<std::int64_t> sorted_axes(const SumAxes& spec, const Shape& output) {
  std::vector<std::int64_t> axes = *spec.axis;
  for (std::int64_t& axis : axes)
    if (axis < 0) axis += output.rank() + 1;
  std::ranges::sort(axes);
  return axes;
}

/// "1, 2, 3" for an output of three axes.
std::string all_axes(const Shape& output) {
  std::vector<std::string> axes;
  for (int axis = 1; axis <= output.rank(); ++axis) axes.push_back(std::to_string(axis));
  return join(axes, ", ");
}

/// Whether the sums include other axes than the last, which has the values of one position.
bool sums_over_positions(const SumAxes& spec, const Shape& output) {
  return sorted_axes(spec, output).front() < output.rank();
}

std::string axes_mismatch(const SumAxes& spec, const LossFit& fit) {
  if (!spec.axis || spec.axis->empty())
    return fmt::format(
        "without axis it sums over the whole batch, as in Keras, so replicas, micro-batches and the last short batch "
        "would change the loss; write the axes of a sample, axis: [{}]",
        all_axes(fit.output));
  const std::vector<std::int64_t> axes = sorted_axes(spec, fit.output);
  bool fits = axes.front() >= 1 && axes.back() <= fit.output.rank();
  for (std::size_t i = 1; i < axes.size(); ++i) fits = fits && axes[i] == axes[i - 1] + 1;
  if (fits && fit.masked && sums_over_positions(spec, fit.output))
    return fmt::format(
        "its sums include the steps of a mask; write the last axis alone, axis: [{}], or remove the mask",
        fit.output.rank());
  if (fits) return "";
  std::vector<std::string> found;
  for (const std::int64_t axis : *spec.axis) found.push_back(std::to_string(axis));
  return fmt::format("axis [{}] does not fit an output of {}; expected neighbouring axes of a sample, from 1 to {}{}",
                     join(found, ", "), fit.output.str(), fit.output.rank(),
                     std::ranges::find(axes, 0) != axes.end() ? " (0 is the batch's: the loss would not be a mean over "
                                                                "samples)"
                                                              : "");
}

template <class F>
LossBuilder<OverAxes<F>> sums_loss(const std::string& name, const std::string& keras_name) {
  return loss<OverAxes<F>>(name, keras_name)
      .positional(key("axis", &SumAxes::axis)
                      .doc("required: axes to sum over, such as [1, 2, 3] of [H, W, C]; not the batch, 0"))
      .labels_in_unit_interval()
      .mismatch([](const OverAxes<F>& spec, const LossFit& fit) { return axes_mismatch(spec, fit); })
      .sums_positions([](const OverAxes<F>& spec, const Shape& output) { return sums_over_positions(spec, output); })
      .example("axis: [1]");
}

const RegisteredLoss kDice =
    sums_loss<losses::Dice>("Dice", "dice").doc("overlap of masks, summed over the given axes of a sample");

const RegisteredLoss kTversky =
    sums_loss<losses::Tversky>("Tversky", "tversky")
        .doc("as `Dice`, with weights of missed labels and of predictions without a label")
        .key(key("alpha", &losses::Tversky::alpha).at_least(0).doc("weight of labels that the prediction misses"))
        .key(key("beta", &losses::Tversky::beta).at_least(0).doc("weight of predictions without a label"));

}  // namespace

SumLayout sum_layout(const SumAxes& spec, const Shape& output) {
  const std::vector<std::int64_t> axes = sorted_axes(spec, output);
  SumLayout sums;
  for (int axis = 1; axis <= output.rank(); ++axis) {
    std::int64_t& part = axis < axes.front() ? sums.outer : axis > axes.back() ? sums.inner : sums.length;
    part *= output[axis - 1];
  }
  return sums;
}

}  // namespace dptrain::nn
