// keras/src/layers/preprocessing/image_preprocessing/rand_augment.py (Cubuk et al., "RandAugment: Practical automated
// data augmentation with a reduced search space", 2019): shear, translation, rotation, brightness, color degeneration,
// contrast, sharpness, posterization, solarization, auto-contrast, equalization. An operation that is drawn twice uses
// the same random numbers twice, as in Keras. Keras draws the operations once per batch; here each sample has its own.

#include "data/transforms/rand_augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/format.h"
#include "data/transforms/colour.h"
#include "data/transforms/draws.h"
#include "data/transforms/geometry.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

constexpr float kByte = 255;

/// Maps values of one range linearly to another; the identity for equal ranges.
class Scale {
 public:
  Scale(double from_low, double from_high, double to_low, double to_high)
      : same_(from_low == to_low && from_high == to_high),
        low_(static_cast<float>(from_low)),
        size_(static_cast<float>(from_high - from_low)),
        to_size_(static_cast<float>(to_high - to_low)),
        to_low_(static_cast<float>(to_low)) {}
  float operator()(float x) const { return same_ ? x : (x - low_) / size_ * to_size_ + to_low_; }

 private:
  bool same_;
  float low_, size_, to_size_, to_low_;
};

Scale to_bytes(const ValueRange& range) { return {range[0], range[1], 0, 255}; }
Scale from_bytes(const ValueRange& range) { return {0, 255, range[0], range[1]}; }

/// Calls f(first value, step) for each channel.
template <class F>
void for_each_channel(Array& image, const F& f) {
  const std::int64_t channels = image.shape[2];
  for (std::int64_t c = 0; c < channels; ++c) f(image.f32.data() + c, channels);
}

/// 5/13 of the pixel and 1/13 of each neighbor.
float smoothed(const std::vector<float>& from, const Shape& shape, std::int64_t y, std::int64_t x, std::int64_t c) {
  constexpr float kItself = 5.0F / 13, kNeighbour = 1.0F / 13;
  float sum = 0;
  for (std::int64_t row = std::max<std::int64_t>(0, y - 1); row < std::min(shape[0], y + 2); ++row)
    for (std::int64_t column = std::max<std::int64_t>(0, x - 1); column < std::min(shape[1], x + 2); ++column)
      sum += (row == y && column == x ? kItself : kNeighbour) *
             from[static_cast<std::size_t>((row * shape[1] + column) * shape[2] + c)];
  return sum;
}

constexpr int kBins = 256;

/// Equalized value of each bin; nullopt for a histogram of at most one bin.
std::optional<std::array<float, kBins>> even_table(const std::array<std::int64_t, kBins>& histogram) {
  if (std::ranges::count_if(histogram, [](std::int64_t n) { return n > 0; }) <= 1) return std::nullopt;
  const std::int64_t least = *std::ranges::find_if(histogram, [](std::int64_t n) { return n > 0; });
  std::int64_t all = 0, below = 0;
  for (const std::int64_t n : histogram) all += n;
  std::array<float, kBins> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    below += histogram[i];
    const double even = static_cast<double>((below - least) * 255) / static_cast<double>(all - least);
    table[i] = static_cast<float>(std::clamp(std::nearbyint(even), 0.0, 255.0));  // ties to even, as NumPy rounds
  }
  return table;
}

}  // namespace

void degenerate_color(Array& image, float factor, const ValueRange& range) {
  for (std::size_t i = 0; image.shape[2] == 3 && i < image.f32.size(); i += 3) {
    float* const rgb = image.f32.data() + i;
    const float gray = luminance(rgb);
    for (int c = 0; c < 3; ++c) rgb[c] += factor * (gray - rgb[c]);
  }
  clip(image.f32, range);
}

void sharpen(Array& image, float factor, const ValueRange& range) {
  thread_local std::vector<float> before;
  before = image.f32;
  std::size_t i = 0;
  for (std::int64_t y = 0; y < image.shape[0]; ++y)
    for (std::int64_t x = 0; x < image.shape[1]; ++x)
      for (std::int64_t c = 0; c < image.shape[2]; ++c, ++i)
        image.f32[i] += (1 - 2 * factor) * (smoothed(before, image.shape, y, x, c) - before[i]);
  clip(image.f32, range);
}

void posterize(Array& image, int bits, const ValueRange& range) {
  const Scale in = to_bytes(range), out = from_bytes(range);
  const int shift = 8 - bits;
  for (float& x : image.f32) {
    const auto byte = static_cast<unsigned>(std::clamp(in(x), 0.0F, kByte));
    x = out(static_cast<float>(byte >> shift << shift));
  }
}

void solarize(Array& image, float addition, float threshold, const ValueRange& range) {
  const Scale in = to_bytes(range), out = from_bytes(range);
  for (float& x : image.f32) {
    const float sum = std::clamp(in(x) + addition, 0.0F, kByte);
    x = out(sum < threshold ? sum : kByte - sum);
  }
}

