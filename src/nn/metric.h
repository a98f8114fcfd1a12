#pragma once

// The definition of a metric: everything that does not depend on a device. nn/metrics.h and nn/counting_metrics.h have
// the specs. Their sources register each with one `metric<Spec>(...)` expression. A metric has a state of doubles,
// which is summed over samples, micro-batches, replicas and batches. Its values are computed from the state of an
// epoch, never as a mean over batches. The registry is filled before main and read-only afterwards: any thread may read
// it. The equations are in docs/reference/numerics.md.

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/type_builder.h"
#include "core/shape.h"
#include "nn/loss.h"

namespace dptrain::nn {

/// A state summed over samples. `weight` is their number or, for a metric that leaves out masked positions, the sum of
/// each sample's share of valid positions.
struct MetricSums {
  const MetricSubject& subject;
  std::span<const double> state;
  double weight = 0;
};

/// Predictions that a metric needs if the loss applies the softmax or sigmoid.
enum class MetricReads {
  kOrder,      ///< only the order of a row's values, which neither function changes
  kThreshold,  ///< only the side of each threshold; before a sigmoid the thresholds are transformed
  kValues      ///< the values after the function
};

struct MetricType final : config::TypeDef {
  MetricReads reads = MetricReads::kValues;
  /// Arguments as YAML for an output of four classes; `devices --check` uses them.
  std::string example_arguments{};
  Direction better = Direction::kUnknown;
  /// Whether the value is a mean that leaves out masked positions, as in Keras; other metrics count them.
  bool uses_mask = true;
  /// Whether the value is a share of samples, each of which counts 0 or 1.
  std::function<bool(const MetricSubject&)> is_share;
  std::function<const std::string&(const void* spec)> log_name;
  /// Number of doubles in the state.
  std::function<std::size_t(const void* spec, const MetricSubject&)> state;
  /// Number of values; 1 for most.
  std::function<std::size_t(const void* spec, const MetricSubject&)> value_count;
  std::function<std::vector<double>(const void* spec, const MetricSums&)> values;
  /// Reason why the metric does not fit ("needs one row of values per sample, but output 'x' is [4, 4]"), or "".
  std::function<std::string(const void* spec, const MetricSubject&)> mismatch;
};

const MetricType& metric_type(const config::Typed& metric);
/// Keys in logs. The labels of the subject are not used.
std::vector<std::string> value_names(const config::Typed& metric, const MetricSubject& subject);
/// Throws Error{kUsage} with the metric's location if it does not fit the output. The plan sets `offset`.
ResolvedMetric resolve_metric(const config::Typed& metric, const MetricSubject& subject);

/// Reason why a sample is not one row of values, or "".
std::string has_one_row(const MetricSubject& subject);
/// Reason why values cannot be compared with labels, or "". Labels must be rows, or numbers for an output of one value.
std::string compares_values(const MetricSubject& subject);
/// Reason why the values of a row cannot be ranked, or "". Rows must have at least two values.
std::string ranks_classes(const MetricSubject& subject);

/// The threshold on logits that corresponds to the threshold t after the sigmoid: ln(t / (1 - t)).
double before_sigmoid(double threshold);

/// Builder, one expression per metric:
///   const RegisteredMetric kMetric = metric<AUCSpec>("AUC", {"auc"}).key(...).state(...).values(...);
/// A spec has the member `name`, its key in logs. An alias is a Keras string, under which the metric is logged. Without
/// state() and value() a metric is the mean over samples of one number.
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
    type_->mismatch = [](const void*, const MetricSubject&) { return std::string(); };
    type_->is_share = [](const MetricSubject&) { return false; };
  }

  MetricBuilder&& example(std::string arguments) { return type_->example_arguments = std::move(arguments), self(); }
  MetricBuilder&& reads(MetricReads what) { return type_->reads = what, self(); }
  MetricBuilder&& larger_is_better() { return type_->better = Direction::kLarger, self(); }
  MetricBuilder&& smaller_is_better() { return type_->better = Direction::kSmaller, self(); }
  /// The value is a share of samples if a sample has one position.
  MetricBuilder&& share() {
    type_->is_share = [](const MetricSubject& subject) { return subject.positions() == 1; };
    return self();
  }
  /// The value is a share of samples if a sample has one value.
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
    type_->uses_mask = false;
    return self();
  }
  /// Several values: their number, and the values.
  MetricBuilder&& values(std::size_t (*count)(const Spec&, const MetricSubject&),
                         std::vector<double> (*f)(const Spec&, const MetricSums&)) {
    type_->value_count = untyped(count);
    type_->values = untyped(f);
    type_->uses_mask = false;
    return self();
  }
  MetricBuilder&& fits(std::string (*f)(const MetricSubject&)) {
    type_->mismatch = [f](const void*, const MetricSubject& subject) { return f(subject); };
    return self();
  }
  MetricBuilder&& fits(std::string (*f)(const Spec&, const MetricSubject&)) {
    return type_->mismatch = untyped(f), self();
  }
};

template <class Spec>
MetricBuilder<Spec> metric(std::string name, std::vector<std::string> aliases) {
  return MetricBuilder<Spec>(std::move(name), std::move(aliases));
}

using RegisteredMetric = config::Registration<metric_family>;

}  // namespace dptrain::nn
