#pragma once

// LabelColumn: the labels of a data set that are kept in memory: one class, or one row of values, for each sample.
// Plain data; sources hold one for each `labels` entry.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/prefetch.h"
#include "data/source.h"

namespace dptrain::data {

struct LabelColumn {
  std::string name{};   ///< as in `labels: {name: file}`; "" for the only, unnamed one
  std::string place{};  ///< file or array, for messages
  LabelType type = LabelType::kNone;
  std::int64_t width = 0;               ///< kValues: floats per sample; kClass: 1
  std::vector<std::int32_t> classes{};  ///< kClass
  std::vector<float> values{};          ///< kValues: [samples, width]

  /// The sample's label is read soon.
  void expect(std::int64_t index) const {
    if (!classes.empty()) prefetch(&classes[static_cast<std::size_t>(index)]);
    if (!values.empty()) prefetch(&values[static_cast<std::size_t>(index * width)]);
  }
  void values_of(std::int64_t index, float* out) const { std::copy_n(values.begin() + index * width, width, out); }
};

/// Throws Error{kData} for a value that is not finite, naming its `word`: "row", "item".
void check_finite(const LabelColumn& column, const char* word);
/// Whole numbers, one per sample, are classes in some files and factors in others: as floats.
std::vector<float> as_floats(const LabelColumn& column);
/// Whether a sample's loss can have this factor.
inline bool is_sample_weight(float value) { return value >= 0 && std::isfinite(value); }
/// One factor for each sample from what was read as a label. Throws Error{kData} for rows of several values, and for a
/// factor that is negative or not finite, naming its `word`.
std::vector<float> sample_weights_of(const LabelColumn& column, const char* word);

}  // namespace dptrain::data
