#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/on_error.h"
#include "data/sources/dataset.h"
#include "data/video/clip_reading.h"

namespace dptrain::data {

/// Folders of clips, one per class: video files, or folders of frames (video.cpp). A sample is [frames, height, width,
/// channels].
struct VideoSpec : DatasetCommon, ClipReading {
  config::Path directory;
  OnError on_error;
};

/// Clips without labels: the video files and folders of frames among `paths`, and all clips below its other folders.
/// label_place() returns the sample's file or folder. Ignores `options.directory` and `options.class_names`. Throws
/// Error{kData}.
std::shared_ptr<const Source> open_clips(const std::vector<std::string>& paths, const VideoSpec& options);

}  // namespace dptrain::data
