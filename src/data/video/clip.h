#pragma once

// What readers of clips share: which frames are wanted, how, and where they go. A clip is a file of a video, or a
// folder of images in the order of their names. Values; a ClipBuffer belongs to one thread.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/images/image.h"
#include "data/images/image_resize.h"

namespace dptrain::data {

/// Why a clip could not be read: where in the file, or -1, and the decoder's words.
class ClipError : public Error {
 public:
  explicit ClipError(const std::string& words, std::int64_t byte = -1)
      : Error(ErrorKind::kData, words), byte_(byte), words_(words) {}
  std::int64_t byte() const noexcept { return byte_; }
  const std::string& words() const noexcept { return words_; }

 private:
  std::int64_t byte_;
  std::string words_;
};

/// The wanted frames of a clip of `count` frames, by number: ascending, a number may come again. Throws ClipError.
using PickFrames = std::function<std::vector<std::int64_t>(std::int64_t count)>;

/// How a frame becomes pixels.
struct FrameOptions {
  ColorMode color = ColorMode::kRgb;
  bool rotate = true;                  ///< upright, as the file says
  std::int64_t height = 0, width = 0;  ///< 0: as it is
  Interpolation interpolation = Interpolation::kBilinear;

  bool resizes() const { return height > 0; }
};

/// [frames, H, W, C] of bytes that fills frame by frame.
class ClipBuffer {
 public:
  ClipBuffer(Array& out, std::int64_t frames, ColorMode color);

  /// Where the next frame goes, all of whose bytes are then written. The first one says how large they are; throws
  /// ClipError for one of another size, and for more bytes than a clip may have.
  std::uint8_t* next(std::int64_t height, std::int64_t width);
  /// The frame before once more.
  void repeat();
  std::int64_t frames() const { return filled_; }

 private:
  Array& out_;
  std::int64_t wanted_, channels_, filled_ = 0;
};

/// The next frame of the buffer from an image of bytes [H, W, C], resized where the options say so: bilinear with a
/// filter as wide as the step (antialias), rounded.
void add_frame(const ImageView& image, const FrameOptions& options, ClipBuffer& to);

// A clip as a file: what the libraries of FFmpeg read, through libavformat, libavcodec and libswscale. They are opened
// when the first file is read, never linked: the executable starts without them. Where their headers were not there
// when it was built, clip_file_stub.cpp says so. Files are read on one thread each and never held whole; the reader
// goes to the last key frame in front of the first frame that is wanted, and leaves out what nobody needs.

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
