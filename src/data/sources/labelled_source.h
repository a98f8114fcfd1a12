#pragma once

// LabelledSource: what a source says of labels, sample weights and class names that it keeps in memory. A derived class
// fills the members while it is made; immutable afterwards.

#include <string>
#include <utility>
#include <vector>

#include "core/format.h"
#include "core/prefetch.h"
#include "data/sources/label_column.h"

namespace dptrain::data {

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
  void expect(std::int64_t index) const override {
    for (const LabelColumn& label : *shown_) label.expect(index);
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
  /// Uses `kept`, which outlives the source, in place of labels_.
  void show_labels(const std::vector<LabelColumn>& kept) { shown_ = &kept; }

  std::vector<LabelColumn> labels_;
  std::vector<float> sample_weights_;
  ClassNames class_names_;
  std::string fingerprint_;
  std::string place_;  ///< of the samples, for messages where there are no labels

 private:
  const char* word_;
  const std::vector<LabelColumn>* shown_ = &labels_;
};

}  // namespace dptrain::data
