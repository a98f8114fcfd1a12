#include "data/encoders/numeric_encoders.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/encoders/encoder_def.h"

namespace dptrain::data {
namespace {

double most_frequent(const TrainingColumn& column) {
  std::map<double, std::int64_t> counts;
  column.numbers([&](std::span<const double> block) {
    for (const double number : block)
      if (!std::isnan(number)) ++counts[number];
  });
  const auto most = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
  return most == counts.end() ? 0 : most->first;
}

/// Statistics of the numbers that are present: TrainingColumn::sums() if available, else computed in one pass.
NumberSums sums_of(const TrainingColumn& column) {
  if (const auto known = column.sums()) return *known;
  NumberSums sums;
  double sum = 0, squares = 0, shift = 0;
  column.numbers([&](std::span<const double> block) {
    for (const double number : block) {
      if (std::isnan(number)) {
        ++sums.missing;
        continue;
      }
      if (sums.present++ == 0) shift = number;  // avoids cancellation in the variance of large numbers
      const double distance = number - shift;
      sum += distance;
      squares += distance * distance;
    }
  });
  if (sums.present == 0) return sums;
  const auto count = static_cast<double>(sums.present);
  sums.mean = shift + sum / count;
  sums.variance = std::max(0.0, squares / count - (sum / count) * (sum / count));
  return sums;
}

/// Statistics after `fill` replaces each missing number.
NumberSums filled(const NumberSums& sums, double fill) {
  if (sums.missing == 0) return sums;
  const auto present = static_cast<double>(sums.present), missing = static_cast<double>(sums.missing);
  const double all = present + missing, mean = (present * sums.mean + missing * fill) / all;
  const auto square = [](double x) { return x * x; };
  return {.present = sums.present,
          .missing = sums.missing,
          .mean = mean,
          .variance = (present * (sums.variance + square(sums.mean - mean)) + missing * square(fill - mean)) / all};
}

/// Replacement of a missing number; nullopt if the rule rejects empty cells. `sums`: statistics of the column.
std::optional<double> fill_of(const MissingNumberRule& rule, const TrainingColumn& column, const NumberSums& sums) {
  if (rule.number) return rule.number;
  switch (rule.rule) {
    case MissingNumber::kMean: return sums.mean;
    case MissingNumber::kMostFrequent: return most_frequent(column);
    case MissingNumber::kError: break;
  }
  return std::nullopt;
}

/// `number`, or `fill` if it is NaN. Throws Error{kData} for NaN without `fill`.
double present(double number, const std::optional<double>& fill) {
  if (!std::isnan(number)) return number;
  if (!fill) throw Error(ErrorKind::kData, "a number is missing, which is an error with `missing: error`");
  return *fill;
}

// The replacement of missing numbers in an encoder's fitted state, if it has one.

std::optional<double> fill_in(const nlohmann::json& fitted_state) {
  return fitted_state.contains("missing") ? std::optional(fitted_state.at("missing").get<double>()) : std::nullopt;
}
nlohmann::json with_fill(nlohmann::json fitted_state, const std::optional<double>& fill) {
  if (fill) fitted_state["missing"] = *fill;
  return fitted_state;
}

class ColumnNormalization final : public NumberEncoder {
 public:
  ColumnNormalization(double mean, double variance, std::optional<double> fill)
      : mean_(mean), variance_(variance), deviation_(std::max(std::sqrt(variance), kKerasEpsilon)), fill_(fill) {}

  static std::unique_ptr<const Encoder> fit(const ColumnNormalizationSpec& spec, const TrainingColumn& column) {
    NumberSums sums = sums_of(column);
    const std::optional<double> fill = fill_of(spec.missing, column, sums);
    if (fill) sums = filled(sums, *fill);
    return std::make_unique<ColumnNormalization>(spec.mean.value_or(sums.mean), spec.variance.value_or(sums.variance),
                                                 fill);
  }
  static std::unique_ptr<const Encoder> restore(const ColumnNormalizationSpec&, const nlohmann::json& fitted_state) {
    return std::make_unique<ColumnNormalization>(fitted_state.at("mean").get<double>(),
                                                 fitted_state.at("variance").get<double>(), fill_in(fitted_state));
  }

