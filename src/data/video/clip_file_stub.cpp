// Replaces libav/ in builds without the headers of FFmpeg's libraries. All functions throw.

#include "data/video/clip.h"

namespace dptrain::data {

void require_clip_files() {
  throw Error(ErrorKind::kData,
              "this dptrain was built without the headers of FFmpeg and cannot read video files; use folders of frames "
              "(class/clip/0001.jpg ...), or build it with libavformat-dev, libavcodec-dev and libswscale-dev");
}

void read_clip_file(const std::string&, const PickFrames&, const FrameOptions&, Array&) { require_clip_files(); }

ClipInfo check_clip_file(const std::string&) { return require_clip_files(), ClipInfo{}; }

ClipInfo peek_clip_file(const std::string&) { return require_clip_files(), ClipInfo{}; }

}  // namespace dptrain::data
