#include "data/sources/labelled_source.h"

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::data {

void check_finite(const LabelColumn& column, const char* word) {
  const auto bad = std::ranges::find_if(column.values, [](float v) { return !std::isfinite(v); });
  if (bad != column.values.end())
    throw Error(ErrorKind::kData, fmt::format("{}, {} {}: label is {}; expected a finite number", column.place, word,
                                              (bad - column.values.begin()) / column.width, *bad));
}

std::vector<float> as_floats(const LabelColumn& column) {
  if (column.type != LabelType::kClass) return column.values;
  return {column.classes.begin(), column.classes.end()};
}

std::vector<float> sample_weights_of(const LabelColumn& column, const char* word) {
  if (column.width != 1)
    throw Error(ErrorKind::kData, fmt::format("{}: sample weights are one number per sample, found rows of {}",
                                              column.place, column.width));
  std::vector<float> weights = as_floats(column);
  const auto bad = std::ranges::find_if_not(weights, is_sample_weight);
  if (bad != weights.end())
    throw Error(ErrorKind::kData, fmt::format("{}, {} {}: the sample weight is {}; expected a number >= 0",
                                              column.place, word, bad - weights.begin(), shortest(*bad)));
  return weights;
}

}  // namespace dptrain::data
