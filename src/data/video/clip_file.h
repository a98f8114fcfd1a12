#pragma once

// A clip as a file: what the libraries of FFmpeg read, through libavformat, libavcodec and libswscale. They are opened
// when the first file is read, never linked: the executable starts without them. Where their headers were not there
// when it was built, clip_file_stub.cpp says so. Files are read on one thread each and never held whole; the reader
// goes to the last key frame in front of the first frame that is wanted, and leaves out what nobody needs.

#include <string>

#include "data/video/clip.h"

namespace dptrain::data {

/// One plain sentence, as Error{kData}, where this machine cannot read files of clips.
void need_clip_files();

/// `out` becomes u8 [frames, H, W, C]. A file that is cut short, and a wanted frame, or one that it depends on, with
/// damage that the decoder sees, is an error. Throws ClipError.
void read_clip_file(const std::string& path, const PickFrames& pick, const FrameOptions& options, Array& out);
/// Decodes every frame. Throws ClipError.
ClipInfo check_clip_file(const std::string& path);
/// By the container's header, without the number of frames. Throws ClipError.
ClipInfo peek_clip_file(const std::string& path);

}  // namespace dptrain::data
