#include "data/video/clip.h"

#include <algorithm>

#include "core/format.h"
#include "core/text.h"
#include "data/images/image_decoders.h"

namespace dptrain::data {
namespace {

/// 16 GiB. Protects memory from damaged headers.
constexpr std::int64_t kMaxClipBytes = std::int64_t{1} << 34;

}  // namespace

ClipBuffer::ClipBuffer(Array& out, std::int64_t frames, ColorMode color)
    : out_(out), wanted_(frames), channels_(channels_of(color)) {
  out_.type = DType::kU8;
  out_.shape = {};
}

std::uint8_t* ClipBuffer::next(std::int64_t height, std::int64_t width) {
  if (filled_ == 0) {
    if (height < 1 || width < 1 || width > kMaxPixels / height ||
        height * width > kMaxClipBytes / (wanted_ * channels_))
      throw ClipError(fmt::format("{} frames of {} x {} pixels, too large for a clip", with_commas(wanted_),
                                  with_commas(width), with_commas(height)));
    out_.shape = Shape{wanted_, height, width, channels_};
    out_.u8.resize(static_cast<std::size_t>(out_.shape.elements()));
  } else if (height != out_.shape[1] || width != out_.shape[2]) {
    throw ClipError(fmt::format("a frame is {}x{}, those before it {}x{}; image_size makes all of one size", height,
                                width, out_.shape[1], out_.shape[2]));
  }
  return out_.u8.data() + (filled_++) * (height * width * channels_);
}

void ClipBuffer::repeat() {
  const std::int64_t height = out_.shape[1], width = out_.shape[2];
  std::uint8_t* const to = next(height, width);
  const std::int64_t bytes = height * width * channels_;
  std::copy_n(to - bytes, bytes, to);
}

void add_frame(const ImageView& image, const FrameOptions& options, ClipBuffer& to) {
  const std::int64_t height = image.shape[0], width = image.shape[1];
  if (!options.resizes() || (height == options.height && width == options.width)) {
    std::copy_n(image.u8(), image.shape.elements(), to.next(height, width));
    return;
  }
  thread_local Array resized;
  const bool smooth = options.interpolation == Interpolation::kBilinear;
  resize_image(
      image, whole(image.shape),
      {.height = options.height, .width = options.width, .interpolation = options.interpolation, .antialias = smooth},
      resized);
  std::uint8_t* const out = to.next(options.height, options.width);
  if (resized.type == DType::kU8) {
    std::copy(resized.u8.begin(), resized.u8.end(), out);
  } else {
    std::transform(resized.f32.begin(), resized.f32.end(), out,
                   [](float value) { return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F) + 0.5F); });
  }
}

}  // namespace dptrain::data
