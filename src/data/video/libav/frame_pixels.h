#pragma once

// A decoded frame as bytes [H, W, C]: its colour space, range, size and orientation become those of the options. Any
// thread; each keeps the tables of the last kind of frame.

#include "data/video/clip.h"
#include "data/video/libav/libav.h"

namespace dptrain::data::libav {

/// The next frame of the buffer. Throws ClipError.
void add_frame(const AVFrame& frame, int exif_orientation, const FrameOptions& options, ClipBuffer& to);

}  // namespace dptrain::data::libav
