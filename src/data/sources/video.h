#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/on_error.h"
#include "data/sources/dataset.h"
#include "data/video/clip_reading.h"

namespace dptrain::data {

/// Folders of clips, one per class: files of videos, or folders of frames (video.cpp). A sample is
/// [frames, height, width, channels].
struct VideoSpec : DatasetCommon, ClipReading {
  config::Path directory;
  OnError on_error;
};

/// Clips without labels: `paths` are clips, files and folders of frames, or folders of clips, taken with all below
/// them; label_place() is a sample's file or folder. Of `options`, directory and class_names are not used. Throws
/// Error{kData}.
std::shared_ptr<const Source> open_clips(const std::vector<std::string>& paths, const VideoSpec& options);

}  // namespace dptrain::data
