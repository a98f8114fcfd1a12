#include "data/video/clip_reading.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/random.h"
#include "core/text.h"
#include "data/images/image_decoders.h"
#include "data/on_error.h"
#include "data/video/clip.h"
#include "data/video/clip_list.h"

namespace dptrain::data {
namespace {

FrameOptions frame_options(const ClipReading& reading) {
  FrameOptions options;
  options.color = reading.color_mode;
  options.rotate = reading.exif == Exif::kRotate;
  options.interpolation = reading.interpolation;
  if (!reading.image_size.empty()) options.height = reading.image_size[0], options.width = reading.image_size[1];
  return options;
}

template <class F>
void as_sample(const Clip& clip, const F& f) {
  try {
    f();
  } catch (const ClipError& error) {
    throw SampleError({.file = clip.path, .byte = error.byte(), .reason = error.reason()});
  } catch (const ImageError& error) {
    throw SampleError({.file = clip.path, .byte = error.byte(), .reason = error.reason()});
  }
}

}  // namespace

Shape ClipReading::extents() const {
  return {frames, image_size.empty() ? 0 : image_size[0], image_size.empty() ? 0 : image_size[1],
          channels_of(color_mode)};
}

std::vector<std::int64_t> pick_frames(const ClipReading& reading, std::int64_t count,
                                      const std::optional<DrawKey>& draw) {
  const std::int64_t span = (reading.frames - 1) * reading.stride + 1, room = std::max<std::int64_t>(0, count - span);
  if (count < span && reading.short_clips == ShortClips::kFail)
    throw ClipError(fmt::format("has {} frames; {} frames with a stride of {} need {}", with_commas(count),
                                reading.frames, reading.stride, with_commas(span)));
  std::int64_t first = 0;
  if (reading.start == ClipStart::kRandom && draw) {
    RandomStream stream(draw->seed, static_cast<std::uint32_t>(Purpose::kClip), draw->sample, draw->epoch);
    first = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room) + 1));
  } else if (reading.start != ClipStart::kFirst) {
    first = room / 2;
  }
  std::vector<std::int64_t> picks(static_cast<std::size_t>(reading.frames));
  for (std::int64_t i = 0; i < reading.frames; ++i)
    picks[static_cast<std::size_t>(i)] = std::min(first + i * reading.stride, count - 1);
  return picks;
}

void read_clip(const Clip& clip, const ClipReading& reading, const ReadHint& hint, Array& out) {
  const auto pick = [&](std::int64_t count) { return pick_frames(reading, count, hint.draw); };
  as_sample(clip, [&] {
    if (clip.frames)
      read_frame_folder(clip.path, pick, frame_options(reading), hint, out);
    else
      read_clip_file(clip.path, pick, frame_options(reading), out);
  });
}

ClipInfo inspect_clip(const Clip& clip, const ClipReading& reading) {
  ClipInfo info;
  as_sample(clip, [&] {
    info = clip.frames ? check_frame_folder(clip.path) : check_clip_file(clip.path);
    pick_frames(reading, info.frames, std::nullopt);  // throws if the clip is too short
  });
  return info;
}

Shape peek_clip(const Clip& clip, const ClipReading& reading) {
  if (const Shape all = reading.extents(); all.elements() > 0) return all;
  try {
    const ClipInfo info = clip.frames ? peek_frame_folder(clip.path) : peek_clip_file(clip.path);
    return {reading.frames, info.height, info.width, channels_of(reading.color_mode)};
  } catch (const Error&) {  // read_clip() reports the error
    return {};
  }
}

std::string check_image_size(const std::vector<std::int64_t>& size) {
  return size.empty() || size.size() == 2 ? "" : "must be [height, width]";
}

}  // namespace dptrain::data
