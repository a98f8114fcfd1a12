#include "data/transforms/mixing.h"

#include <algorithm>
#include <cmath>

#include "data/mixing.h"
#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

// keras/src/layers/preprocessing/image_preprocessing/mix_up.py (Zhang et al., "mixup: Beyond Empirical Risk
// Minimization", 2017).

class MixUp final : public Mixing {
 public:
  explicit MixUp(const MixUpSpec& spec) : alpha_(spec.alpha) {}

  Shape output(const Shape& input) const override { return input; }
  float weight(const DrawKey& key, std::uint32_t index) const override {
    RandomStream stream = draws(key, index);
    return static_cast<float>(draw_beta(stream, alpha_));
  }
  void mix(const ImageView& own, const ImageView& other, Array& out, const DrawKey& key,
           std::uint32_t index) const override {
    mix_images(own, other, weight(key, index), out);
  }

 private:
  double alpha_;
};

const RegisteredTransform kMixUp = transform_def<MixUpSpec, MixUp>(
    config::Schema::of<MixUpSpec>("MixUp")
        .doc("mixes a sample and its label with another sample of the data set")
        .positional(
            key("alpha", &MixUpSpec::alpha).above(0).doc("the sample's share is drawn from Beta(alpha, alpha)")));

}  // namespace

void mix_images(const ImageView& own, const ImageView& other, float weight, Array& out) {
  thread_local Array partner;
  copy_floats(own, out);
  copy_floats(other, partner);
  for (std::size_t i = 0; i < out.f32.size(); ++i) out.f32[i] = weight * out.f32[i] + (1 - weight) * partner.f32[i];
}

namespace {

// keras/src/layers/preprocessing/image_preprocessing/cut_mix.py (Yun et al., "CutMix: Regularization Strategy to Train
// Strong Classifiers with Localizable Features", 2019). Keras draws `a` once per batch, this class once per sample.

class CutMix final : public Mixing {
 public:
  explicit CutMix(const CutMixSpec& spec) : factor_(part_range(spec.factor)) {}

  Shape output(const Shape& input) const override { return check_image(input), input; }
  float weight(const DrawKey& key, std::uint32_t index) const override {
    const BoxDraw box = draw(key, index);
    return 1 - box.width * box.height;
  }
  void mix(const ImageView& own, const ImageView& other, Array& out, const DrawKey& key,
           std::uint32_t index) const override {
    paste(own, other, box_of(draw(key, index), own.shape), out);
  }

 private:
  BoxDraw draw(const DrawKey& key, std::uint32_t index) const {
    constexpr double kMinAlpha = 1e-6;  // as in Keras
    RandomStream stream = draws(key, index);
    const double alpha = static_cast<double>(uniform(stream, factor_.first, factor_.second)) + kMinAlpha;
    const auto side = static_cast<float>(std::sqrt(1 - draw_beta(stream, alpha)));
    const float x = stream.uniform();
    return {.width = side, .height = side, .x = x, .y = stream.uniform()};
  }

  std::pair<double, double> factor_;
};

const RegisteredTransform kCutMix = transform_def<CutMixSpec, CutMix>(
    config::Schema::of<CutMixSpec>("CutMix")
        .doc("replaces a rectangle by that of another sample of the data set and mixes the labels in proportion to the "
             "area")
        .positional(part_key("factor", &CutMixSpec::factor)
                        .doc("alpha of Beta(alpha, alpha), from which the sample's share of the area is drawn: f for "
                             "[0, f], or [lower, upper]")));

template <class T>
void paste_rows(const T* from, const Shape& shape, const Window& box, T* to) {
  for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
    const std::int64_t first = (y * shape[1] + box.left) * shape[2];
    std::copy_n(from + first, box.width * shape[2], to + first);
  }
}

}  // namespace

void paste(const ImageView& own, const ImageView& other, const Window& box, Array& out) {
  copy_image(own, out);
  if (own.type == DType::kU8) {
    paste_rows(other.u8(), own.shape, box, out.u8.data());
  } else {
    paste_rows(other.f32(), own.shape, box, out.f32.data());
  }
}

}  // namespace dptrain::data
