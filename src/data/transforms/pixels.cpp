#include "data/transforms/pixels.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::data {
namespace {

/// The part of a window inside the image, in coordinates of the window.
struct Inner {
  std::int64_t top, bottom, left, right;

  Inner(const Shape& image, const Window& window) {
    top = std::clamp<std::int64_t>(-window.top, 0, window.height);
    bottom = std::clamp<std::int64_t>(image[0] - window.top, top, window.height);
    left = std::clamp<std::int64_t>(-window.left, 0, window.width);
    right = std::clamp<std::int64_t>(image[1] - window.left, left, window.width);
  }
  bool all(const Window& window) const {
    return top == 0 && left == 0 && bottom == window.height && right == window.width;
  }
};

template <class T>
void crop_pixels(const T* from, const Shape& shape, const Window& window, T fill, std::vector<T>& to) {
  const std::int64_t channels = shape[2];
  const Inner inner(shape, window);
  to.assign(static_cast<std::size_t>(window.height * window.width * channels), fill);
  for (std::int64_t row = inner.top; row < inner.bottom; ++row) {
    std::copy_n(from + ((row + window.top) * shape[1] + window.left + inner.left) * channels,
                (inner.right - inner.left) * channels, to.begin() + (row * window.width + inner.left) * channels);
  }
}

/// Writes mapped zeros.
void fill_zeros(const kernels::cpu::PixelMap& map, std::int64_t places, std::int64_t channels, float* out) {
  for (std::int64_t i = 0; i < places; ++i, out += channels) std::copy_n(map.offset, channels, out);
}

}  // namespace

void check_image(const Shape& shape) {
  if (shape.rank() != 0 && shape.rank() != 3)
    throw Error(ErrorKind::kUsage,
                fmt::format("samples must be images of height x width x channels, found {}", shape.str()));
}

void check_rgb(const Shape& shape) {
  check_image(shape);
  if (shape.rank() != 0 && shape[2] != 3)
    throw Error(ErrorKind::kUsage, fmt::format("samples must be images of 3 channels, RGB, found {}", shape.str()));
}

void clip(std::vector<float>& values, const std::vector<double>& range) {
  const auto low = static_cast<float>(range[0]), high = static_cast<float>(range[1]);
  for (float& x : values) x = std::min(std::max(x, low), high);
}

void copy_image(const ImageView& image, Array& out) {
  if (image.type == DType::kF32) return copy_floats(image, out);
  out.shape = image.shape;
  out.type = DType::kU8;
  out.u8.assign(image.u8(), image.u8() + image.shape.elements());
}

void set_frame(const Array& frame, std::int64_t which, std::int64_t count, Array& out) {
  const auto elements = static_cast<std::size_t>(frame.shape.elements());
  const std::size_t first = elements * static_cast<std::size_t>(which);
  if (which == 0) {
    out.shape = Shape{count, frame.shape[0], frame.shape[1], frame.shape[2]};
    out.type = frame.type;
    const std::size_t all = elements * static_cast<std::size_t>(count);
    frame.type == DType::kU8 ? out.u8.resize(all) : out.f32.resize(all);
  }
  if (frame.type == DType::kU8) {
    std::copy_n(frame.u8.data(), elements, out.u8.data() + first);
  } else {
    std::copy_n(frame.f32.data(), elements, out.f32.data() + first);
  }
}

void copy_floats(const ImageView& image, Array& out) {
  const std::int64_t elements = image.shape.elements();
  out.shape = image.shape;
  out.type = DType::kF32;
  out.f32.resize(static_cast<std::size_t>(elements));
  if (image.type == DType::kU8) {
    kernels::cpu::u8_to_f32(image.u8(), 1, 0, out.f32.data(), elements);
  } else {
    std::copy_n(image.f32(), elements, out.f32.data());
  }
}

void crop(const ImageView& image, const Window& window, float fill, Array& out) {
  if (image.type == DType::kU8) {
    crop_pixels(image.u8(), image.shape, window, static_cast<std::uint8_t>(fill), out.u8);
  } else {
    crop_pixels(image.f32(), image.shape, window, fill, out.f32);
  }
  out.type = image.type;
  out.shape = Shape{window.height, window.width, image.shape[2]};
}

void crop(const ImageView& image, const Window& window, const Finish& finish, float* out) {
  with_pixels(image, finish.map, [&](auto in) {
    const KernelMap map(finish.map, in.channels);
    const Inner inner(image.shape, window);
    if (!inner.all(window)) fill_zeros(map.get(), window.height * window.width, in.channels, out);
    in.data += (inner.top + window.top) * in.stride + (inner.left + window.left) * in.channels;
    in.height = inner.bottom - inner.top;
    in.width = inner.right - inner.left;
    if (in.height == 0 || in.width == 0) return;
    const std::int64_t top = finish.mirror.y ? window.height - inner.bottom : inner.top;
    const std::int64_t left = finish.mirror.x ? window.width - inner.right : inner.left;
    kernels::cpu::map_pixels(in, map.get(), finish.mirror.x, finish.mirror.y,
                             out + (top * window.width + left) * in.channels, window.width * in.channels);
  });
}

bool write_affine(const ChannelMap& map, kernels::PixelOp& op) {
  if (map.reverse || map.scale.size() > kernels::kMaxPixelChannels || map.scale.size() != map.offset.size())
    return false;
  op.kind = kernels::PixelOpKind::kAffine;
  op.per_channel = map.scale.size() > 1;
  std::ranges::copy(map.scale, op.scale);
  std::ranges::copy(map.offset, op.offset);
  return true;
}

void write_crop(std::int64_t height, std::int64_t width, std::int64_t padding, bool random, kernels::PixelOp& op) {
  op.kind = kernels::PixelOpKind::kCrop;
  op.height = static_cast<std::int32_t>(height);
  op.width = static_cast<std::int32_t>(width);
  op.padding = static_cast<std::int32_t>(padding);
  op.random = random;
}

void write_range(double low, double high, const std::vector<double>& value_range, kernels::PixelOp& op) {
  op.low = low;
  op.high = high;
  op.floor = static_cast<float>(value_range[0]);
  op.ceiling = static_cast<float>(value_range[1]);
  op.range = static_cast<float>(value_range[1] - value_range[0]);
}

}  // namespace dptrain::data
