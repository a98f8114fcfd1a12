// keras/src/nn/preprocessing/image_preprocessing/rand_augment.py (Cubuk et al., "RandAugment: Practical automated
// data augmentation with a reduced search space", 2019): shear, translation, rotation, brightness, color degeneration,
// contrast, sharpness, posterization, solarization, auto-contrast, equalization. An operation that comes twice does the
// same twice, as in Keras. Keras draws the operations once per batch, here each sample has its own.

#include "data/transforms/rand_augment.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "core/error.h"
#include "core/format.h"
#include "data/transforms/augment_ops.h"
#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/random_brightness.h"
#include "data/transforms/random_contrast.h"
#include "data/transforms/random_rotation.h"
#include "data/transforms/random_shear.h"
#include "data/transforms/random_translation.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class RandAugment final : public Transform {
 public:
  explicit RandAugment(const RandAugmentSpec& spec)
      : range_(spec.value_range), factor_(part_range(spec.factor)), num_ops_(spec.num_ops) {
    const std::vector<double> factor{factor_.first, factor_.second};
    const WarpArguments warp{.interpolation = spec.interpolation};
    const auto add = [&](const auto& made) {
      const config::Typed typed = transform_family().make(made);
      ops_.push_back([transform = std::shared_ptr<const Transform>(make_transform(typed))](
                         Array& image, const DrawKey& key, std::uint32_t stream) {
        thread_local Array result;  // of a worker
        transform->apply(view_of(image), result, key, stream);
        std::swap(image, result);
      });
    };
    add(RandomShearSpec{warp, factor, factor});
    add(RandomTranslationSpec{warp, factor, factor});
    add(RandomRotationSpec{warp, factor});
    add(RandomBrightnessSpec{factor, range_});
    add_arithmetic();
    const auto contrast = ops_.begin() + kContrast;
    add(RandomContrastSpec{factor, range_});
    std::rotate(contrast, ops_.end() - 1, ops_.end());
  }

  RandAugment(const RandAugment&) = delete;  // its operations refer to it
  RandAugment& operator=(const RandAugment&) = delete;

  bool random() const override { return true; }
  bool moves_pixels() const override { return true; }
  bool expects_pixels() const override { return range_[1] - range_[0] > kSmallestPixelRange; }
  Shape output(const Shape& input) const override {
    if (input.rank() == 0) return input;
    check_image(input);
    if (input[2] != 1 && input[2] != 3)
      throw Error(ErrorKind::kUsage, fmt::format("samples must be images of 1 or 3 channels, found {}", input.str()));
    return input;
  }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    copy_floats(in, out);
    RandomStream stream = draws(key, index);
    for (std::int64_t i = 0; i < num_ops_; ++i) {
      const std::uint64_t op = stream.below(ops_.size());
      ops_[op](out, key, inner_index(index, static_cast<std::uint32_t>(op)));
    }
  }

 private:
  /// Works on the image in place; draws from the stream of that number.
  using Op = std::function<void(Array& image, const DrawKey& key, std::uint32_t stream)>;
  static constexpr std::ptrdiff_t kContrast = 5;  ///< its place among the operations

  float draw(const DrawKey& key, std::uint32_t stream) const {
    RandomStream numbers = draws(key, stream);
    return uniform(numbers, factor_.first, factor_.second);
  }
  void add_arithmetic() {
    ops_.push_back([this](Array& image, const DrawKey& key, std::uint32_t stream) {
      degenerate_color(image, draw(key, stream), range_);
    });
    ops_.push_back(
        [this](Array& image, const DrawKey& key, std::uint32_t stream) { sharpen(image, draw(key, stream), range_); });
    ops_.push_back([this](Array& image, const DrawKey& key, std::uint32_t stream) {
      // Keras: RandomPosterization(factor=max(1, int(8 f))), which draws from 1 up to, but without, that number.
      const auto most = static_cast<std::uint64_t>(8 * factor_.second);
      posterize(image, most > 1 ? static_cast<int>(1 + draws(key, stream).below(most - 1)) : 1, range_);
    });
    ops_.push_back([this](Array& image, const DrawKey& key, std::uint32_t stream) {
      constexpr double kBytes = 255;  // Keras scales the upper end alone
      RandomStream numbers = draws(key, stream);
      const float addition = uniform(numbers, factor_.first, factor_.second * kBytes);
      solarize(image, addition, uniform(numbers, factor_.first, factor_.second * kBytes), range_);
    });
    ops_.push_back([this](Array& image, const DrawKey&, std::uint32_t) { stretch_contrast(image, range_); });
    ops_.push_back([this](Array& image, const DrawKey&, std::uint32_t) { equalize(image, range_); });
  }

  std::vector<double> range_;
  std::pair<double, double> factor_;
  std::int64_t num_ops_;
  std::vector<Op> ops_;
};

const RegisteredTransform kRandAugment = transform_def<RandAugmentSpec, RandAugment>(
    config::Schema::of<RandAugmentSpec>("RandAugment")
        .key(key("value_range", &RandAugmentSpec::value_range).check(check_range).doc("least and largest value"))
        .key(key("num_ops", &RandAugmentSpec::num_ops).at_least(1).doc("operations of a sample, one after the other"))
        .key(key("factor", &RandAugmentSpec::factor)
                 .at_least(0)
                 .at_most(1)
                 .check(check_part)
                 .doc("their strength, drawn from [0, f] or [lower, upper]"))
        .key(key("interpolation", &RandAugmentSpec::interpolation).doc("of shear, translation and rotation")));

}  // namespace
}  // namespace dptrain::data
