#pragma once

// A clip as a folder of images: 0001.jpg, 0002.jpg, ... Read anew each time, nothing is kept. Any thread.

#include <string>
#include <vector>

#include "data/video/clip.h"

namespace dptrain::data {

/// The images of a folder by their suffixes, in order: numbers in names by their value, so that 2.jpg comes before
/// 10.jpg, all else by bytes; hidden ones are left out. Throws ClipError.
std::vector<std::string> frame_names(const std::string& folder);

/// `out` becomes u8 [frames, H, W, C]. Throws ClipError.
void read_frame_folder(const std::string& folder, const PickFrames& pick, const FrameOptions& options,
                       const ReadHint& hint, Array& out);
/// Decodes every frame. Throws ClipError.
ClipInfo check_frame_folder(const std::string& folder);
/// By the first frame's header. Throws ClipError.
ClipInfo peek_frame_folder(const std::string& folder);

}  // namespace dptrain::data
