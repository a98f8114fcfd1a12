#include "nn/metrics/auc.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/quantity.h"
#include "nn/metrics/threshold_counts.h"

namespace dptrain::nn {
namespace {

constexpr double kAucEpsilon = 1e-7;  // keras.backend.epsilon()

std::string auc_fits(const AUCSpec& spec, const MetricSubject& subject) {
  if (spec.by_class() && subject.output.rank() != 1)
    return fmt::format("counts classes one by one and needs one row of values per sample, but output {} is {}",
                       subject.name, subject.output.str());
  if (spec.num_labels && !spec.multi_label) return "num_labels is for multi_label: true";
  if (spec.num_labels && *spec.num_labels != subject.classes())
    return fmt::format("num_labels is {}, but output {} has {}", *spec.num_labels, subject.name,
                       counted(subject.classes(), "value"));
  const std::size_t weights = spec.label_weights.size();
  if (weights != 0 && weights != static_cast<std::size_t>(subject.classes()))
    return fmt::format("{} label_weights for an output of {}", weights, counted(subject.classes(), "value"));
  return "";
}

std::size_t auc_state(const AUCSpec& spec, const MetricSubject& subject) {
  return threshold_state(spec.by_class() ? static_cast<std::size_t>(subject.classes()) : 1,
                         spec.all_thresholds().size());
}

/// Davis and Goadrich 2006, section 4, as Keras has it: between thresholds true and predicted positives are linear.
double interpolated_precision_recall(const std::vector<Confusion>& at) {
  double area = 0;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    const double here = at[i].true_positives + at[i].false_positives;
    const double next = at[i + 1].true_positives + at[i + 1].false_positives;
    const double step = at[i].true_positives - at[i + 1].true_positives;
    const double slope = share_of(step, std::max(here - next, 0.0));
    const double intercept = at[i + 1].true_positives - slope * next;
    const double ratio = here > 0 && next > 0 ? here / next : 1;
    area +=
        share_of(slope * (step + intercept * std::log(ratio)), at[i + 1].true_positives + at[i + 1].false_negatives);
  }
  return area;
}

double area_under(const AUCSpec& spec, const std::vector<Confusion>& at) {
  if (spec.curve == Curve::kPr && spec.summation_method == Summation::kInterpolation)
    return interpolated_precision_recall(at);
  std::vector<double> x, y;
  for (const Confusion& c : at) {
    const double recall = share_of(c.true_positives, c.true_positives + c.false_negatives);
    const bool roc = spec.curve == Curve::kRoc;
    x.push_back(roc ? share_of(c.false_positives, c.false_positives + c.true_negatives) : recall);
    y.push_back(roc ? recall : share_of(c.true_positives, c.true_positives + c.false_positives));
  }
  double area = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    double height = (y[i] + y[i + 1]) / 2;
    if (spec.summation_method == Summation::kMinoring) height = std::min(y[i], y[i + 1]);
    if (spec.summation_method == Summation::kMajoring) height = std::max(y[i], y[i + 1]);
    area += (x[i] - x[i + 1]) * height;
  }
  return area;
}

double auc_value(const AUCSpec& spec, const MetricSums& sums) {
  const std::size_t group = threshold_state(1, spec.all_thresholds().size()), classes = sums.state.size() / group;
  std::vector<double> weights = spec.label_weights;
  if (weights.empty()) weights.assign(classes, 1.0);
  if (!spec.multi_label) {
    std::vector<double> whole(group, 0.0);
    for (std::size_t i = 0; i < sums.state.size(); ++i) whole[i % group] += weights[i / group] * sums.state[i];
    return area_under(spec, confusions(whole));
  }
  double area = 0;
  for (std::size_t c = 0; c < classes; ++c)
    area += weights[c] * area_under(spec, confusions(sums.state.subspan(c * group, group)));
  return share_of(area, std::accumulate(weights.begin(), weights.end(), 0.0));
}

const RegisteredMetric kAuc = metric<AUCSpec>("AUC", {"auc"})
                                  .key(key("num_thresholds", &AUCSpec::num_thresholds).at_least(2).at_most(100000))
                                  .key(key("curve", &AUCSpec::curve))
                                  .key(key("summation_method", &AUCSpec::summation_method))
                                  .key(key("thresholds", &AUCSpec::thresholds).check(thresholds_in_range))
                                  .key(key("multi_label", &AUCSpec::multi_label))
                                  .key(key("num_labels", &AUCSpec::num_labels).at_least(1))
                                  .key(key("label_weights", &AUCSpec::label_weights).at_least(0))
                                  .key(key("from_logits", &AUCSpec::from_logits))
                                  .reads(MetricReads::kValues)
                                  .larger_is_better()
                                  .fits(auc_fits)
                                  .state(auc_state)
                                  .value(auc_value);

}  // namespace

std::vector<double> AUCSpec::all_thresholds() const {
  std::vector<double> all = thresholds;
  if (all.empty())
    for (std::int64_t i = 1; i + 1 < num_thresholds; ++i)
      all.push_back(static_cast<double>(i) / static_cast<double>(num_thresholds - 1));
  std::ranges::sort(all);
  all.insert(all.begin(), -kAucEpsilon);
  all.push_back(1 + kAucEpsilon);
  return all;
}

bool AUCSpec::evenly_spaced() const {
  const std::vector<double> all = all_thresholds();
  if (all.size() < 3) return thresholds.empty();
  constexpr double kRelative = 1e-5;  // numpy.allclose's rtol beside Keras's atol
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double even = static_cast<double>(i) / static_cast<double>(all.size() - 1);
    if (std::abs(std::clamp(all[i], 0.0, 1.0) - even) > kAucEpsilon + kRelative * even) return false;
  }
  return true;
}

}  // namespace dptrain::nn
