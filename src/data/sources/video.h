#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/on_error.h"
#include "data/sources/dataset.h"
#include "data/sources/image_folder.h"
#include "data/video/clip.h"

namespace dptrain::data {

/// Where a training clip begins.
enum class ClipStart { kRandom, kMiddle, kFirst };
/// What becomes of a clip that has too few frames.
enum class ShortClips { kRepeatLast, kFail };

/// Folders of clips, one per class: files of videos, or folders of frames (video.cpp). A sample is
/// [frames, height, width, channels].
struct VideoSpec : DatasetCommon {
  config::Path directory;
  std::int64_t frames = 16;
  std::int64_t stride = 1;               ///< from one frame to the next
  std::vector<std::int64_t> image_size;  ///< [height, width]; empty: as the clips are
  Interpolation interpolation = Interpolation::kBilinear;
  ColorMode color_mode = ColorMode::kRgb;
  Exif exif = Exif::kRotate;
  ClipStart start = ClipStart::kRandom;
  ShortClips short_clips = ShortClips::kRepeatLast;
  OnError on_error;
};

/// The frames that a clip of `count` gives. In training `draw` says where a random start lies; without it, and with
/// ClipStart::kMiddle, the frames lie in the middle: number (count - span) / 2, rounded down, is the first. Throws
/// ClipError where it is too short and may not be.
std::vector<std::int64_t> pick_frames(const VideoSpec& spec, std::int64_t count, const std::optional<DrawKey>& draw);

/// Clips without labels: `paths` are clips, files and folders of frames, or folders of clips, taken with all below
/// them; label_place() is a sample's file or folder. Of `options`, directory and class_names are not used. Throws
/// Error{kData}.
std::shared_ptr<const Source> open_clips(const std::vector<std::string>& paths, const VideoSpec& options);

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
