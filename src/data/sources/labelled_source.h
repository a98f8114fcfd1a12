#pragma once

// LabelledSource: base class of sources that store labels, sample weights and class names in memory. The constructor of
// a derived class fills the members, which are immutable afterwards.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/format.h"
#include "core/memory.h"
#include "data/source.h"

namespace dptrain::data {

/// The labels of one `labels` entry: a class or a row of values per sample.
struct LabelColumn {
  std::string name{};   ///< as in `labels: {name: file}`; "" if unnamed
  std::string place{};  ///< file or array, for messages
  LabelType type = LabelType::kNone;
  std::int64_t width = 0;               ///< kValues: floats per sample; kClass: 1; kMap: 0
  std::vector<std::int32_t> classes{};  ///< kClass
  std::vector<float> values{};          ///< kValues: [samples, width]

  /// Prefetches the label of a sample.
  void prefetch_label(std::int64_t index) const {
    if (!classes.empty()) prefetch(&classes[static_cast<std::size_t>(index)]);
    if (!values.empty()) prefetch(&values[static_cast<std::size_t>(index * width)]);
  }
  void values_of(std::int64_t index, float* out) const { std::copy_n(values.begin() + index * width, width, out); }
};

/// Throws Error{kData} for a value that is not finite. `word` names a sample in the message: "row", "item".
void check_finite(const LabelColumn& column, const char* word);
/// Labels as floats; converts classes.
std::vector<float> as_floats(const LabelColumn& column);
inline bool is_sample_weight(float value) { return value >= 0 && std::isfinite(value); }
/// Sample weights from a column that was read as labels. Throws Error{kData} for several values per sample and for a
/// weight that is negative or not finite. `word` as above.
std::vector<float> sample_weights_of(const LabelColumn& column, const char* word);

class LabelledSource : public Source {
 public:
  LabelledSource(const LabelledSource&) = delete;
  LabelledSource& operator=(const LabelledSource&) = delete;

  int labels() const override { return static_cast<int>(shown_->size()); }
  std::string label_name(int which) const override { return label(which).name; }
  LabelType label_type(int which) const override { return shown_->empty() ? LabelType::kNone : label(which).type; }
  std::int64_t label_width(int which) const override { return shown_->empty() ? 0 : label(which).width; }
  std::int64_t label_class(std::int64_t index, int which) const override {
    return label(which).classes[static_cast<std::size_t>(index)];
  }
  void label_values(std::int64_t index, float* out, int which) const override { label(which).values_of(index, out); }
  const float* all_label_values(int which) const override {
    return label(which).values.empty() ? nullptr : label(which).values.data();
  }
  void prefetch_sample(std::int64_t index) const override {
    for (const LabelColumn& label : *shown_) label.prefetch_label(index);
    if (!sample_weights_.empty()) prefetch(&sample_weights_[static_cast<std::size_t>(index)]);
  }
  std::string label_place(std::int64_t index, int which) const override {
    return fmt::format("{}, {} {}", shown_->empty() ? place_ : label(which).place, word_, index);
  }
  bool has_sample_weights() const override { return !sample_weights_.empty(); }
  float sample_weight(std::int64_t index) const override { return sample_weights_[static_cast<std::size_t>(index)]; }
  std::vector<std::string> class_names(int which) const override { return class_names_.names_of(label_name(which)); }
  std::string fingerprint() const override { return fingerprint_; }

 protected:
  /// `word`: "row", "item".
  LabelledSource(const char* word, ClassNames class_names) : class_names_(std::move(class_names)), word_(word) {}

  const LabelColumn& label(int which) const { return (*shown_)[static_cast<std::size_t>(which)]; }
  /// Uses `kept`, which must outlive the source, instead of labels_.
  void use_labels(const std::vector<LabelColumn>& kept) { shown_ = &kept; }

  std::vector<LabelColumn> labels_;
  std::vector<float> sample_weights_;
  ClassNames class_names_;
  std::string fingerprint_;
  std::string place_;  ///< file of the samples, for messages without labels

 private:
  const char* word_;
  const std::vector<LabelColumn>* shown_ = &labels_;
};

}  // namespace dptrain::data
