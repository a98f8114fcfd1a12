#include "nn/counting_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/format.h"
#include "core/quantity.h"

namespace dptrain::nn {
namespace {

constexpr double kEpsilon = 1e-7;  // keras.backend.epsilon()

// The state of metrics that count predictions above thresholds is [groups][label is zero, is not][buckets]. The bucket
// of a prediction is the number of thresholds that it exceeds, 0..T. True and false positives and negatives at every
// threshold follow exactly from the buckets, for any batches and replicas.

/// The counts at one threshold.
struct Confusion {
  double true_positives = 0, false_positives = 0, true_negatives = 0, false_negatives = 0;
};

std::size_t threshold_state(std::size_t groups, std::size_t thresholds) { return groups * 2 * (thresholds + 1); }

/// The counts of one group at every threshold, in ascending order.
std::vector<Confusion> confusions(std::span<const double> group) {
  const std::size_t buckets = group.size() / 2;
  std::vector<Confusion> all(buckets - 1);
  double negatives = 0, positives = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    negatives += group[i];
    positives += group[buckets + i];
    all[i].true_negatives = negatives;
    all[i].false_negatives = positives;
  }
  negatives = positives = 0;
  for (std::size_t i = all.size(); i > 0; --i) {
    negatives += group[i];
    positives += group[buckets + i];
    all[i - 1].false_positives = negatives;
    all[i - 1].true_positives = positives;
  }
  return all;
}

/// Keras's divide_no_nan: 0 if the divisor is 0.
double share_of(double part, double whole) { return whole == 0 ? 0 : part / whole; }

std::string thresholds_in_range(const std::vector<double>& thresholds) {
  for (const double threshold : thresholds)
    if (!(threshold >= 0 && threshold <= 1)) return fmt::format("must be in [0, 1], found {}", threshold);
  return "";
}

template <class Spec>
std::string counts_mismatch(const Spec& spec, const MetricSubject& subject) {
  if (spec.top_k && *spec.top_k > subject.classes())
    return fmt::format("top_k = {} of an output of {} values; give a smaller one", *spec.top_k, subject.classes());
  if (spec.class_id && *spec.class_id >= subject.classes())
    return fmt::format("class_id = {} of an output of {} values, counted from 0", *spec.class_id, subject.classes());
  return "";
}

/// value(confusion) at each threshold, in the order in which they were given.
template <class Spec, double (*value)(const Confusion&)>
std::vector<double> counts_values(const Spec& spec, const MetricSums& sums) {
  const std::vector<double> sorted = spec.ascending();
  const std::vector<Confusion> all = confusions(sums.state);
  std::vector<double> values;
  for (const double threshold : spec.effective())
    values.push_back(
        value(all[static_cast<std::size_t>(std::ranges::lower_bound(sorted, threshold) - sorted.begin())]));
  return values;
}

template <class Spec, double (*value)(const Confusion&)>
MetricBuilder<Spec> counted_above(const char* name, const char* alias) {
  return metric<Spec>(name, {alias})
      .key(key("thresholds", &ThresholdMetricSpec::thresholds)
               .check(thresholds_in_range)
               .doc("larger predictions are positive; one value for each threshold; default: 0.5, with `top_k` no "
                    "threshold"))
      .key(key("top_k", &ThresholdMetricSpec::top_k)
               .at_least(1)
               .doc("only the k largest values of a row can be positive"))
      .key(key("class_id", &ThresholdMetricSpec::class_id).at_least(0).doc("the only class that counts"))
      .reads(MetricReads::kThreshold)
      .larger_is_better()
      .fits(counts_mismatch<Spec>)
      .state([](const Spec& spec, const MetricSubject&) { return threshold_state(1, spec.effective().size()); })
      .values([](const Spec& spec, const MetricSubject&) { return spec.effective().size(); },
              counts_values<Spec, value>);
}

double precision_at(const Confusion& c) { return share_of(c.true_positives, c.true_positives + c.false_positives); }
double recall_at(const Confusion& c) { return share_of(c.true_positives, c.true_positives + c.false_negatives); }

const RegisteredMetric kPrecision =
    counted_above<PrecisionSpec, precision_at>("Precision", "precision").doc("true positives / predicted positives");
const RegisteredMetric kRecall =
    counted_above<RecallSpec, recall_at>("Recall", "recall").doc("true positives / positive labels");

std::string auc_mismatch(const AUCSpec& spec, const MetricSubject& subject) {
  if (spec.by_class() && subject.output.rank() != 1) return "counts classes one by one and " + has_one_row(subject);
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

/// Davis and Goadrich 2006, section 4, as in Keras: between thresholds true and predicted positives are linear.
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
    const bool roc = spec.curve == Curve::kRoc;
    x.push_back(roc ? share_of(c.false_positives, c.false_positives + c.true_negatives) : recall_at(c));
    y.push_back(roc ? recall_at(c) : precision_at(c));
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

const RegisteredMetric kAuc =
    metric<AUCSpec>("AUC", {"auc"})
        .doc("area under the curve; with `multi_label` the mean over the classes")
        .key(key("num_thresholds", &AUCSpec::num_thresholds)
                 .between(2, 100000)
                 .doc("number of evenly spaced thresholds"))
        .key(key("curve", &AUCSpec::curve).doc("ROC, or PR: precision over recall"))
        .key(key("summation_method", &AUCSpec::summation_method)
                 .doc("height between two thresholds: interpolation, minoring or majoring"))
        .key(key("thresholds", &AUCSpec::thresholds)
                 .check(thresholds_in_range)
                 .doc("thresholds of the curve, in place of num_thresholds"))
        .key(key("multi_label", &AUCSpec::multi_label).doc("whether each class has a curve; the areas are averaged"))
        .key(key("num_labels", &AUCSpec::num_labels).at_least(1).doc("number of classes, with multi_label"))
        .key(key("label_weights", &AUCSpec::label_weights).at_least(0).doc("weights of the classes"))
        .key(key("from_logits", &AUCSpec::from_logits)
                 .doc("whether the model outputs logits: the metric applies a sigmoid"))
        .reads(MetricReads::kValues)
        .larger_is_better()
        .fits(auc_mismatch)
        .state(auc_state)
        .value(auc_value);

// F1Score. One threshold per class: bucket 1 counts the positive predictions.

std::size_t f1_state(const F1ScoreSpec&, const MetricSubject& subject) {
  return threshold_state(static_cast<std::size_t>(subject.classes()), 1);
}

std::size_t f1_count(const F1ScoreSpec& spec, const MetricSubject& subject) {
  return spec.average ? 1 : static_cast<std::size_t>(subject.classes());
}

double f1_of(const Confusion& c) {
  const double precision = c.true_positives / (c.true_positives + c.false_positives + kEpsilon);
  const double recall = c.true_positives / (c.true_positives + c.false_negatives + kEpsilon);
  return 2 * (precision * recall / (precision + recall + kEpsilon));
}

std::vector<double> f1_values(const F1ScoreSpec& spec, const MetricSums& sums) {
  const std::size_t group = threshold_state(1, 1);
  std::vector<double> scores, positives;
  Confusion all;
  for (std::size_t at = 0; at < sums.state.size(); at += group) {
    const Confusion c = confusions(sums.state.subspan(at, group)).front();
    scores.push_back(f1_of(c));
    positives.push_back(c.true_positives + c.false_negatives);
    all.true_positives += c.true_positives;
    all.false_positives += c.false_positives;
    all.false_negatives += c.false_negatives;
  }
  if (!spec.average) return scores;
  if (*spec.average == ClassAverage::kMicro) return {f1_of(all)};
  if (*spec.average == ClassAverage::kMacro)
    return {std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size())};
  const double whole = std::accumulate(positives.begin(), positives.end(), 0.0) + kEpsilon;
  return {std::inner_product(scores.begin(), scores.end(), positives.begin(), 0.0) / whole};
}

const RegisteredMetric kF1Score =
    metric<F1ScoreSpec>("F1Score", {"f1_score"})
        .doc("harmonic mean of precision and recall")
        .key(key("average", &F1ScoreSpec::average).doc("null (a value per class), micro, macro or weighted"))
        .key(key("threshold", &F1ScoreSpec::threshold)
                 .above(0)
                 .at_most(1)
                 .doc("larger predictions are positive; none: the largest of a row is"))
        .reads(MetricReads::kValues)
        .larger_is_better()
        .fits(has_one_row)
        .state(f1_state)
        .values(f1_count, f1_values);

// MeanIoU. The state is the table [label][prediction].

constexpr std::int64_t kMaxIoUClasses = 256;  // a table of this size is 512 KiB in every step's sums

std::string mean_io_u_mismatch(const MeanIoUSpec& spec, const MetricSubject& subject) {
  if (subject.classes() < 2)
    return fmt::format("compares the largest of a row's values, but output {} has one", subject.name);
  if (spec.num_classes < subject.classes())
    return fmt::format("num_classes is {}, but output {} has {}", spec.num_classes, subject.name, subject.classes());
  return "";
}

std::size_t mean_io_u_state(const MeanIoUSpec& spec, const MetricSubject&) {
  return static_cast<std::size_t>(spec.num_classes * spec.num_classes);
}

double mean_io_u_value(const MeanIoUSpec& spec, const MetricSums& sums) {
  const auto classes = static_cast<std::size_t>(spec.num_classes);
  double sum = 0, occurring = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    double labels = 0, predictions = 0;
    for (std::size_t other = 0; other < classes; ++other) {
      labels += sums.state[c * classes + other];
      predictions += sums.state[other * classes + c];
    }
    const double both = sums.state[c * classes + c], either = labels + predictions - both;
    if (either <= 0) continue;
    sum += both / (either + kEpsilon);
    occurring += 1;
  }
  return sum / (occurring + kEpsilon);
}

