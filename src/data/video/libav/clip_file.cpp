#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "core/format.h"
#include "core/text.h"
#include "data/images/image_decoders.h"
#include "data/images/pixel_finish.h"
#include "data/video/clip.h"
#include "data/video/libav/container.h"
#include "data/video/libav/libav.h"

namespace dptrain::data::libav {
namespace {

/// Decodes packets to frames. Damage that the decoder conceals is an error. Used by one thread.
class Decoder {
 public:
  /// Throws ClipError.
  explicit Decoder(const AVCodecParameters& parameters);

  /// Sends a packet; null after the last one. `wanted` is false if the packet's frame is not requested. It is then
  /// decoded only if other frames depend on it. Throws ClipError.
  void send(const AVPacket* packet, bool wanted);
  /// Returns the next decoded frame; false if the decoder needs packets or has no more frames. Throws ClipError.
  bool receive(Frame& frame);
  bool is_done() const { return done_; }

 private:
  Codec codec_;
  bool done_ = false;
  std::int64_t place_ = -1;  ///< file offset of the last packet
};

/// Whether the decoder reports the damage that it conceals. With AV_EF_EXPLODE, such decoders treat odd but harmless
/// streams as errors.
bool reports_concealment(AVCodecID id) { return id == AV_CODEC_ID_H264 || id == AV_CODEC_ID_HEVC; }

Decoder::Decoder(const AVCodecParameters& parameters) {
  const Functions& f = functions();
  const AVCodec* const decoder = f.find_decoder(parameters.codec_id);
  if (decoder == nullptr)
    throw ClipError(fmt::format("FFmpeg's libavcodec has no decoder for {} here", f.codec_name(parameters.codec_id)));
  codec_.reset(f.alloc_codec(decoder));
  if (codec_.get() == nullptr) throw ClipError(error_text(AVERROR(ENOMEM)));
  if (const int error = f.set_parameters(codec_.get(), &parameters); error < 0) throw ClipError(error_text(error));
  codec_->thread_count = 1;  // the loader is already multi-threaded
  codec_->max_pixels = kMaxPixels;
  codec_->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER;
  if (!reports_concealment(parameters.codec_id)) codec_->err_recognition |= AV_EF_EXPLODE;
  if (const int error = f.open_codec(codec_.get(), decoder, nullptr); error < 0) throw ClipError(error_text(error));
}

void Decoder::send(const AVPacket* packet, bool wanted) {
  if (packet != nullptr) {
    place_ = packet->pos;
    codec_->skip_frame = wanted ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
  }
  if (const int error = functions().send_packet(codec_.get(), packet); error < 0 && error != AVERROR_EOF)
    throw ClipError(error_text(error), place_);
}

bool Decoder::receive(Frame& frame) {
  const Functions& f = functions();
  if (frame.get() == nullptr) frame.reset(f.alloc_frame());
  if (frame.get() == nullptr) throw ClipError(error_text(AVERROR(ENOMEM)));
  const int error = f.receive_frame(codec_.get(), frame.get());
  if (error == AVERROR(EAGAIN)) return false;
  if (error == AVERROR_EOF) return done_ = true, false;
  if (error < 0) throw ClipError(error_text(error), place_);
  if ((frame->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame->decode_error_flags != 0)
    throw ClipError("damaged: " + error_text(AVERROR_INVALIDDATA), place_);
  return true;
}

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

/// Parameters of a scaler.
struct Kind {
  int height = 0, width = 0, format = AV_PIX_FMT_NONE, space = 0;
  bool full_range = false;
  int out_height = 0, out_width = 0;
  AVPixelFormat out_format = AV_PIX_FMT_NONE;
  int flags = 0;
  bool operator==(const Kind&) const = default;
};

void free_scaler(SwsContext* scaler) { functions().free_scaler(scaler); }

/// Caches the scaler for the last kind of frame.
class Scaler {
 public:
  SwsContext* get(const Kind& kind) {
    if (scaler_.get() != nullptr && kind == kind_) return scaler_.get();
    const Functions& f = functions();
    scaler_.reset(f.get_scaler(kind.width, kind.height, static_cast<AVPixelFormat>(kind.format), kind.out_width,
                               kind.out_height, kind.out_format, kind.flags, nullptr, nullptr, nullptr));
    if (scaler_.get() == nullptr) throw ClipError("libswscale does not support its pixel format");
    constexpr int kNoChange = 1 << 16;
    const int* const from = f.coefficients(kind.space);
    const int* const to = f.coefficients(SWS_CS_DEFAULT);
    f.set_colours(scaler_.get(), from, kind.full_range ? 1 : 0, to, 1, 0, kNoChange, kNoChange);  // -1: no effect
    kind_ = kind;
    return scaler_.get();
  }

 private:
  Kind kind_;
  Owned<SwsContext, free_scaler> scaler_;
};

/// Writes `pixels` [height, width, channels] without rotation, through padded rows: the scaler writes whole vector
/// registers.
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

/// Converts the frame to bytes [H, W, C] and appends it to the buffer. The options set its color mode, size and
/// orientation. Each thread caches the scaler of the last kind of frame. Throws ClipError.
void add_frame(const AVFrame& frame, int exif_orientation, const FrameOptions& options, ClipBuffer& to) {
  check_pixels(frame.height, frame.width, 0);
  const bool sideways = swaps_axes(exif_orientation);
  std::int64_t height = options.resizes() ? options.height : sideways ? frame.width : frame.height;
  std::int64_t width = options.resizes() ? options.width : sideways ? frame.height : frame.width;
  if (exif_orientation == 1) return scale(frame, height, width, options, to.next(height, width));
  thread_local Array lying;
  if (sideways) std::swap(height, width);
  lying.shape = Shape{height, width, channels_of(options.color)};
  lying.type = DType::kU8;
  lying.u8.resize(static_cast<std::size_t>(lying.shape.elements()));
  scale(frame, height, width, options, lying.u8.data());
  apply_orientation(exif_orientation, lying);
  std::copy(lying.u8.begin(), lying.u8.end(), to.next(lying.shape[0], lying.shape[1]));
}

}  // namespace

}  // namespace dptrain::data::libav

namespace dptrain::data {
namespace {

using libav::Container;
using libav::Decoder;
using libav::Frame;
using libav::FrameTimes;
using libav::Packet;

/// Collects the requested frames from the decoded ones.
class Collector {
 public:
  Collector(const std::vector<std::int64_t>& picks, const FrameOptions& options, int orientation, Array& out)
      : picks_(picks),
        options_(options),
        orientation_(options.rotate ? orientation : 1),
        buffer_(out, std::ssize(picks), options.color) {}