  std::int64_t floats() const override { return 1; }
  void encode(double number, float* out) const override {
    number = present(number, fill_);
    *out = static_cast<float>((number - mean_) / deviation_);
  }
  std::optional<LinearMap> linear() const override {
    return LinearMap{mean_, deviation_, fill_.value_or(std::numeric_limits<double>::quiet_NaN())};
  }
  std::optional<formats::PreparedColumn> prepared(const std::string& column) const override {
    return formats::PreparedColumn{column, formats::NormalizeNumber{mean_, deviation_}, fill_};
  }
  std::string describe() const override {
    return fmt::format("normalised: mean {:.6g}, deviation {:.6g}", mean_, std::sqrt(variance_));
  }
  nlohmann::json fitted_state() const override { return with_fill({{"mean", mean_}, {"variance", variance_}}, fill_); }

 private:
  double mean_, variance_, deviation_;
  std::optional<double> fill_;
};

const RegisteredEncoder kNormalization = encoder_def<ColumnNormalizationSpec, ColumnNormalization>(
    table::ColumnType::kNumber,
    config::Schema::of<ColumnNormalizationSpec>("Normalization")
        .doc("number x -> `(x - mean) / max(sqrt(variance), 1e-7)`; the default for columns of numbers")
        .key(key("mean", &ColumnNormalizationSpec::mean).doc("mean of the column; default: that of the training rows"))
        .key(key("variance", &ColumnNormalizationSpec::variance)
                 .at_least(0)
                 .doc("variance of the column; default: that of the training rows"))
        .key(key("missing", &ColumnNormalizationSpec::missing)
                 .doc("value of an empty cell; error: an empty cell is an error")));

class ColumnRescaling final : public NumberEncoder {
 public:
  ColumnRescaling(const ColumnRescalingSpec& spec, std::optional<double> fill) : spec_(spec), fill_(fill) {}
  static std::unique_ptr<const Encoder> fit(const ColumnRescalingSpec& spec, const TrainingColumn& column) {
    return std::make_unique<ColumnRescaling>(spec, fill_of(spec.missing, column, sums_of(column)));
  }
  static std::unique_ptr<const Encoder> restore(const ColumnRescalingSpec& spec, const nlohmann::json& fitted_state) {
    return std::make_unique<ColumnRescaling>(spec, fill_in(fitted_state));
  }

  std::int64_t floats() const override { return 1; }
  void encode(double number, float* out) const override {
    number = present(number, fill_);
    // In floats, as in Keras.
    *out = static_cast<float>(number) * static_cast<float>(spec_.scale) + static_cast<float>(spec_.offset);
  }
  std::optional<formats::PreparedColumn> prepared(const std::string& column) const override {
    const formats::RescaleNumber map{static_cast<float>(spec_.scale), static_cast<float>(spec_.offset)};
    return formats::PreparedColumn{column, map, fill_};
  }
  std::string describe() const override {
    return fmt::format("times {}, plus {}", shortest(spec_.scale), shortest(spec_.offset));
  }
  nlohmann::json fitted_state() const override { return with_fill(nlohmann::json::object(), fill_); }

 private:
  ColumnRescalingSpec spec_;
  std::optional<double> fill_;
};

const RegisteredEncoder kColumnRescaling = encoder_def<ColumnRescalingSpec, ColumnRescaling>(
    table::ColumnType::kNumber,
    config::Schema::of<ColumnRescalingSpec>("Rescaling")
        .doc("number x -> `x * scale + offset`")
        .positional(key("scale", &ColumnRescalingSpec::scale).required().doc("factor of the number"))
        .key(key("offset", &ColumnRescalingSpec::offset).doc("added after the scaling"))
        .key(key("missing", &ColumnRescalingSpec::missing)
                 .doc("value of an empty cell; error: an empty cell is an error")));

/// Keras's summary of a column: sorted values, and the number of rows that each represents. In floats, as in Keras.
struct Summary {
  std::vector<float> values, weights;
};

Summary summary_of(std::vector<float> values, double epsilon) {
  std::ranges::sort(values);
  const double step = std::max(static_cast<double>(values.size()) / (1.0 / epsilon), 1.0);
  Summary summary;
  for (auto i = static_cast<std::size_t>(step - 1); i < values.size(); i += static_cast<std::size_t>(step)) {
    summary.values.push_back(values[i]);
    summary.weights.push_back(static_cast<float>(step));
  }
  return summary;
}

/// numpy.interp.
double interpolated(double x, const std::vector<float>& xs, const std::vector<float>& ys) {
  const auto above = std::ranges::upper_bound(xs, x, {}, [](float v) { return static_cast<double>(v); });
  if (above == xs.begin()) return static_cast<double>(ys.front());
  const auto at = static_cast<std::size_t>(above - xs.begin()) - 1;
  const double left = static_cast<double>(xs[at]), low = static_cast<double>(ys[at]);
  if (above == xs.end() || left == x) return low;
  const double slope = (static_cast<double>(ys[at + 1]) - low) / (static_cast<double>(xs[at + 1]) - left);
  return slope * (x - left) + low;
}

Summary compressed(const Summary& summary, double epsilon) {
  if (static_cast<double>(summary.values.size()) * epsilon < 1) return summary;
  std::vector<float> sums, parts;
  float sum = 0;
  for (const float weight : summary.weights) sums.push_back(sum += weight);
  for (const float s : sums) parts.push_back(s / sum);
  Summary result;
  double before = 0;
  const auto count = static_cast<std::int64_t>(std::ceil(1.0 / epsilon));
  for (std::int64_t i = 0; i < count; ++i) {
    const double percent = epsilon + static_cast<double>(i) * epsilon;
    const double reached = interpolated(percent, parts, sums);
    result.values.push_back(static_cast<float>(interpolated(percent, parts, summary.values)));
    result.weights.push_back(static_cast<float>(reached - before));
    before = reached;
  }
  return result;
}

class Discretization final : public NumberEncoder {
 public:
  Discretization(std::vector<float> boundaries, std::optional<double> fill)
      : boundaries_(std::move(boundaries)), fill_(fill) {}

