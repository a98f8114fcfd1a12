#pragma once

// Generates video files with the encoders that every libavcodec has. Without FFmpeg's headers, write_clip_stub.cpp is
// compiled instead and tests of video files are skipped. Any thread.

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
  const char* codec = "mpeg4";  ///< "mjpeg": JPEGs; "ffv1": lossless
  int key_every = 12;           ///< distance of key frames
  int b_frames = 0;             ///< mpeg4: number of B-frames
  int quality = 2;              ///< 1 is best
  int turn = 0;                 ///< .mp4, .mov: counterclockwise rotation by the player in degrees
};

bool can_write_clips();
/// The suffix selects the container: .mp4, .mov, .avi, .mkv. Throws std::runtime_error.
void write_clip(const std::string& path, const MadeClip& clip, const ClipKind& kind = {});

/// A bright square that moves over a dark noisy ground. `direction`: 0 to 3 for down, left, right, up, which no single
/// frame reveals; `seed` determines the rest.
MadeClip moving_square(int direction, std::uint64_t seed, int frames, int height, int width);
inline constexpr const char* kDirections[] = {"down", "left", "right", "up"};

/// A folder of frames 0001.ppm, 0002.ppm, ... Throws std::runtime_error.
void write_frame_folder(const std::string& folder, const MadeClip& clip);

}  // namespace dptrain::test