  bool is_done() const { return taken_ == picks_.size(); }
  bool is_picked(std::int64_t number) const { return std::binary_search(picks_.begin(), picks_.end(), number); }
  /// Number of the next requested frame.
  std::int64_t next() const { return picks_[taken_]; }
  /// Returns false if a requested frame before this one is missing.
  bool take(std::int64_t number, const AVFrame& frame) {
    if (is_done() || number < next()) return true;
    if (number > next()) return false;
    libav::add_frame(frame, orientation_, options_, buffer_);
    for (++taken_; !is_done() && next() == number; ++taken_) buffer_.repeat();
    return true;
  }

 private:
  const std::vector<std::int64_t>& picks_;
  const FrameOptions& options_;
  const int orientation_;
  ClipBuffer buffer_;
  std::size_t taken_ = 0;
};

/// Decodes from the container's position until all frames are collected. `first`: expected time of the first packet.
/// Without times, frames are counted from the beginning. Returns false if a requested frame is missing or the
/// first packet has another time.
bool collect(Container& container, const FrameTimes& times, std::optional<std::int64_t> first, Collector& collector) {
  Decoder decoder(container.parameters());
  Packet packet;
  Frame frame;
  std::int64_t counted = 0;
  for (bool more = true; !decoder.is_done();) {
    if (more) more = container.next(packet);
    if (more && first && packet->pts != *first) return false;
    first.reset();
    const bool wanted = !more || !times.known() || collector.is_picked(times.at(packet->pts));
    if (!wanted && times.independent) continue;
    decoder.send(more ? packet.get() : nullptr, wanted);
    while (decoder.receive(frame)) {
      const std::int64_t time = frame->pts != AV_NOPTS_VALUE ? frame->pts : frame->best_effort_timestamp;
      if (!collector.take(times.known() ? times.at(time) : counted++, *frame.get())) return false;
      if (collector.is_done()) return true;
    }
    if (!more && !decoder.is_done()) throw ClipError("the decoder does not finish");
  }
  return collector.is_done();
}

/// Decodes from the last key frame before the first requested frame. Returns false if the caller must decode from the
/// beginning, where a real error occurs again.
bool collect_from_key(Container& container, const FrameTimes& times, Collector& collector) try {
  if (!times.known()) return false;
  const std::int64_t start = times.times[static_cast<std::size_t>(collector.next())];
  const auto key = std::upper_bound(times.keys.begin(), times.keys.end(), start);
  if (key == times.keys.begin() || !container.seek(*(key - 1))) return false;
  const bool is_first = key == times.keys.begin() + 1;
  return collect(container, times, is_first ? times.first : *(key - 1), collector);
} catch (const ClipError&) {
  return false;
}

}  // namespace

void require_clip_files() { libav::functions(); }

void read_clip_file(const std::string& path, const PickFrames& pick, const FrameOptions& options, Array& out) {
  Container container(path);
  const FrameTimes times = container.times();
  if (times.frames == 0) throw ClipError("has no frames");
  const std::vector<std::int64_t> picks = pick(times.frames);
  {
    Collector collector(picks, options, container.orientation(), out);
    if (collect_from_key(container, times, collector)) return;
  }
  Container again(path);  // not every container can seek to its beginning
  Collector collector(picks, options, container.orientation(), out);
  if (!collect(again, times, std::nullopt, collector))
    throw ClipError(
        fmt::format("frame {} of {} cannot be decoded", with_commas(collector.next() + 1), with_commas(times.frames)));
}

ClipInfo check_clip_file(const std::string& path) {
  Container container(path);
  Decoder decoder(container.parameters());
  ClipInfo info{.format = container.format() + " " + libav::functions().codec_name(container.parameters().codec_id)};
  Packet packet;
  Frame frame;
  std::int64_t packets = 0;
  for (bool more = true; !decoder.is_done();) {
    if (more) more = container.next(packet);
    if (more && (packet->flags & AV_PKT_FLAG_DISCARD) == 0) ++packets;
    decoder.send(more ? packet.get() : nullptr, true);
    while (decoder.receive(frame)) {
      ++info.frames;
      const bool sideways = swaps_axes(container.orientation());
      info.height = sideways ? frame->width : frame->height;
      info.width = sideways ? frame->height : frame->width;
    }
  }
  if (info.frames == 0) throw ClipError("has no frames");
  if (info.frames < packets)
    throw ClipError(fmt::format("{} of {} frames can be decoded", with_commas(info.frames), with_commas(packets)));
  return info;
}

ClipInfo peek_clip_file(const std::string& path) {
  const Container container(path);
  const AVCodecParameters& parameters = container.parameters();
  const bool sideways = swaps_axes(container.orientation());
  return {.format = container.format() + " " + libav::functions().codec_name(parameters.codec_id),
          .height = sideways ? parameters.width : parameters.height,
          .width = sideways ? parameters.height : parameters.width};
}

}  // namespace dptrain::data
