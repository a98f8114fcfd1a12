#include "data/encoders/category_encoding.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/encoders/encoder_def.h"

namespace dptrain::data {
namespace {

class CategoryEncoding final : public NumberEncoder {
 public:
  explicit CategoryEncoding(std::int64_t count) : count_(count) {}
  static std::unique_ptr<const Encoder> learn(const CategoryEncodingSpec& spec, const TrainingColumn&) {
    return std::make_unique<CategoryEncoding>(spec.num_tokens);
  }
  static std::unique_ptr<const Encoder> restore(const CategoryEncodingSpec& spec, const nlohmann::json&) {
    return std::make_unique<CategoryEncoding>(spec.num_tokens);
  }

  table::ColumnType reads() const override { return table::ColumnType::kNumber; }
  std::int64_t floats() const override { return count_; }
  std::int64_t ids() const override { return 1; }
  std::int64_t id_limit() const override { return count_; }
  void encode(double number, float* out) const override {
    const std::int32_t which = token(number);
    std::fill_n(out, count_, 0.0F);
    out[which] = 1;
  }
  void encode_ids(double number, std::int32_t* out) const override { *out = token(number); }
  std::optional<exporting::PreparedColumn> prepared(const std::string& column) const override {
    return exporting::PreparedColumn{column, exporting::TakeToken{count_}};
  }
  std::string describe() const override { return fmt::format("one of {}", count_); }
  nlohmann::json learned() const override { return nlohmann::json::object(); }

 private:
  std::int32_t token(double number) const {
    if (number >= 0 && number < static_cast<double>(count_) && number == std::floor(number))
      return static_cast<std::int32_t>(number);
    throw Error(ErrorKind::kData,
                fmt::format("{}, but CategoryEncoding takes whole numbers from 0 to {}; IntegerLookup takes any",
                            std::isnan(number) ? "a number is missing" : "found " + shortest(number), count_ - 1));
  }
  std::int64_t count_;
};

const RegisteredEncoder kCategoryEncoding = encoder_def<CategoryEncodingSpec, CategoryEncoding>(
    table::ColumnType::kNumber, config::Schema::of<CategoryEncodingSpec>("CategoryEncoding")
                                    .positional(key("num_tokens", &CategoryEncodingSpec::num_tokens)
                                                    .required()
                                                    .at_least(1)
                                                    .at_most(16'777'216)
                                                    .doc("all numbers are below it")));

}  // namespace
}  // namespace dptrain::data
