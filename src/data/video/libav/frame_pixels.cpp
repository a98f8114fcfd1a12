#include "data/video/libav/frame_pixels.h"

#include <algorithm>
#include <array>

#include "core/format.h"
#include "data/images/finish.h"
#include "data/images/image_decoders.h"

namespace dptrain::data::libav {
namespace {

AVPixelFormat format_of(ColorMode color) {
  switch (color) {
    case ColorMode::kGrayscale: return AV_PIX_FMT_GRAY8;
    case ColorMode::kRgb: return AV_PIX_FMT_RGB24;
    case ColorMode::kRgba: return AV_PIX_FMT_RGBA;
  }
  return AV_PIX_FMT_RGB24;
}

bool is_full_range(const AVFrame& frame) {
  switch (frame.format) {
    case AV_PIX_FMT_YUVJ411P:
    case AV_PIX_FMT_YUVJ420P:
    case AV_PIX_FMT_YUVJ422P:
    case AV_PIX_FMT_YUVJ440P:
    case AV_PIX_FMT_YUVJ444P: return true;
    default: return frame.color_range == AVCOL_RANGE_JPEG;
  }
}

/// What a scaler is made for.
struct Kind {
  int height = 0, width = 0, format = AV_PIX_FMT_NONE, space = 0;
  bool full_range = false;
  int out_height = 0, out_width = 0;
  AVPixelFormat out_format = AV_PIX_FMT_NONE;
  int flags = 0;
  bool operator==(const Kind&) const = default;
};

void free_scaler(SwsContext* scaler) { functions().free_scaler(scaler); }

/// The scaler of the last kind of frame that a thread has met.
class Scaler {
 public:
  SwsContext* get(const Kind& kind) {
    if (scaler_.get() != nullptr && kind == kind_) return scaler_.get();
    const Functions& f = functions();
    scaler_.reset(f.get_scaler(kind.width, kind.height, static_cast<AVPixelFormat>(kind.format), kind.out_width,
                               kind.out_height, kind.out_format, kind.flags, nullptr, nullptr, nullptr));
    if (scaler_.get() == nullptr) throw ClipError("libswscale does not know the format of its pixels");
    constexpr int kNoChange = 1 << 16;
    const int* const from = f.coefficients(kind.space);
    const int* const to = f.coefficients(SWS_CS_DEFAULT);
    f.set_colours(scaler_.get(), from, kind.full_range ? 1 : 0, to, 1, 0, kNoChange, kNoChange);  // -1: none to set
    kind_ = kind;
    return scaler_.get();
  }

 private:
  Kind kind_;
  Owned<SwsContext, free_scaler> scaler_;
};

/// `pixels` [height, width, channels] of the frame, not turned. The scaler writes whole registers: its rows are longer.
void scale(const AVFrame& frame, std::int64_t height, std::int64_t width, const FrameOptions& options,
           std::uint8_t* pixels) {
  thread_local Scaler scaler;
  thread_local std::vector<std::uint8_t> rows;
  constexpr std::int64_t kSpare = 64;
  const Kind kind{.height = frame.height,
                  .width = frame.width,
                  .format = frame.format,
                  .space = frame.colorspace,
                  .full_range = is_full_range(frame),
                  .out_height = static_cast<int>(height),
                  .out_width = static_cast<int>(width),
                  .out_format = format_of(options.color),
                  .flags = options.interpolation == Interpolation::kNearest ? SWS_POINT : SWS_BILINEAR};
  const std::int64_t row = width * channels_of(options.color);
  const std::int64_t stride = (row + 2 * kSpare - 1) / kSpare * kSpare;
  rows.resize(static_cast<std::size_t>((height + 1) * stride + kSpare));
  const auto misplaced = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(rows.data()) % kSpare);
  std::uint8_t* const first = rows.data() + (kSpare - misplaced) % kSpare;
  const std::array<std::uint8_t*, 4> planes{first};
  const std::array<int, 4> strides{static_cast<int>(stride)};
  if (functions().scale(scaler.get(kind), frame.data, frame.linesize, 0, frame.height, planes.data(), strides.data()) !=
      kind.out_height)
    throw ClipError("libswscale cannot convert its frames");
  for (std::int64_t y = 0; y < height; ++y) std::copy_n(first + y * stride, row, pixels + y * row);
}

}  // namespace

void add_frame(const AVFrame& frame, int exif_orientation, const FrameOptions& options, ClipBuffer& to) {
  check_pixels(frame.height, frame.width, 0);
  const bool sideways = swaps_axes(exif_orientation);
  std::int64_t height = options.resizes() ? options.height : sideways ? frame.width : frame.height;
  std::int64_t width = options.resizes() ? options.width : sideways ? frame.height : frame.width;
  if (exif_orientation == 1) return scale(frame, height, width, options, to.next(height, width));
  thread_local Array lying;  // of a worker
  if (sideways) std::swap(height, width);
  lying.shape = Shape{height, width, channels_of(options.color)};
  lying.type = DType::kU8;
  lying.u8.resize(static_cast<std::size_t>(lying.shape.elements()));
  scale(frame, height, width, options, lying.u8.data());
  apply_orientation(exif_orientation, lying);
  std::copy(lying.u8.begin(), lying.u8.end(), to.next(lying.shape[0], lying.shape[1]));
}

}  // namespace dptrain::data::libav