  static std::unique_ptr<const Encoder> fit(const DiscretizationSpec& spec, const TrainingColumn& column) {
    const std::optional<double> fill = fill_of(spec.missing, column, sums_of(column));
    if (!spec.num_bins)
      return std::make_unique<Discretization>(
          std::vector<float>(spec.bin_boundaries.begin(), spec.bin_boundaries.end()), fill);
    std::vector<float> values;
    column.numbers([&](std::span<const double> block) {
      for (const double number : block)
        if (!std::isnan(number))
          values.push_back(static_cast<float>(number));
        else if (fill)
          values.push_back(static_cast<float>(*fill));
    });
    if (values.empty()) throw Error(ErrorKind::kData, "there are no numbers to fit the bins to");
    // Keras merges the summary of its one batch with an empty one, which compresses it.
    Summary summary = compressed(summary_of(std::move(values), spec.epsilon), spec.epsilon);
    summary = compressed(summary, 1.0 / static_cast<double>(*spec.num_bins));
    if (!summary.values.empty()) summary.values.pop_back();
    return std::make_unique<Discretization>(std::move(summary.values), fill);
  }
  static std::unique_ptr<const Encoder> restore(const DiscretizationSpec&, const nlohmann::json& fitted_state) {
    return std::make_unique<Discretization>(fitted_state.at("bin_boundaries").get<std::vector<float>>(),
                                            fill_in(fitted_state));
  }

  std::int64_t floats() const override { return static_cast<std::int64_t>(boundaries_.size()) + 1; }
  std::int64_t ids() const override { return 1; }
  std::int64_t id_limit() const override { return floats(); }
  void encode(double number, float* out) const override {
    std::fill_n(out, floats(), 0.0F);
    out[bin(number)] = 1;
  }
  void encode_ids(double number, std::int32_t* out) const override { *out = static_cast<std::int32_t>(bin(number)); }
  std::optional<formats::PreparedColumn> prepared(const std::string& column) const override {
    return formats::PreparedColumn{column, formats::FindBin{boundaries_}, fill_};
  }
  std::string describe() const override { return fmt::format("{} bins", floats()); }
  nlohmann::json fitted_state() const override { return with_fill({{"bin_boundaries", boundaries_}}, fill_); }

 private:
  std::ptrdiff_t bin(double number) const {
    number = present(number, fill_);
    return std::ranges::upper_bound(boundaries_, static_cast<float>(number)) - boundaries_.begin();
  }

