// keras/src/nn/preprocessing/image_preprocessing/mix_up.py (Zhang et al., "mixup: Beyond Empirical Risk
// Minimization", 2017).

#include "data/transforms/mix_up.h"

#include "data/mixing.h"
#include "data/transforms/beta.h"
#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

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

const RegisteredTransform kMixUp = transform_def<MixUpSpec, MixUp>(config::Schema::of<MixUpSpec>("MixUp").positional(
    key("alpha", &MixUpSpec::alpha).above(0).doc("of Beta(alpha, alpha), from which a sample's part is drawn")));

}  // namespace

void mix_images(const ImageView& own, const ImageView& other, float weight, Array& out) {
  thread_local Array partner;  // of a worker
  copy_floats(own, out);
  copy_floats(other, partner);
  for (std::size_t i = 0; i < out.f32.size(); ++i) out.f32[i] = weight * out.f32[i] + (1 - weight) * partner.f32[i];
}

}  // namespace dptrain::data
