#pragma once

// A decoded frame as bytes [H, W, C]: its colour space, range, size and orientation become those of the options. Any
// thread; each keeps the tables of the last kind of frame.

#include "data/video/clip.h"
#include "data/video/libav/libav.h"

namespace dptrain::data::libav {

/// The next frame of the buffer. Throws ClipError.
void add_frame(const AVFrame& frame, int exif_orientation, const FrameOptions& options, ClipBuffer& to);

/// 1, 3, 6 or 8: how the file says that its frames are to be turned.
int orientation_of(const AVFrame& frame);

}  // namespace dptrain::data::libav
