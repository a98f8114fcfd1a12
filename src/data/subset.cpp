#include "data/subset.h"

#include <numeric>

#include "core/format.h"
#include "data/hash.h"

namespace dptrain::data {
namespace {

class Subset final : public Source {
 public:
  Subset(std::shared_ptr<const Source> whole, std::vector<std::int64_t> indices, std::string fingerprint)
      : whole_(std::move(whole)), indices_(std::move(indices)), fingerprint_(std::move(fingerprint)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  int inputs() const override { return whole_->inputs(); }
  std::string input_name(int input) const override { return whole_->input_name(input); }
  Shape input_shape(int input) const override { return whole_->input_shape(input); }
  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
    whole_->read(at(index), input, out, hint);
  }
  std::shared_ptr<BadSamples> bad_samples() const override { return whole_->bad_samples(); }
  const std::uint8_t* u8_rows(int input) const override { return whole_->u8_rows(input); }
  const float* f32_rows(int input) const override { return whole_->f32_rows(input); }
  std::int64_t row(std::int64_t index) const override { return whole_->row(at(index)); }
  LabelType label_type() const override { return whole_->label_type(); }
  std::int64_t label_width() const override { return whole_->label_width(); }
  std::int64_t label_class(std::int64_t index) const override { return whole_->label_class(at(index)); }
  void label_values(std::int64_t index, float* out) const override { whole_->label_values(at(index), out); }
  Shape peek_shape(std::int64_t index) const override { return whole_->peek_shape(at(index)); }
  std::string label_place(std::int64_t index) const override { return whole_->label_place(at(index)); }
  std::vector<std::string> class_names() const override { return whole_->class_names(); }
  std::string fingerprint() const override { return fingerprint_; }
  std::string cache_key() const override { return fingerprint_ + " in " + whole_->cache_key(); }

 private:
  std::int64_t at(std::int64_t index) const { return indices_[static_cast<std::size_t>(index)]; }

  std::shared_ptr<const Source> whole_;
  std::vector<std::int64_t> indices_;
  std::string fingerprint_;
};

}  // namespace

std::shared_ptr<const Source> subset(std::shared_ptr<const Source> whole, std::vector<std::int64_t> indices,
                                     const std::string& label) {
  const std::uint64_t hash = hash_bytes(indices.data(), indices.size() * sizeof indices[0]);
  std::string fingerprint = fmt::format("{}:{}:{:016x} of {}", label, indices.size(), hash, whole->fingerprint());
  return std::make_shared<Subset>(std::move(whole), std::move(indices), std::move(fingerprint));
}

std::shared_ptr<const Source> take(std::shared_ptr<const Source> whole, std::int64_t count) {
  if (count >= whole->size()) return whole;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return subset(std::move(whole), std::move(indices), "take");
}

}  // namespace dptrain::data
