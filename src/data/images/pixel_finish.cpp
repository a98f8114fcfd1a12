#include "data/images/pixel_finish.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::data {
namespace {

float at(const std::vector<float>& values, std::size_t c) { return values[values.size() == 1 ? 0 : c]; }

std::size_t channels_of(const ChannelMap& map) { return std::max(map.scale.size(), map.offset.size()); }

}  // namespace

ImageView view_of(const Array& array) {
  const bool bytes = array.type == DType::kU8;
  return {.shape = array.shape,
          .type = array.type,
          .data = bytes ? static_cast<const void*>(array.u8.data()) : array.f32.data()};
}

Shape frame_shape(const Shape& clip) { return {clip[1], clip[2], clip[3]}; }

ImageView frame_of(const ImageView& clip, std::int64_t frame) {
  ImageView view{.shape = frame_shape(clip.shape), .type = clip.type, .data = nullptr};
  const std::int64_t first = frame * view.shape.elements();
  view.data = clip.type == DType::kU8 ? static_cast<const void*>(clip.u8() + first) : clip.f32() + first;
  return view;
}

void ChannelMap::check(const Shape& shape) const {
  const auto channels = static_cast<std::int64_t>(channels_of(*this));
  if (shape.rank() == 0 || channels == 1 || shape.back() == channels) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("mean and variance are for {} channels, but samples are {}", channels, shape.str()));
}

ChannelMap operator*(const ChannelMap& second, const ChannelMap& first) {
  const std::size_t channels = std::max(channels_of(first), channels_of(second));
  ChannelMap both{.scale = std::vector<float>(channels),
                  .offset = std::vector<float>(channels),
                  .reverse = first.reverse != second.reverse};
  for (std::size_t c = 0; c < channels; ++c) {
    const std::size_t from = second.reverse ? channels - 1 - c : c;
    both.scale[c] = at(first.scale, from) * at(second.scale, c);
    both.offset[c] = at(first.offset, from) * at(second.scale, c) + at(second.offset, c);
  }
  return both;
}

KernelMap::KernelMap(const ChannelMap& map, std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  float* scale = few_.data();
  if (2 * count > few_.size()) {
    many_.resize(2 * count);
    scale = many_.data();
  }
  float* const offset = scale + count;
  for (std::size_t c = 0; c < count; ++c) {
    scale[c] = at(map.scale, c);
    offset[c] = at(map.offset, c);
  }
  map_ = {scale, offset, map.reverse};
}

void finish_image(const ImageView& image, const Finish& finish, float* out) {
  with_pixels(image, finish.map, [&](const auto& in) {
    const KernelMap map(finish.map, in.channels);
    kernels::cpu::map_pixels(in, map.get(), finish.mirror.x, finish.mirror.y, out, in.width * in.channels);
  });
}

void map_image(const ImageView& image, const ChannelMap& map, Array& out) {
  out.shape = image.shape;
  out.type = DType::kF32;
  out.f32.resize(static_cast<std::size_t>(image.shape.elements()));
  finish_image(image, {.map = map, .mirror = {}}, out.f32.data());
}

}  // namespace dptrain::data