  std::vector<float> boundaries_;
  std::optional<double> fill_;
};

std::string check_discretization(const DiscretizationSpec& spec) {
  if (spec.num_bins.has_value() == !spec.bin_boundaries.empty()) return "give either num_bins or bin_boundaries";
  return std::ranges::is_sorted(spec.bin_boundaries) ? "" : "bin_boundaries must not decrease";
}

const RegisteredEncoder kDiscretization = encoder_def<DiscretizationSpec, Discretization>(
    table::ColumnType::kNumber,
    config::Schema::of<DiscretizationSpec>("Discretization")
        .doc("number -> one-hot vector of its range of numbers, or the index of that range for an Input of `dtype: "
             "int32`")
        .key(key("bin_boundaries", &DiscretizationSpec::bin_boundaries)
                 .doc("lower bounds of all ranges but the first; or `num_bins`"))
        .key(key("num_bins", &DiscretizationSpec::num_bins)
                 .at_least(1)
                 .at_most(1'000'000)
                 .doc("number of ranges with similar counts of training rows; or `bin_boundaries`"))
        .key(key("epsilon", &DiscretizationSpec::epsilon)
                 .at_least(1e-7)
                 .at_most(1)
                 .doc("error of the boundaries that are fitted with `num_bins`, as a share of the rows"))
        .key(key("missing", &DiscretizationSpec::missing)
                 .doc("value of an empty cell; error: an empty cell is an error"))
        .rule<DiscretizationSpec>(check_discretization));

constexpr double kDay = 24 * 60, kWeek = 7 * kDay;  // minutes
constexpr double kThursday = 3 * kDay;              // 1970-01-01, in a week that begins on Monday

/// Elapsed fraction of the year, 0 to 1.
double part_of_year(double minutes) {
  using namespace std::chrono;
  const auto day = sys_days(days(static_cast<std::int64_t>(std::floor(minutes / kDay))));
  const year this_year = year_month_day(day).year();
  const sys_days first = this_year / January / 1, next = (this_year + years(1)) / January / 1;
  const double since = minutes - static_cast<double>(first.time_since_epoch().count()) * kDay;
  return since / (static_cast<double>((next - first).count()) * kDay);
}

double part_of(double minutes, double cycle) { return minutes / cycle - std::floor(minutes / cycle); }

float* put_circle(double part, float* out) {
  const double angle = 2 * std::numbers::pi * part;
  *out++ = static_cast<float>(std::sin(angle));
  *out++ = static_cast<float>(std::cos(angle));
  return out;
}

class Date final : public NumberEncoder {
 public:
  Date(double mean, double variance, bool has_times) : mean_(mean), variance_(variance), has_times_(has_times) {}

  static std::unique_ptr<const Encoder> fit(const DateSpec&, const TrainingColumn& column) {
    const NumberSums sums = sums_of(column);
    bool has_times = false;
    column.numbers([&](std::span<const double> block) {
      has_times = has_times || std::ranges::any_of(block, [](double minutes) {
                    return !std::isnan(minutes) && std::fmod(minutes, kDay) != 0;
                  });
    });
    return std::make_unique<Date>(sums.mean, sums.variance, has_times);
  }
  static std::unique_ptr<const Encoder> restore(const DateSpec&, const nlohmann::json& fitted_state) {
    return std::make_unique<Date>(fitted_state.at("mean").get<double>(), fitted_state.at("variance").get<double>(),
                                  fitted_state.at("times").get<bool>());
  }

  table::ColumnType reads() const override { return table::ColumnType::kDate; }
  std::int64_t floats() const override { return has_times_ ? 7 : 5; }
  /// A missing date is zeros: the mean, and the center of every circle.
  void encode(double minutes, float* out) const override {
    if (std::isnan(minutes)) {
      std::fill_n(out, floats(), 0.0F);
      return;
    }
    *out++ = static_cast<float>((minutes - mean_) / std::max(std::sqrt(variance_), kKerasEpsilon));
    out = put_circle(part_of_year(minutes), out);
    out = put_circle(part_of(minutes + kThursday, kWeek), out);
    if (has_times_) put_circle(part_of(minutes, kDay), out);
  }
  std::string describe() const override {
    return fmt::format("days normalised (deviation {:.6g} days), year and week{} as sine and cosine",
                       std::sqrt(variance_) / kDay, has_times_ ? " and day" : "");
  }
  nlohmann::json fitted_state() const override {
    return {{"mean", mean_}, {"variance", variance_}, {"times", has_times_}};
  }

 private:
  double mean_, variance_;
  bool has_times_;
};

const RegisteredEncoder kDate = encoder_def<DateSpec, Date>(
    table::ColumnType::kDate,
    config::Schema::of<DateSpec>("Date").doc(
        "date -> days, normalized over the training rows, then sine and cosine of the year, the week and, if the "
        "training rows have times, the day; the default for columns of dates"));

}  // namespace
}  // namespace dptrain::data
