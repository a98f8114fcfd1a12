#include "data/transforms/geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/transforms/draws.h"
#include "data/transforms/pixels.h"
#include "data/transforms/transform_def.h"

namespace dptrain::config {
template <>
struct EnumNames<data::FlipMode> {
  static constexpr std::array names{std::pair{data::FlipMode::kHorizontal, "horizontal"},
                                    std::pair{data::FlipMode::kVertical, "vertical"},
                                    std::pair{data::FlipMode::kHorizontalAndVertical, "horizontal_and_vertical"}};
};
}  // namespace dptrain::config

namespace dptrain::data {
namespace {

template <class T>
void flip(const T* in, const Shape& shape, Mirror mirror, std::vector<T>& out) {
  const std::int64_t height = shape[0], width = shape[1], channels = shape[2], row = width * channels;
  out.resize(static_cast<std::size_t>(height * row));
  for (std::int64_t y = 0; y < height; ++y) {
    const T* const from = in + (mirror.y ? height - 1 - y : y) * row;
    T* const to = out.data() + y * row;
    if (!mirror.x) std::copy_n(from, row, to);
    for (std::int64_t x = 0; mirror.x && x < width; ++x)
      std::copy_n(from + (width - 1 - x) * channels, channels, to + x * channels);
  }
}

class RandomFlip final : public Transform {
 public:
  explicit RandomFlip(const RandomFlipSpec& spec) : mode_(spec.mode) {}

  bool random() const override { return true; }
  bool moves_pixels() const override { return true; }
  Shape output(const Shape& input) const override { return check_image(input), input; }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    out.shape = in.shape;
    out.type = in.type;
    if (in.type == DType::kU8) {
      flip(in.u8(), in.shape, drawn(key, index), out.u8);
    } else {
      flip(in.f32(), in.shape, drawn(key, index), out.f32);
    }
  }
  void apply_to_map(const ImageView& in, float, Array& out, const DrawKey& key, std::uint32_t index) const override {
    apply(in, out, key, index);
  }
  std::optional<Mirror> mirror(const DrawKey& key, std::uint32_t index) const override { return drawn(key, index); }
  bool write_op(std::int32_t, kernels::PixelOp& op) const override {
    op.kind = kernels::PixelOpKind::kFlip;
    op.columns = mode_ != FlipMode::kVertical;
    op.rows = mode_ != FlipMode::kHorizontal;
    return true;
  }

 private:
  Mirror drawn(const DrawKey& key, std::uint32_t index) const {
    const std::uint32_t coins = draws(key, index).next_u32();
    return {.x = mode_ != FlipMode::kVertical && (coins & 1U) != 0,
            .y = mode_ != FlipMode::kHorizontal && (coins & 2U) != 0};
  }

  FlipMode mode_;
};

const RegisteredTransform kRandomFlip = transform_def<RandomFlipSpec, RandomFlip>(
    config::Schema::of<RandomFlipSpec>("RandomFlip")
        .doc("flips in each direction with probability 1/2")
        .positional(key("mode", &RandomFlipSpec::mode).doc("directions of the flips")));

kernels::cpu::WarpFill kernel_fill(FillMode mode) {
  using kernels::cpu::WarpFill;
  switch (mode) {
    case FillMode::kReflect: return WarpFill::kReflect;
    case FillMode::kWrap: return WarpFill::kWrap;
    case FillMode::kConstant: return WarpFill::kConstant;
    case FillMode::kNearest: break;
  }
  return WarpFill::kNearest;
}

}  // namespace

RandomWarp::RandomWarp(const WarpArguments& arguments) {
  warp_.fill = kernel_fill(arguments.fill_mode);
  warp_.fill_value = static_cast<float>(arguments.fill_value);
  warp_.bilinear = arguments.interpolation == Interpolation::kBilinear;
}

Shape RandomWarp::output(const Shape& input) const { return check_image(input), input; }

void RandomWarp::apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const {
  out.shape = in.shape;
  out.type = DType::kF32;
  out.f32.resize(static_cast<std::size_t>(in.shape.elements()));
  write(in, key, index, Finish{}, out, out.f32.data());
}

void RandomWarp::apply_to_map(const ImageView& in, float fill, Array& out, const DrawKey& key,
                              std::uint32_t index) const {
  kernels::cpu::Warp nearest = warp_;
  nearest.bilinear = false;
  nearest.fill_value = fill;
  out.shape = in.shape;
  out.type = DType::kF32;
  out.f32.resize(static_cast<std::size_t>(in.shape.elements()));
  warp(in, key, index, Finish{}, nearest, out.f32.data());
}

void RandomWarp::write(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, Array&,
                       float* out) const {
  warp(in, key, index, finish, warp_, out);
}

void RandomWarp::warp(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish,
                      kernels::cpu::Warp warp, float* out) const {
  RandomStream stream = draws(key, index);
  const WarpMatrix matrix = draw(stream, static_cast<double>(in.shape[0]), static_cast<double>(in.shape[1]));
  std::transform(matrix.begin(), matrix.end(), warp.matrix, [](double m) { return static_cast<float>(m); });
  warp.mirror_x = finish.mirror.x;
  warp.mirror_y = finish.mirror.y;
  with_pixels(in, finish.map, [&](const auto& pixels) {
    const KernelMap map(finish.map, pixels.channels);
    kernels::cpu::warp(pixels, warp, map.get(), out);
  });
}

namespace {

class RandomRotation final : public RandomWarp {
 public:
  explicit RandomRotation(const RandomRotationSpec& spec) : RandomWarp(spec), factor_(factor_range(spec.factor)) {}

