#include "data/video/clip_file.h"

#include <algorithm>
#include <optional>

#include "core/format.h"
#include "core/text.h"
#include "data/images/image_decoders.h"
#include "data/video/libav/container.h"
#include "data/video/libav/decoder.h"
#include "data/video/libav/frame_pixels.h"

namespace dptrain::data {
namespace {

using libav::Container;
using libav::Decoder;
using libav::Frame;
using libav::FrameTimes;
using libav::Packet;

/// Frames as they are decoded, and those among them that are wanted.
class Collector {
 public:
  Collector(const std::vector<std::int64_t>& picks, const FrameOptions& options, int orientation, Array& out)
      : picks_(picks),
        options_(options),
        orientation_(options.rotate ? orientation : 1),
        buffer_(out, std::ssize(picks), options.color) {}

  bool is_done() const { return taken_ == picks_.size(); }
  bool wants(std::int64_t number) const { return std::binary_search(picks_.begin(), picks_.end(), number); }
  /// The frame that was to come and has not.
  std::int64_t next() const { return picks_[taken_]; }
  /// False: a wanted frame is missing in front of this one.
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

/// Decodes from where the container stands, with the packet of time `first` where that is given, until all frames are
/// collected. Without times frames are counted from the beginning. False: a wanted frame has not come.
bool collect(Container& container, const FrameTimes& times, std::optional<std::int64_t> first, Collector& collector) {
  Decoder decoder(container.parameters());
  Packet packet;
  Frame frame;
  std::int64_t counted = 0;
  for (bool more = true; !decoder.is_done();) {
    if (more) more = container.next(packet);
    if (more && first && packet->pts != *first) return false;
    first.reset();
    const bool wanted = !more || !times.known() || collector.wants(times.at(packet->pts));
    if (!wanted && times.independent) continue;
    decoder.send(more ? packet.get() : nullptr, wanted);
    while (decoder.receive(frame)) {
      const std::int64_t time = frame->pts != AV_NOPTS_VALUE ? frame->pts : frame->best_effort_timestamp;
      if (!collector.take(times.known() ? times.at(time) : counted++, *frame.get())) return false;
      if (collector.is_done()) return true;
    }
    if (!more && !decoder.is_done()) throw ClipError("the decoder does not come to an end");
  }
  return collector.is_done();
}

/// From the last key frame in front of the first frame that is wanted. False: it has to be done from the beginning,
/// where an error, if there is one, shows again.
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

void need_clip_files() { libav::functions(); }

void read_clip_file(const std::string& path, const PickFrames& pick, const FrameOptions& options, Array& out) {
  Container container(path);
  const FrameTimes times = container.times();
  if (times.frames == 0) throw ClipError("has no frames");
  const std::vector<std::int64_t> picks = pick(times.frames);
  {
    Collector collector(picks, options, container.orientation(), out);
    if (collect_from_key(container, times, collector)) return;
  }
  Container again(path);  // not every container can go back to its beginning
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
