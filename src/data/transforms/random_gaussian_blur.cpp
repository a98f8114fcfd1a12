// keras/src/layers/preprocessing/image_preprocessing/random_gaussian_blur.py and gaussian_blur in
// keras/src/backend/tensorflow/image.py. The kernel is separable: the rows are blurred first, then the columns.

#include "data/transforms/random_gaussian_blur.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::data {
namespace {

class RandomGaussianBlur final : public Transform {
 public:
  explicit RandomGaussianBlur(const RandomGaussianBlurSpec& spec)
      : factor_(part_range(spec.factor)),
        sigma_(part_range(spec.sigma)),
        range_(spec.value_range),
        kernel_size_(spec.kernel_size) {}

  bool random() const override { return true; }
  bool expects_pixels() const override { return range_[1] - range_[0] > kSmallestPixelRange; }
  Shape output(const Shape& input) const override { return check_image(input), input; }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    constexpr float kMinSigma = 1e-6F;  // as in Keras
    RandomStream stream = draws(key, index);
    const float probability = uniform(stream, factor_.first, factor_.second), coin = stream.uniform();
    const float sigma_x = uniform(stream, sigma_.first, sigma_.second) + kMinSigma;
    const float sigma_y = uniform(stream, sigma_.first, sigma_.second) + kMinSigma;
    if (coin < probability) {
      gaussian_blur(in, kernel_size_, sigma_x, sigma_y, out);
    } else {
      copy_floats(in, out);
    }
    clip(out.f32, range_);
  }

 private:
  std::pair<double, double> factor_, sigma_;
  std::vector<double> range_;
  std::int64_t kernel_size_;
};

std::string check_odd(const std::int64_t& size) {
  return size % 2 == 1 ? "" : fmt::format("must be odd, found {}", size);
}

const RegisteredTransform kRandomGaussianBlur = transform_def<RandomGaussianBlurSpec, RandomGaussianBlur>(
    config::Schema::of<RandomGaussianBlurSpec>("RandomGaussianBlur")
        .doc("blurs with a Gaussian, with a random deviation for each axis")
        .positional(part_key("factor", &RandomGaussianBlurSpec::factor)
                        .doc("probability, drawn from a range: f for [0, f], or [lower, upper]"))
        .key(key("kernel_size", &RandomGaussianBlurSpec::kernel_size)
                 .at_least(1)
                 .at_most(255)
                 .check(check_odd)
                 .doc("rows and columns of the Gaussian, odd"))
        .key(part_key("sigma", &RandomGaussianBlurSpec::sigma)
                 .doc("deviation of the Gaussian in pixels, drawn from a range for each axis: f for [0, f], or [lower, "
                      "upper]"))
        .key(value_range_key<RandomGaussianBlurSpec>(
            "[smallest, largest] value of a pixel, to which the result is clipped")),
    {"GaussianBlur"});

std::vector<float> gaussian_row(std::int64_t size, float sigma) {
  std::vector<float> row(static_cast<std::size_t>(size));
  float sum = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const float x = (static_cast<float>(i) - static_cast<float>(size - 1) / 2) / sigma;
    sum += row[static_cast<std::size_t>(i)] = std::exp(-0.5F * x * x);
  }
  for (float& x : row) x /= sum;
  return row;
}

/// out[i] = sum over k of row[k] * in[i + (k - middle) * step], without terms outside the line, for `lines` lines of
/// `length` positions of `step` values.
void blur_lines(const std::vector<float>& row, const float* in, std::int64_t lines, std::int64_t length,
                std::int64_t step, float* out) {
  const auto middle = static_cast<std::int64_t>(row.size() / 2);
  std::fill_n(out, lines * length * step, 0.0F);
  for (std::int64_t line = 0; line < lines; ++line, in += length * step, out += length * step)
    for (std::int64_t at = 0; at < length; ++at) {
      const std::int64_t first = std::max<std::int64_t>(0, middle - at);
      const std::int64_t end = std::min<std::int64_t>(std::ssize(row), length + middle - at);
      for (std::int64_t k = first; k < end; ++k)
        for (std::int64_t c = 0; c < step; ++c)
          out[at * step + c] += row[static_cast<std::size_t>(k)] * in[(at + k - middle) * step + c];
    }
}

}  // namespace

void gaussian_blur(const ImageView& image, std::int64_t kernel_size, float sigma_x, float sigma_y, Array& out) {
  thread_local std::vector<float> rows;
  copy_floats(image, out);
  rows.resize(out.f32.size());
  const std::int64_t height = image.shape[0], width = image.shape[1], channels = image.shape[2];
  blur_lines(gaussian_row(kernel_size, sigma_x), out.f32.data(), height, width, channels, rows.data());
  blur_lines(gaussian_row(kernel_size, sigma_y), rows.data(), 1, height, width * channels, out.f32.data());
}

}  // namespace dptrain::data
