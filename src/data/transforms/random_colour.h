#pragma once

// What RandomHue and RandomSaturation share: an RGB image changed by a factor drawn from a part of 0..1.

#include <string>
#include <utility>
#include <vector>

#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {

class RandomColour : public Transform {
 public:
  RandomColour(const std::vector<double>& factor, const std::vector<double>& value_range)
      : factor_(part_range(factor)), range_(value_range) {}

  bool random() const final { return true; }
  bool expects_pixels() const final { return range_[1] - range_[0] > kSmallestPixelRange; }
  Shape output(const Shape& input) const final { return check_rgb(input), input; }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const final {
    RandomStream stream = draws(key, index);
    copy_floats(in, out);
    change(stream, out);
  }

 protected:
  float draw_factor(RandomStream& stream) const { return uniform(stream, factor_.first, factor_.second); }
  const std::vector<double>& range() const { return range_; }

 private:
  virtual void change(RandomStream& stream, Array& image) const = 0;

  std::pair<double, double> factor_;
  std::vector<double> range_;
};

/// Keys of a spec with `factor` and `value_range`, and what they mean.
template <class Spec>
config::Schema colour_schema(std::string name, const std::string& factor, const std::string& value_range) {
  return config::Schema::of<Spec>(std::move(name))
      .positional(key("factor", &Spec::factor).required().at_least(0).at_most(1).check(check_part).doc(factor))
      .key(key("value_range", &Spec::value_range).check(check_range).doc(value_range));
}

}  // namespace dptrain::data
