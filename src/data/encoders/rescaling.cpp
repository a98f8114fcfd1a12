#include "data/encoders/rescaling.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/encoders/encoder_def.h"
#include "data/encoders/number_sums.h"

namespace dptrain::data {
namespace {

class ColumnRescaling final : public NumberEncoder {
 public:
  ColumnRescaling(const ColumnRescalingSpec& spec, std::optional<double> fill) : spec_(spec), fill_(fill) {}
  static std::unique_ptr<const Encoder> learn(const ColumnRescalingSpec& spec, const TrainingColumn& column) {
    return std::make_unique<ColumnRescaling>(spec, fill_of(spec.missing, column, sums_of(column)));
  }
  static std::unique_ptr<const Encoder> restore(const ColumnRescalingSpec& spec, const nlohmann::json& learned) {
    std::optional<double> fill;
    if (learned.contains("missing")) fill = learned.at("missing").get<double>();
    return std::make_unique<ColumnRescaling>(spec, fill);
  }

  table::ColumnType reads() const override { return table::ColumnType::kNumber; }
  std::int64_t floats() const override { return 1; }
  void encode(double number, float* out) const override {
    number = present(number, fill_);
    // In floats, as Keras.
    *out = static_cast<float>(number) * static_cast<float>(spec_.scale) + static_cast<float>(spec_.offset);
  }
  std::optional<exporting::PreparedColumn> prepared(const std::string& column) const override {
    const exporting::RescaleNumber map{static_cast<float>(spec_.scale), static_cast<float>(spec_.offset)};
    return exporting::PreparedColumn{column, map, fill_};
  }
  std::string describe() const override {
    return fmt::format("times {}, plus {}", shortest(spec_.scale), shortest(spec_.offset));
  }
  nlohmann::json learned() const override {
    nlohmann::json learned = nlohmann::json::object();
    if (fill_) learned["missing"] = *fill_;
    return learned;
  }

 private:
  ColumnRescalingSpec spec_;
  std::optional<double> fill_;
};

const RegisteredEncoder kColumnRescaling = encoder_def<ColumnRescalingSpec, ColumnRescaling>(
    table::ColumnType::kNumber,
    config::Schema::of<ColumnRescalingSpec>("Rescaling")
        .positional(key("scale", &ColumnRescalingSpec::scale).required().doc("factor of the values"))
        .key(key("offset", &ColumnRescalingSpec::offset).doc("added after the scaling"))
        .key(key("missing", &ColumnRescalingSpec::missing).doc("value for an empty cell")));

}  // namespace
}  // namespace dptrain::data
