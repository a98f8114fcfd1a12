#pragma once

// WrappedSource: base class that forwards to another source; derived classes override. It does not forward u8_rows(),
// f32_rows() and view(). A class whose read() changes samples must also override can_read_exact(). Immutable.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/source.h"

namespace dptrain::data {

class WrappedSource : public Source {
 public:
  std::int64_t size() const override { return wrapped_->size(); }
  int inputs() const override { return wrapped_->inputs(); }
  std::string input_name(int input) const override { return wrapped_->input_name(input); }
  Shape input_shape(int input) const override { return wrapped_->input_shape(input); }
  bool has_one_shape(int input) const override {
    return input_shape(input).rank() > 0 || wrapped_->has_one_shape(input);
  }
  Shape peek_shape(std::int64_t index, int input) const override { return wrapped_->peek_shape(at(index), input); }
  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
    wrapped_->read(at(index), input, out, hint);
  }
  std::optional<ClipInfo> inspect(std::int64_t index) const override { return wrapped_->inspect(at(index)); }
  bool draws() const override { return wrapped_->draws(); }
  bool can_read_exact(int input, DType type) const override { return wrapped_->can_read_exact(input, type); }
  void read_exact(std::int64_t index, int input, DType type, void* out) const override {
    wrapped_->read_exact(at(index), input, type, out);
  }
  void prefetch_sample(std::int64_t index) const override { wrapped_->prefetch_sample(at(index)); }
  std::shared_ptr<BadSamples> bad_samples() const override { return wrapped_->bad_samples(); }
  std::int64_t shared_before() const override { return wrapped_->shared_before(); }

  int labels() const override { return wrapped_->labels(); }
  std::string label_name(int which) const override { return wrapped_->label_name(which); }
  LabelType label_type(int which) const override { return wrapped_->label_type(which); }
  std::int64_t label_width(int which) const override { return wrapped_->label_width(which); }
  std::int64_t label_class(std::int64_t index, int which) const override {
    return wrapped_->label_class(at(index), which);
  }
  void label_values(std::int64_t index, float* out, int which) const override {
    wrapped_->label_values(at(index), out, which);
  }
  void read_label_map(std::int64_t index, Array& out, int which) const override {
    wrapped_->read_label_map(at(index), out, which);
  }
  Shape peek_label_map(std::int64_t index, int which) const override {
    return wrapped_->peek_label_map(at(index), which);
  }
  std::string label_map_place(std::int64_t index, int which) const override {
    return wrapped_->label_map_place(at(index), which);
  }
  std::string label_place(std::int64_t index, int which) const override {
    return wrapped_->label_place(at(index), which);
  }
  std::int64_t whole_index(std::int64_t index) const override { return wrapped_->whole_index(at(index)); }
  bool has_sample_weights() const override { return wrapped_->has_sample_weights(); }
  float sample_weight(std::int64_t index) const override { return wrapped_->sample_weight(at(index)); }

  std::vector<std::string> class_names(int which) const override { return wrapped_->class_names(which); }
  std::vector<std::string> column_lines() const override { return wrapped_->column_lines(); }
  std::vector<std::string> cell_lines(std::int64_t index) const override { return wrapped_->cell_lines(at(index)); }
  std::string fingerprint() const override { return wrapped_->fingerprint(); }

 protected:
  explicit WrappedSource(std::shared_ptr<const Source> wrapped) : wrapped_(std::move(wrapped)) {}
  const Source& wrapped() const { return *wrapped_; }
  /// Index in the wrapped source of sample `index`.
  virtual std::int64_t at(std::int64_t index) const { return index; }

 private:
  std::shared_ptr<const Source> wrapped_;
};

}  // namespace dptrain::data
