#pragma once

// Container: an open video file and the packets of its best video stream. Owned and used by one thread.

#include <cstdint>
#include <string>
#include <vector>

#include "data/video/libav/libav.h"

namespace dptrain::data::libav {

/// Frames of the stream, determined without decoding. Times are presentation times of the stream.
struct FrameTimes {
  std::int64_t frames = 0;
  std::vector<std::int64_t> times;  ///< ascending; empty if a frame has no time or two have the same
  std::vector<std::int64_t> keys;   ///< times of the key frames, ascending
  std::int64_t first = 0;           ///< time of the first packet in the file

  bool independent = false;  ///< no frame depends on another

  bool known() const { return !times.empty(); }
  /// Number of the frame that is shown at a time; -1 before the first.
  std::int64_t at(std::int64_t time) const;
};

class Container {
 public:
  /// Throws ClipError if the file does not exist, has no video or is truncated.
  explicit Container(const std::string& path);
  ~Container();
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  /// Reads the next packet of the stream; false at the end of the file. Throws ClipError, also at the end if packets
  /// are missing.
  bool next(Packet& packet);
  /// Reads all remaining packets. Call it first.
  FrameTimes times();
  /// Seeks to the last key frame up to `time`, according to the container; returns false if it cannot.
  bool seek(std::int64_t time);

  const AVCodecParameters& parameters() const { return *stream_->codecpar; }
  std::string format() const;  ///< "mp4", "avi", "matroska"
  /// Orientation of the frames as an EXIF value: 1, 3, 6 or 8.
  int orientation() const;

 private:
  static int read(void* self, std::uint8_t* to, int size);
  static std::int64_t move(void* self, std::int64_t offset, int whence);
  void open_file(const std::string& path);
  void open_stream(const std::string& path);
  void close();
  void check_whole() const;
  bool is_independent(bool all_keys) const;
  [[noreturn]] void fail(int error) const;

  int file_ = -1;
  std::int64_t size_ = 0, place_ = 0;
  int read_error_ = 0;
  std::int64_t packets_ = 0;  ///< packets of the stream since it was opened
  bool from_beginning_ = true;
  AVIOContext* io_ = nullptr;
  AVFormatContext* context_ = nullptr;
  AVStream* stream_ = nullptr;
};

}  // namespace dptrain::data::libav
