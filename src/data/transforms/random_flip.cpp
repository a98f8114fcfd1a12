#include "data/transforms/random_flip.h"

#include <algorithm>

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

/// out[y, x] = in, mirrored.
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
  Shape output(const Shape& input) const override {
    if (input.rank() > 0) check_image(input);
    return input;
  }
  void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const override {
    out.shape = in.shape;
    out.type = in.type;
    if (in.type == DType::kU8) {
      flip(in.u8(), in.shape, drawn(key, index), out.u8);
    } else {
      flip(in.f32(), in.shape, drawn(key, index), out.f32);
    }
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
        .positional(key("mode", &RandomFlipSpec::mode).doc("horizontal, vertical or both")));

}  // namespace

}  // namespace dptrain::data
