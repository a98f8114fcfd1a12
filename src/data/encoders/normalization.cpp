#include "data/encoders/normalization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "data/encoders/encoder_def.h"
#include "data/encoders/number_sums.h"

namespace dptrain::data {
namespace {

class ColumnNormalization final : public NumberEncoder {
 public:
  ColumnNormalization(double mean, double variance, std::optional<double> fill)
      : mean_(mean), variance_(variance), deviation_(std::max(std::sqrt(variance), kKerasEpsilon)), fill_(fill) {}

  static std::unique_ptr<const Encoder> learn(const ColumnNormalizationSpec& spec, const TrainingColumn& column) {
    NumberSums sums = sums_of(column);
    const std::optional<double> fill = fill_of(spec.missing, column, sums);
    if (fill) sums = filled(sums, *fill);
    return std::make_unique<ColumnNormalization>(spec.mean.value_or(sums.mean), spec.variance.value_or(sums.variance),
                                                 fill);
  }
  static std::unique_ptr<const Encoder> restore(const ColumnNormalizationSpec&, const nlohmann::json& learned) {
    std::optional<double> fill;
    if (learned.contains("missing")) fill = learned.at("missing").get<double>();
    return std::make_unique<ColumnNormalization>(learned.at("mean").get<double>(), learned.at("variance").get<double>(),
                                                 fill);
  }

  table::ColumnType reads() const override { return table::ColumnType::kNumber; }
  std::int64_t floats() const override { return 1; }
  void encode(double number, float* out) const override {
    number = present(number, fill_);
    *out = static_cast<float>((number - mean_) / deviation_);
  }
  std::optional<LinearMap> linear() const override {
    return LinearMap{mean_, deviation_, fill_.value_or(std::numeric_limits<double>::quiet_NaN())};
  }
  std::optional<exporting::PreparedColumn> prepared(const std::string& column) const override {
    return exporting::PreparedColumn{column, exporting::NormalizeNumber{mean_, deviation_}, fill_};
  }
  std::string describe() const override {
    return fmt::format("normalised: mean {:.6g}, deviation {:.6g}", mean_, std::sqrt(variance_));
  }
  nlohmann::json learned() const override {
    nlohmann::json learned{{"mean", mean_}, {"variance", variance_}};
    if (fill_) learned["missing"] = *fill_;
    return learned;
  }

 private:
  double mean_, variance_, deviation_;
  std::optional<double> fill_;
};

const RegisteredEncoder kNormalization = encoder_def<ColumnNormalizationSpec, ColumnNormalization>(
    table::ColumnType::kNumber,
    config::Schema::of<ColumnNormalizationSpec>("Normalization")
        .key(key("mean", &ColumnNormalizationSpec::mean)
                 .doc("mean of the column, in place of that of the training rows"))
        .key(key("variance", &ColumnNormalizationSpec::variance)
                 .at_least(0)
                 .doc("variance of the column, in place of that of the training rows"))
        .key(key("missing", &ColumnNormalizationSpec::missing).doc("value for an empty cell")));

}  // namespace
}  // namespace dptrain::data
