#pragma once

// The definition of a loss: everything that does not depend on a device. nn/losses.h has the specs with their
// equations. nn/losses.cpp registers each with one `loss<Spec>(...)` expression. A loss reads labels and the model's
// output, or the logits before its softmax or sigmoid if the plan fuses them. It computes numbers whose mean over a
// sample is the sample's loss (Keras's sum_over_batch_size). The registry is filled before main and read-only
// afterwards: any thread may read it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "config/type_builder.h"
#include "core/shape.h"
#include "nn/resolved_metric.h"

namespace dptrain::nn {

using config::key;

/// How a loss interprets an output.
enum class Reads {
  kClasses,        ///< the last axis has class scores; softmax turns them into probabilities
  kProbabilities,  ///< each element is the probability of "yes", from a sigmoid
  kValues
};

/// The output and labels that a loss is checked against.
struct LossFit {
  const Shape& output;  ///< shape without the batch
  LabelKind labels = LabelKind::kDense;
  bool masked = false;  ///< some positions (all axes but the last) are masked: each position needs its own loss
};

struct LossType final : config::TypeDef {
  Reads reads = Reads::kValues;
  bool integer_labels_only = false;      ///< for kClasses: labels must be class numbers, not rows
  bool labels_in_unit_interval = false;  ///< labels that are rows must be in 0..1; the loader checks them
  bool fuses = false;                    ///< its op can apply the softmax or sigmoid
  std::string keras_name;                ///< Keras's string: "mean_squared_error"
  std::string example;                   ///< arguments for an output of one axis, if the defaults do not fit
  std::function<bool(const void* spec)> from_logits;
  std::function<std::optional<std::int64_t>(const void* spec)> ignore_class;
  /// A copy of the spec with another value of its key `ignore_class`; empty: it has no such key.
  std::function<std::shared_ptr<const void>(const void* spec, std::int64_t ignored)> with_ignore_class;
  /// Whether one number of the loss covers several positions of this output.
  std::function<bool(const void* spec, const Shape& output)> sums_positions;
  /// Reason why the loss does not fit, as the rest of "<Loss>: ..."; "" if it fits.
  std::function<std::string(const void* spec, const LossFit&)> mismatch;
};

const LossType& loss_type(const config::Typed& loss);
/// Whether the loss's own key `from_logits` is true.
bool from_logits(const config::Typed& loss);
/// The loss's own key `ignore_class`; plan::ignored_class() also considers the data set.
std::optional<std::int64_t> ignore_class(const config::Typed& loss);
/// The loss with this value of its key `ignore_class`; unchanged if it has no such key.
config::Typed with_ignore_class(const config::Typed& loss, std::int64_t ignored);
/// Whether labels are classes or their probabilities, also those of Dice, so that positions of a class can be ignored.
bool compares_classes(const config::Typed& loss);

/// Builder, one expression per loss. Converting it to RegisteredLoss registers it:
///   const RegisteredLoss kHuber = loss<losses::Huber>("Huber", "huber").key(...);
template <class Spec>
class LossBuilder : public config::TypeBuilder<LossBuilder<Spec>, Spec, LossType> {
  using Base = config::TypeBuilder<LossBuilder<Spec>, Spec, LossType>;
  using Base::self;
  using Base::type_;
  using Base::untyped;

 public:
  LossBuilder(std::string name, std::string keras_name) : Base(std::move(name)) {
    type_->aliases = {keras_name};
    type_->keras_name = std::move(keras_name);
    type_->from_logits = [](const void*) { return false; };
    type_->ignore_class = [](const void*) { return std::optional<std::int64_t>(); };
    type_->sums_positions = [](const void*, const Shape&) { return false; };
    type_->mismatch = [](const void*, const LossFit&) { return std::string(); };
  }

  LossBuilder&& reads(Reads what) { return type_->reads = what, self(); }
  LossBuilder&& integer_labels_only() { return type_->integer_labels_only = true, self(); }
  LossBuilder&& labels_in_unit_interval() { return type_->labels_in_unit_interval = true, self(); }
  /// Adds the key `from_logits`, and allows the plan to fuse the output's activation into the loss.
  LossBuilder&& logits(bool Spec::*member) {
    type_->from_logits = [member](const void* s) { return static_cast<const Spec*>(s)->*member; };
    type_->fuses = true;
    return this->key(config::key("from_logits", member)
                         .doc("whether the model outputs logits: the loss applies the softmax or sigmoid"));
  }
  /// Adds the key `ignore_class`. The plan makes a mask from the labels.
  LossBuilder&& ignores_class(std::optional<std::int64_t> Spec::*member) {
    type_->ignore_class = [member](const void* s) { return static_cast<const Spec*>(s)->*member; };
    type_->with_ignore_class = [member](const void* s, std::int64_t ignored) {
      auto copy = std::make_shared<Spec>(*static_cast<const Spec*>(s));
      (*copy).*member = ignored;
      return std::shared_ptr<const void>(std::move(copy));
    };
    return this->key(config::key("ignore_class", member)
                         .between(-1, 65535)
                         .doc("label of positions that neither the loss nor the metrics count, such as 255; default: "
                              "`ignore_class` of the data set"));
  }
  LossBuilder&& mismatch(std::string (*f)(const Spec&, const LossFit&)) { return type_->mismatch = untyped(f), self(); }
  LossBuilder&& sums_positions(bool (*f)(const Spec&, const Shape&)) {
    return type_->sums_positions = untyped(f), self();
  }
  LossBuilder&& example(std::string arguments) { return type_->example = std::move(arguments), self(); }
};

template <class Spec>
LossBuilder<Spec> loss(std::string name, std::string keras_name) {
  return LossBuilder<Spec>(std::move(name), std::move(keras_name));
}

using RegisteredLoss = config::Registration<loss_family>;

}  // namespace dptrain::nn
