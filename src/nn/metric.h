#pragma once

// The definition of a metric: everything that does not depend on a device. nn/metrics.h and nn/counting_metrics.h have
// the specs, their sources one `metric<Spec>(...)` expression each that registers it. A metric sums a state of doubles
// over samples, which micro-batches, replicas and batches add up; its values are computed from the summed state of an
// epoch, never as a mean over batches. The registry is filled before main and read-only afterwards: any thread may read
// it. The equations are in docs/numerics.md.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/type_builder.h"
#include "core/shape.h"
#include "nn/loss.h"

namespace dptrain::nn {

config::Family& metric_family();
using Metric = config::Of<metric_family>;

/// What a metric measures: one output of the model with its labels.
struct MetricSubject {
  std::string name{};  ///< of the output, quoted, for messages
  Shape output{};      ///< of one sample
  LabelKind labels = LabelKind::kClass;

  /// The last extent, and how many rows of it a sample has.
  std::int64_t classes() const { return output.rank() == 0 ? 1 : output.back(); }
  std::int64_t positions() const { return output.elements() / classes(); }
};

/// A state summed over samples. `weight` is their number or, of a metric that heeds a mask, the sum of each sample's
/// share of valid positions.
struct MetricSums {
  const MetricSubject& subject;
  std::span<const double> state;
  double weight = 0;
};

/// Whether smaller or larger values are better.
enum class Direction { kUnknown, kSmaller, kLarger };

/// Whether a value is better than another one; never for kUnknown.
inline bool is_better(Direction direction, double value, double other) {
  if (direction == Direction::kUnknown) return false;
  return direction == Direction::kLarger ? value > other : value < other;
}

/// What a metric reads of the predictions, where the loss computes the softmax or sigmoid after them.
enum class MetricReads {
  kOrder,      ///< the order of a row's values: the same before and after both
  kThreshold,  ///< on which side of thresholds single values are: before a sigmoid the thresholds are moved
  kValues      ///< the values after it
};

struct MetricType final : config::TypeDef {
  MetricReads reads = MetricReads::kValues;
  /// Arguments, as YAML, with which it can be measured on an output of four classes: what `devices --check` tries.
  std::string example_arguments{};
  Direction better = Direction::kUnknown;
  /// The mean of a number of each position, without masked positions, as in Keras. All others count masked positions,
  /// too.
  bool heeds_mask = true;
  /// Whether the value is a share of samples, each of which counts 0 or 1.
  std::function<bool(const MetricSubject&)> is_share;
  std::function<const std::string&(const void* spec)> log_name;
  /// Doubles of state.
  std::function<std::size_t(const void* spec, const MetricSubject&)> state;
  /// How many values it has; 1 for most.
  std::function<std::size_t(const void* spec, const MetricSubject&)> value_count;
  std::function<std::vector<double>(const void* spec, const MetricSums&)> values;
  /// Why it cannot be measured there ("wants one row of class scores per sample, but output 'x' is [4, 4]"), or "".
  std::function<std::string(const void* spec, const MetricSubject&)> misfit;
};

/// A metric of a plan: its definition applied to one output.
struct ResolvedMetric {
  config::Typed metric{};
  MetricSubject subject{};
  std::vector<std::string> names{};  ///< keys in logs and CSV, one per value: "auc", or "f1_score_0", "f1_score_1"
  std::size_t state = 1;             ///< doubles
  std::size_t offset = 1;            ///< of its state after the output's loss in a step's sums
  bool masked = false;               ///< leaves out the positions that the mask of its output excludes

