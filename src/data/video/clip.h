#pragma once

// Readers of clips and their options. A clip is a video file, or a folder of images in the order of their names. A
// ClipBuffer is used by one thread; all else is plain values and functions for any thread.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/images/image.h"
#include "data/images/image_resize.h"

namespace dptrain::data {

/// A clip that cannot be read: the byte offset in the file, or -1, and the decoder's message.
class ClipError : public Error {
 public:
  explicit ClipError(const std::string& reason, std::int64_t byte = -1)
      : Error(ErrorKind::kData, reason), byte_(byte), reason_(reason) {}
  std::int64_t byte() const noexcept { return byte_; }
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::int64_t byte_;
  std::string reason_;
};

/// Numbers of the frames to read from a clip of `count` frames: ascending, possibly repeated. Throws ClipError.
using PickFrames = std::function<std::vector<std::int64_t>(std::int64_t count)>;

/// Conversion of a frame to pixels.
struct FrameOptions {
  ColorMode color = ColorMode::kRgb;
  bool rotate = true;                  ///< apply the orientation stored in the file
  std::int64_t height = 0, width = 0;  ///< 0: not resized
  Interpolation interpolation = Interpolation::kBilinear;

  bool resizes() const { return height > 0; }
};

/// Fills an array of bytes [frames, H, W, C] frame by frame.
class ClipBuffer {
 public:
  ClipBuffer(Array& out, std::int64_t frames, ColorMode color);

  /// Returns memory for the next frame, which the caller fills completely. The first frame sets the size. Throws
  /// ClipError for a frame of another size and for clips of more than 16 GiB.
  std::uint8_t* next(std::int64_t height, std::int64_t width);
  /// Copies the previous frame once more.
  void repeat();
  std::int64_t frames() const { return filled_; }

 private:
  Array& out_;
  std::int64_t wanted_, channels_, filled_ = 0;
};

/// Copies an image of bytes [H, W, C] to the next frame of the buffer, resized if the options require it. Bilinear
/// resizing is antialiased; the result is rounded.
void add_frame(const ImageView& image, const FrameOptions& options, ClipBuffer& to);

// Video files, read with FFmpeg's libavformat, libavcodec and libswscale, which are loaded at run time when the first
// file is read. A build without their headers uses clip_file_stub.cpp, whose functions throw. The reader seeks to the
// last key frame before the first requested frame and skips frames that are not needed.

/// Throws Error{kData} if this machine cannot read video files.
void require_clip_files();

/// Reads into `out`, u8 [frames, H, W, C]. Throws ClipError for a truncated file, and for damage that the decoder
/// detects in a requested frame or a frame that it depends on.
void read_clip_file(const std::string& path, const PickFrames& pick, const FrameOptions& options, Array& out);
/// Decodes every frame. Throws ClipError.
ClipInfo check_clip_file(const std::string& path);
/// Reads only the container's header. The number of frames is not set. Throws ClipError.
ClipInfo peek_clip_file(const std::string& path);

}  // namespace dptrain::data
