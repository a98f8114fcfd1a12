// Replaces libav/ in builds without the headers of FFmpeg's libraries. All functions throw.

#include "data/video/clip.h"

namespace dptrain::data {

void need_clip_files() {
  throw Error(ErrorKind::kData,
              "this dptrain was built without the headers of FFmpeg and reads no files of clips; folders of frames "
              "(class/clip/0001.jpg ...) work, and so does a build with libavformat-dev, libavcodec-dev and "
              "libswscale-dev");
}

void read_clip_file(const std::string&, const PickFrames&, const FrameOptions&, Array&) { need_clip_files(); }

ClipInfo check_clip_file(const std::string&) { return need_clip_files(), ClipInfo{}; }

ClipInfo peek_clip_file(const std::string&) { return need_clip_files(), ClipInfo{}; }

}  // namespace dptrain::data
