#pragma once

// Reads one clip as a sample, for folders of clips and columns of paths. Any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/schema.h"
#include "data/images/image.h"
#include "data/video/clip.h"
#include "data/video/clip_list.h"

namespace dptrain::data {

/// First frame of a training sample.
enum class ClipStart { kRandom, kMiddle, kFirst };
/// Treatment of clips with too few frames.
enum class ShortClips { kRepeatLast, kFail };

/// Options that turn a clip into a sample [frames, height, width, channels].
struct ClipReading {
  std::int64_t frames = 16;
  std::int64_t stride = 1;               ///< frames of the clip per frame of the sample
  std::vector<std::int64_t> image_size;  ///< [height, width]; empty: not resized
  Interpolation interpolation = Interpolation::kBilinear;
  ColorMode color_mode = ColorMode::kRgb;
  Exif exif = Exif::kRotate;
  ClipStart start = ClipStart::kRandom;
  ShortClips short_clips = ShortClips::kRepeatLast;

  /// Shape of a sample; extents that differ between clips are 0.
  Shape extents() const;
};

/// Numbers of the frames to read from a clip of `count` frames. `draw` determines a random start. Without `draw`,
/// kRandom equals kMiddle: the first frame is max(0, count - span) / 2. Throws ClipError for a short clip with kFail.
std::vector<std::int64_t> pick_frames(const ClipReading& reading, std::int64_t count,
                                      const std::optional<DrawKey>& draw);

/// Reads into `out`, u8 [frames, H, W, C]. Throws SampleError with the clip's path.
void read_clip(const Clip& clip, const ClipReading& reading, const ReadHint& hint, Array& out);
/// Decodes every frame. Throws SampleError.
ClipInfo inspect_clip(const Clip& clip, const ClipReading& reading);
/// Shape from the clip's header; empty for a clip that cannot be read.
Shape peek_clip(const Clip& clip, const ClipReading& reading);

/// Returns an error message for `image_size`, or "".
std::string check_image_size(const std::vector<std::int64_t>& size);

/// Adds the keys of ClipReading to the schema of a Spec that derives from it.
template <class Spec>
config::Schema with_clip_keys(config::Schema schema);

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct EnumNames<data::ClipStart> {
  static constexpr std::array names{std::pair{data::ClipStart::kRandom, "random"},
                                    std::pair{data::ClipStart::kMiddle, "middle"},
                                    std::pair{data::ClipStart::kFirst, "first"}};
};
template <>
struct EnumNames<data::ShortClips> {
  static constexpr std::array names{std::pair{data::ShortClips::kRepeatLast, "repeat_last"},
                                    std::pair{data::ShortClips::kFail, "fail"}};
};
}  // namespace dptrain::config

template <class Spec>
dptrain::config::Schema dptrain::data::with_clip_keys(config::Schema schema) {
  using config::key;
  const auto add = [&](const auto& k) { schema.add(k.template field<Spec>()); };
  add(key("frames", &ClipReading::frames).at_least(1).at_most(65536).doc("number of frames of a sample"));
  add(key("stride", &ClipReading::stride)
          .at_least(1)
          .at_most(65536)
          .doc("frames of the file from one frame of a sample to the next"));
  add(key("image_size", &ClipReading::image_size)
          .at_least(1)
          .at_most(65536)
          .check(check_image_size)
          .doc("[height, width] to which frames are resized while decoding; default: as stored"));
  add(key("interpolation", &ClipReading::interpolation).doc("how frames are resized to `image_size`"));
  add(key("color_mode", &ClipReading::color_mode).doc("1, 3 or 4 channels"));
  add(key("exif", &ClipReading::exif)
          .doc("rotate: turn frames upright by the orientation in the file; ignore: as stored"));
  add(key("start", &ClipReading::start).doc("first frame of a training clip; random: drawn again in every epoch"));
  add(key("short_clips", &ClipReading::short_clips).doc("for clips with too few frames: repeat the last one, or fail"));
  return schema;
}
