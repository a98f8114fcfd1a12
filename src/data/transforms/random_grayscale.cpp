// keras/src/nn/preprocessing/image_preprocessing/random_grayscale.py

#include "data/transforms/random_grayscale.h"

#include <algorithm>

#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class RandomGrayscale final : public Transform {
 public:
  explicit RandomGrayscale(const RandomGrayscaleSpec& spec) : factor_(static_cast<float>(spec.factor)) {}

  bool random() const override { return true; }
  Shape output(const Shape& input) const override { return check_rgb(input), input; }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    copy_floats(in, out);
    if (draws(key, index).uniform() < factor_) make_gray(out);
  }

 private:
  float factor_;
};

const RegisteredTransform kRandomGrayscale = transform_def<RandomGrayscaleSpec, RandomGrayscale>(
    config::Schema::of<RandomGrayscaleSpec>("RandomGrayscale")
        .positional(key("factor", &RandomGrayscaleSpec::factor)
                        .at_least(0)
                        .at_most(1)
                        .doc("the probability that an image becomes gray")));

}  // namespace

void make_gray(Array& image) {
  for (std::size_t i = 0; i < image.f32.size(); i += 3) {
    float* const rgb = image.f32.data() + i;
    std::fill_n(rgb, 3, luminance(rgb));
  }
}

}  // namespace dptrain::data
