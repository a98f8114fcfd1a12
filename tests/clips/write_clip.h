#pragma once

// Files of clips made on the spot, with the encoders that libavcodec always has. Without FFmpeg's headers
// write_clip_stub.cpp is compiled instead, and who wants files of clips skips. Any thread.

#include <cstdint>
#include <string>
#include <vector>

namespace dptrain::test {

/// Frames of RGB bytes, [height, width, 3] each.
struct MadeClip {
  int height = 0, width = 0;
  std::vector<std::vector<std::uint8_t>> frames;
};

struct ClipKind {
  const char* codec = "mpeg4";  ///< "mjpeg": JPEGs; "ffv1": the pixels as they are
  int key_every = 12;           ///< frames from one that needs no other to the next
  int b_frames = 0;             ///< mpeg4: between two others, shown before the later of them
  int quality = 2;              ///< 1 is best
  int turn = 0;                 ///< .mp4, .mov: degrees counterclockwise that a player is to turn the frames by
};

bool can_write_clips();
/// The suffix says what it is: .mp4, .mov, .avi, .mkv. Throws std::runtime_error.
void write_clip(const std::string& path, const MadeClip& clip, const ClipKind& kind = {});

/// A bright square that moves over a dark ground with noise: `direction` 0 to 3 is down, left, right, up, and no frame
/// by itself tells it. `seed` draws all else.
MadeClip moving_square(int direction, std::uint64_t seed, int frames, int height, int width);
inline constexpr const char* kDirections[] = {"down", "left", "right", "up"};

/// A folder of frames 0001.ppm, 0002.ppm, ... Throws std::runtime_error.
void write_frame_folder(const std::string& folder, const MadeClip& clip);

}  // namespace dptrain::test