void stretch_contrast(Array& image, const ValueRange& range) {
  const Scale in = to_bytes(range), out = from_bytes(range);
  for_each_channel(image, [&](float* values, std::int64_t step) {
    const std::int64_t count = image.shape.elements() / step;
    float low = in(values[0]), high = low;
    for (std::int64_t i = 0; i < count; ++i) {
      low = std::min(low, in(values[i * step]));
      high = std::max(high, in(values[i * step]));
    }
    if (!(high > low)) return;
    const float scale = kByte / (high - low), offset = -low * scale;
    for (std::int64_t i = 0; i < count; ++i)
      values[i * step] = out(std::clamp(in(values[i * step]) * scale + offset, 0.0F, kByte));
  });
}

void equalize(Array& image, const ValueRange& range) {
  const Scale in = to_bytes(range), out = from_bytes(range);
  for_each_channel(image, [&](float* values, std::int64_t step) {
    const std::int64_t count = image.shape.elements() / step;
    const auto bin = [&](float x) { return static_cast<std::size_t>(std::clamp(in(x), 0.0F, kByte)); };
    std::array<std::int64_t, kBins> histogram{};
    for (std::int64_t i = 0; i < count; ++i) ++histogram[bin(values[i * step])];
    const auto table = even_table(histogram);
    for (std::int64_t i = 0; table && i < count; ++i) values[i * step] = out((*table)[bin(values[i * step])]);
  });
}

namespace {

class RandAugment final : public Transform {
 public:
  explicit RandAugment(const RandAugmentSpec& spec)
      : range_(spec.value_range), factor_(part_range(spec.factor)), num_ops_(spec.num_ops) {
    const std::vector<double> factor{factor_.first, factor_.second};
    const WarpArguments warp{.interpolation = spec.interpolation};
    const auto add = [&](const auto& made) {
      const std::shared_ptr<const Transform> transform = make_transform(transform_family().make(made));
      if (transform->moves_pixels()) warps_.push_back(transform);
      ops_.push_back([transform](Array& image, const DrawKey& key, std::uint32_t stream) {
        thread_local Array result;
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

  RandAugment(const RandAugment&) = delete;  // the operations capture `this`
  RandAugment& operator=(const RandAugment&) = delete;

  bool random() const override { return true; }
  bool moves_pixels() const override { return true; }
  bool expects_pixels() const override { return range_[1] - range_[0] > kSmallestPixelRange; }
  Shape output(const Shape& input) const override {
    check_image(input);
    if (input.rank() != 0 && input[2] != 1 && input[2] != 3)
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
  void apply_to_map(const ImageView& in, float fill, Array& out, const DrawKey& key,
                    std::uint32_t index) const override {
    copy_image(in, out);
    RandomStream stream = draws(key, index);
    for (std::int64_t i = 0; i < num_ops_; ++i) {
      const std::uint64_t op = stream.below(ops_.size());
      if (op >= warps_.size()) continue;
      thread_local Array result;
      warps_[op]->apply_to_map(view_of(out), fill, result, key, inner_index(index, static_cast<std::uint32_t>(op)));
      std::swap(out, result);
    }
  }

 private:
  /// Changes the image in place. Draws from the stream with this index.
  using Op = std::function<void(Array& image, const DrawKey& key, std::uint32_t stream)>;
  static constexpr std::ptrdiff_t kContrast = 5;  ///< index among the operations

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
      // Keras: RandomPosterization(factor=max(1, int(8 f))), which draws from 1 to that number, exclusive.
      const auto most = static_cast<std::uint64_t>(8 * factor_.second);
      posterize(image, most > 1 ? static_cast<int>(1 + draws(key, stream).below(most - 1)) : 1, range_);
    });
    ops_.push_back([this](Array& image, const DrawKey& key, std::uint32_t stream) {
      constexpr double kBytes = 255;  // Keras scales only the upper end
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
  std::vector<std::shared_ptr<const Transform>> warps_;  ///< the first operations, which move pixels
};

const RegisteredTransform kRandAugment = transform_def<RandAugmentSpec, RandAugment>(
    config::Schema::of<RandAugmentSpec>("RandAugment")
        .doc("applies `num_ops` of Keras's eleven operations in sequence")
        .key(value_range_key<RandAugmentSpec>())
        .key(key("num_ops", &RandAugmentSpec::num_ops)
                 .at_least(1)
                 .doc("number of operations that are drawn for a sample"))
        .key(part_key("factor", &RandAugmentSpec::factor)
                 .doc("strength of the operations, drawn from a range: f for [0, f], or [lower, upper]"))
        .key(key("interpolation", &RandAugmentSpec::interpolation)
                 .doc("interpolation of shear, translation and rotation")));

}  // namespace
}  // namespace dptrain::data
