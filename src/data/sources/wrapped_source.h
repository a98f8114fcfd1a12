#pragma once

// WrappedSource: base class that forwards to another source; derived classes override. It does not forward u8_rows(),
// f32_rows() and view(), so that an override of read() suffices to change samples. Immutable.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/source.h"

namespace dptrain::data {

class WrappedSource : public Source {
 public:
  std::int64_t size() const override { return of_->size(); }
  int inputs() const override { return of_->inputs(); }
  std::string input_name(int input) const override { return of_->input_name(input); }
  Shape input_shape(int input) const override { return of_->input_shape(input); }
  bool has_one_shape(int input) const override { return input_shape(input).rank() > 0 || of_->has_one_shape(input); }
  Shape peek_shape(std::int64_t index, int input) const override { return of_->peek_shape(at(index), input); }
  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
    of_->read(at(index), input, out, hint);
  }
  std::optional<ClipInfo> inspect(std::int64_t index) const override { return of_->inspect(at(index)); }
  bool draws() const override { return of_->draws(); }
  bool can_read_exact(int input, DType type) const override { return of_->can_read_exact(input, type); }
  void read_exact(std::int64_t index, int input, DType type, void* out) const override {
    of_->read_exact(at(index), input, type, out);
  }
  void prefetch_sample(std::int64_t index) const override { of_->prefetch_sample(at(index)); }
  std::shared_ptr<BadSamples> bad_samples() const override { return of_->bad_samples(); }
  std::int64_t shared_before() const override { return of_->shared_before(); }

  int labels() const override { return of_->labels(); }
  std::string label_name(int which) const override { return of_->label_name(which); }
  LabelType label_type(int which) const override { return of_->label_type(which); }
  std::int64_t label_width(int which) const override { return of_->label_width(which); }
  std::int64_t label_class(std::int64_t index, int which) const override { return of_->label_class(at(index), which); }
  void label_values(std::int64_t index, float* out, int which) const override {
    of_->label_values(at(index), out, which);
  }
  std::string label_place(std::int64_t index, int which) const override { return of_->label_place(at(index), which); }
  std::int64_t whole_index(std::int64_t index) const override { return of_->whole_index(at(index)); }
  bool has_sample_weights() const override { return of_->has_sample_weights(); }
  float sample_weight(std::int64_t index) const override { return of_->sample_weight(at(index)); }

  std::vector<std::string> class_names(int which) const override { return of_->class_names(which); }
  std::vector<std::string> column_lines() const override { return of_->column_lines(); }
  std::vector<std::string> cell_lines(std::int64_t index) const override { return of_->cell_lines(at(index)); }
  std::string fingerprint() const override { return of_->fingerprint(); }

 protected:
  explicit WrappedSource(std::shared_ptr<const Source> of) : of_(std::move(of)) {}
  const Source& of() const { return *of_; }
  /// Index in the wrapped source of sample `index`.
  virtual std::int64_t at(std::int64_t index) const { return index; }

 private:
  std::shared_ptr<const Source> of_;
};

}  // namespace dptrain::data