 protected:
  /// Around the center; _compute_affine_matrix in
  /// keras/src/layers/preprocessing/image_preprocessing/base_image_preprocessing_layer.py.
  WarpMatrix draw(RandomStream& stream, double height, double width) const override {
    const double angle = 2 * std::numbers::pi * static_cast<double>(uniform(stream, factor_.first, factor_.second));
    const double c = std::cos(angle), s = std::sin(angle), x = (width - 1) / 2, y = (height - 1) / 2;
    return {c, -s, x - x * c + y * s, s, c, y - x * s - y * c};
  }

 private:
  std::pair<double, double> factor_;
};

const RegisteredTransform kRandomRotation =
    transform_def<RandomRotationSpec, RandomRotation>(with_warp_keys<RandomRotationSpec>(
        config::Schema::of<RandomRotationSpec>("RandomRotation")
            .doc("rotates around the center")
            .positional(factor_key("factor", &RandomRotationSpec::factor)
                            .required()
                            .doc("angle as a share of a full turn: f for [-f, f], or [lower, upper]"))));

class RandomTranslation final : public RandomWarp {
 public:
  explicit RandomTranslation(const RandomTranslationSpec& spec)
      : RandomWarp(spec), height_(factor_range(spec.height_factor)), width_(factor_range(spec.width_factor)) {}

 protected:
  WarpMatrix draw(RandomStream& stream, double height, double width) const override {
    const double down = height * static_cast<double>(uniform(stream, height_.first, height_.second));
    const double right = width * static_cast<double>(uniform(stream, width_.first, width_.second));
    return {1, 0, -right, 0, 1, -down};
  }

 private:
  std::pair<double, double> height_, width_;
};

const RegisteredTransform kRandomTranslation =
    transform_def<RandomTranslationSpec, RandomTranslation>(with_warp_keys<RandomTranslationSpec>(
        config::Schema::of<RandomTranslationSpec>("RandomTranslation")
            .doc("shifts in both directions by random distances")
            .key(factor_key("height_factor", &RandomTranslationSpec::height_factor)
                     .required()
                     .doc("shift as a share of the height: f for [-f, f], or [lower, upper]; positive: down"))
            .key(factor_key("width_factor", &RandomTranslationSpec::width_factor)
                     .required()
                     .doc("shift as a share of the width: f for [-f, f], or [lower, upper]; positive: to the right"))));

class RandomZoom final : public RandomWarp {
 public:
  explicit RandomZoom(const RandomZoomSpec& spec)
      : RandomWarp(spec),
        height_(factor_range(spec.height_factor)),
        width_(spec.width_factor.empty() ? height_ : factor_range(spec.width_factor)),
        alike_(spec.width_factor.empty()) {}

 protected:
  /// keras/src/layers/preprocessing/image_preprocessing/random_zoom.py, _get_zoom_matrix.
  WarpMatrix draw(RandomStream& stream, double height, double width) const override {
    const auto factor = [&](const std::pair<double, double>& range) {
      return static_cast<double>(uniform(stream, 1 + range.first, 1 + range.second));
    };
    const double down = factor(height_), right = alike_ ? down : factor(width_);
    return {right, 0, (width - 1) / 2 * (1 - right), 0, down, (height - 1) / 2 * (1 - down)};
  }

 private:
  std::pair<double, double> height_, width_;
  bool alike_;
};

std::string check_or_none(const std::vector<double>& factor) { return factor.empty() ? "" : check_factor(factor); }

const RegisteredTransform kRandomZoom = transform_def<RandomZoomSpec, RandomZoom>(with_warp_keys<RandomZoomSpec>(
    config::Schema::of<RandomZoomSpec>("RandomZoom")
        .doc("zooms around the center")
        .positional(factor_key("height_factor", &RandomZoomSpec::height_factor)
                        .required()
                        .above(-1)
                        .doc("change of the height: f for [-f, f], or [lower, upper]; positive: zoom out"))
        .key(factor_key("width_factor", &RandomZoomSpec::width_factor)
                 .above(-1)
                 .check(check_or_none)
                 .doc("change of the width, likewise; default: the same zoom as for the height"))));

// keras/src/layers/preprocessing/image_preprocessing/random_shear.py

class RandomShear final : public RandomWarp {
 public:
  explicit RandomShear(const RandomShearSpec& spec)
      : RandomWarp(spec), x_(factor_range(spec.x_factor)), y_(factor_range(spec.y_factor)) {}

 protected:
  WarpMatrix draw(RandomStream& stream, double, double) const override {
    const double sign = stream.uniform() > 0.5F ? -1 : 1;
    const auto y = static_cast<double>(uniform(stream, y_.first, y_.second));
    const auto x = static_cast<double>(uniform(stream, x_.first, x_.second));
    return shear_matrix(sign * x, sign * y);
  }

 private:
  std::pair<double, double> x_, y_;
};

const RegisteredTransform kRandomShear = transform_def<RandomShearSpec, RandomShear>(with_warp_keys<RandomShearSpec>(
    config::Schema::of<RandomShearSpec>("RandomShear")
        .doc("shifts columns by `x_factor` of their row and rows by `y_factor` of their column, in either direction")
        .key(factor_key("x_factor", &RandomShearSpec::x_factor)
                 .at_least(0)
                 .doc("how far columns move for each row down: f for [-f, f], or [lower, upper]"))
        .key(factor_key("y_factor", &RandomShearSpec::y_factor)
                 .at_least(0)
                 .doc("how far rows move for each column to the right: f for [-f, f], or [lower, upper]"))));

}  // namespace

WarpMatrix shear_matrix(double x, double y) { return {1, x, 0, y, 1, 0}; }

}  // namespace dptrain::data
