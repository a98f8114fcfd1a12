#include "cli/predict_columns.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/format.h"
#include "core/text.h"

namespace dptrain::cli {

PredictColumns::PredictColumns(const Classes& classes, std::string prefix, std::int64_t top, bool probabilities,
                               std::vector<data::LabelScale> scales)
    : classes_(classes),
      prefix_(std::move(prefix)),
      top_(std::min(top, classes.count())),
      probabilities_(probabilities),
      scales_(std::move(scales)) {}

std::string PredictColumns::header() const {
  std::string text;
  const auto add = [&](const std::string& name) { text += "," + csv_field(prefix_ + name); };
  if (!classes_.one_per_sample()) {
    for (std::int64_t i = 0; i < classes_.width(); ++i)
      add(classes_.width() == 1 ? "output" : fmt::format("output_{}", i));
    return text;
  }
  add("label"), add("probability");
  for (std::int64_t k = 2; k <= top_; ++k) add(fmt::format("label_{}", k)), add(fmt::format("probability_{}", k));
  for (std::int64_t c = 0; probabilities_ && c < classes_.count(); ++c) add("p_" + classes_.name(c));
  return text;
}

std::string PredictColumns::row(const float* output) const {
  std::string text;
  if (!classes_.one_per_sample()) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(classes_.width()); ++i) {
      const float value =
          scales_.empty() ? output[i] : static_cast<float>(output[i] * scales_[i].deviation + scales_[i].mean);
      text += fmt::format(",{:.9g}", value);
    }
    return text;
  }
  const std::vector<float> p = classes_.probabilities(output);
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [&](std::size_t a, std::size_t b) { return p[a] != p[b] ? p[a] > p[b] : a < b; };
  std::partial_sort(order.begin(), order.begin() + top_, order.end(), before);
  for (std::int64_t k = 0; k < top_; ++k) {
    const std::size_t c = order[static_cast<std::size_t>(k)];
    text += fmt::format(",{},{:.9g}", csv_field(classes_.name(static_cast<std::int64_t>(c))), p[c]);
  }
  if (probabilities_)
    for (const float value : p) text += fmt::format(",{:.9g}", value);
  return text;
}

}  // namespace dptrain::cli
