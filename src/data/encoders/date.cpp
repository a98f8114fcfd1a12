#include "data/encoders/date.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "data/encoders/encoder_def.h"
#include "data/encoders/numeric.h"

namespace dptrain::data {
namespace {

constexpr double kDay = 24 * 60, kWeek = 7 * kDay;  // minutes
constexpr double kThursday = 3 * kDay;              // 1970-01-01, in a week that begins on Monday

/// The part of its year that has gone by, from 0 to 1.
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

  static std::unique_ptr<const Encoder> learn(const DateSpec&, const TrainingColumn& column) {
    const NumberSums sums = sums_of(column);
    bool has_times = false;
    column.numbers([&](std::span<const double> block) {
      has_times = has_times || std::ranges::any_of(block, [](double minutes) {
                    return !std::isnan(minutes) && std::fmod(minutes, kDay) != 0;
                  });
    });
    return std::make_unique<Date>(sums.mean, sums.variance, has_times);
  }
  static std::unique_ptr<const Encoder> restore(const DateSpec&, const nlohmann::json& learned) {
    return std::make_unique<Date>(learned.at("mean").get<double>(), learned.at("variance").get<double>(),
                                  learned.at("times").get<bool>());
  }

  table::ColumnType reads() const override { return table::ColumnType::kDate; }
  std::int64_t floats() const override { return has_times_ ? 7 : 5; }
  /// A missing date is none in particular: the middle of the line and of every circle.
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
    return fmt::format("days normalised (deviation {:.6g} days), year and week{} as circles",
                       std::sqrt(variance_) / kDay, has_times_ ? " and day" : "");
  }
  nlohmann::json learned() const override { return {{"mean", mean_}, {"variance", variance_}, {"times", has_times_}}; }

 private:
  double mean_, variance_;
  bool has_times_;
};

const RegisteredEncoder kDate =
    encoder_def<DateSpec, Date>(table::ColumnType::kDate, config::Schema::of<DateSpec>("Date"));

}  // namespace
}  // namespace dptrain::data