const RegisteredMetric kMeanIoU =
    metric<MeanIoUSpec>("MeanIoU", {"mean_io_u"})
        .doc("intersection over union, mean over the classes")
        .key(key("num_classes", &MeanIoUSpec::num_classes)
                 .required()
                 .between(2, kMaxIoUClasses)
                 .doc("number of classes"))
        .key(key("ignore_class", &MeanIoUSpec::ignore_class).doc("label of the rows that do not count"))
        .example("num_classes: 4")
        .reads(MetricReads::kOrder)
        .larger_is_better()
        .fits(mean_io_u_mismatch)
        .state(mean_io_u_state)
        .value(mean_io_u_value);

}  // namespace

std::vector<double> ThresholdMetricSpec::effective() const {
  constexpr double kBelowAll = -1e10;  // Keras's NEG_INF
  if (!thresholds.empty()) return thresholds;
  return {top_k ? kBelowAll : 0.5};
}

std::vector<double> ThresholdMetricSpec::ascending() const {
  std::vector<double> all = effective();
  std::ranges::sort(all);
  return all;
}

std::vector<double> AUCSpec::all_thresholds() const {
  std::vector<double> all = thresholds;
  if (all.empty())
    for (std::int64_t i = 1; i + 1 < num_thresholds; ++i)
      all.push_back(static_cast<double>(i) / static_cast<double>(num_thresholds - 1));
  std::ranges::sort(all);
  all.insert(all.begin(), -kEpsilon);
  all.push_back(1 + kEpsilon);
  return all;
}

bool AUCSpec::evenly_spaced() const {
  const std::vector<double> all = all_thresholds();
  if (all.size() < 3) return thresholds.empty();
  constexpr double kRelative = 1e-5;  // numpy.allclose's rtol, in addition to Keras's atol
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double even = static_cast<double>(i) / static_cast<double>(all.size() - 1);
    if (std::abs(std::clamp(all[i], 0.0, 1.0) - even) > kEpsilon + kRelative * even) return false;
  }
  return true;
}

}  // namespace dptrain::nn