  const MetricType& type() const { return static_cast<const MetricType&>(metric.def()); }
  std::vector<double> values(std::span<const double> sums, double weight) const {
    return type().values(metric.spec(), {.subject = subject, .state = sums, .weight = weight});
  }
};

/// The definition of a metric value.
const MetricType& metric_type(const config::Typed& metric);
/// Keys in logs; the labels of the subject do not matter.
std::vector<std::string> value_names(const config::Typed& metric, const MetricSubject& subject);
/// Throws Error{kUsage} with the place where the metric does not fit the output. `offset` is left to the plan.
ResolvedMetric resolve_metric(const config::Typed& metric, const MetricSubject& subject);

/// Where a single value is compared with a threshold, labels may be rows or, of one output value, numbers.
std::string compares_values(const MetricSubject& subject);
/// A metric that ranks the values of a row wants rows with at least two.
std::string ranks_classes(const MetricSubject& subject);

/// A threshold on predictions of which the loss has taken over the sigmoid: p > t is z > ln(t / (1 - t)).
double before_sigmoid(double threshold);

/// Builder, one expression per metric:
///   const RegisteredMetric kMetric = metric<AUCSpec>("AUC", {"auc"}).key(...).state(...).values(...);
/// A spec has the member `name`, its key in logs. An alias is a string of Keras, which logs the metric under that very
/// string. Without state() and value() a metric is the mean over samples of one number.
template <class Spec>
class MetricBuilder : public config::TypeBuilder<MetricBuilder<Spec>, Spec, MetricType> {
  using Base = config::TypeBuilder<MetricBuilder<Spec>, Spec, MetricType>;
  using Base::self;
  using Base::type_;
  using Base::untyped;

 public:
  MetricBuilder(std::string name, std::vector<std::string> aliases) : Base(std::move(name)) {
    type_->aliases = std::move(aliases);
    this->key(config::key<Spec, std::string>("name", &Spec::name).doc("name in logs"));
    type_->given_as = [](void* spec, const std::string& alias) { static_cast<Spec*>(spec)->name = alias; };
    type_->log_name = [](const void* spec) -> const std::string& { return static_cast<const Spec*>(spec)->name; };
    type_->state = type_->value_count = [](const void*, const MetricSubject&) { return std::size_t{1}; };
    type_->values = [](const void*, const MetricSums& sums) {
      return std::vector<double>{sums.state[0] / sums.weight};
    };
    type_->misfit = [](const void*, const MetricSubject&) { return std::string(); };
    type_->is_share = [](const MetricSubject&) { return false; };
  }

  MetricBuilder&& example(std::string arguments) { return type_->example_arguments = std::move(arguments), self(); }
  MetricBuilder&& reads(MetricReads what) { return type_->reads = what, self(); }
  MetricBuilder&& larger_is_better() { return type_->better = Direction::kLarger, self(); }
  MetricBuilder&& smaller_is_better() { return type_->better = Direction::kSmaller, self(); }
  /// Of a sample with one position its value is 0 or 1.
  MetricBuilder&& share() {
    type_->is_share = [](const MetricSubject& subject) { return subject.positions() == 1; };
    return self();
  }
  /// Of a sample with one value.
  MetricBuilder&& share_of_single_values() {
    type_->is_share = [](const MetricSubject& subject) { return subject.output.elements() == 1; };
    return self();
  }
  MetricBuilder&& state(std::size_t (*f)(const Spec&, const MetricSubject&)) {
    return type_->state = untyped(f), self();
  }
  MetricBuilder&& value(double (*f)(const Spec&, const MetricSums&)) {
    type_->values = [f](const void* s, const MetricSums& sums) {
      return std::vector<double>{f(*static_cast<const Spec*>(s), sums)};
    };
    type_->heeds_mask = false;
    return self();
  }
  /// More than one value: how many, and which.
  MetricBuilder&& values(std::size_t (*count)(const Spec&, const MetricSubject&),
                         std::vector<double> (*f)(const Spec&, const MetricSums&)) {
    type_->value_count = untyped(count);
    type_->values = untyped(f);
    type_->heeds_mask = false;
    return self();
  }
  MetricBuilder&& fits(std::string (*f)(const MetricSubject&)) {
    type_->misfit = [f](const void*, const MetricSubject& subject) { return f(subject); };
    return self();
  }
  MetricBuilder&& fits(std::string (*f)(const Spec&, const MetricSubject&)) {
    return type_->misfit = untyped(f), self();
  }
};

template <class Spec>
MetricBuilder<Spec> metric(std::string name, std::vector<std::string> aliases) {
  return MetricBuilder<Spec>(std::move(name), std::move(aliases));
}

using RegisteredMetric = config::Registration<metric_family>;

}  // namespace dptrain::nn
