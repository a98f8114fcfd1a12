#pragma once

// Container: an open file and the packets of its one stream of pictures. Belongs to one thread.

#include <cstdint>
#include <string>
#include <vector>

#include "data/video/libav/libav.h"

namespace dptrain::data::libav {

/// Which frames there are, without decoding one.
struct FrameTimes {
  std::int64_t frames = 0;
  /// Of each frame in the order of showing; empty where the container does not say it of every frame, or not clearly.
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> keys;  ///< times of those frames that need no other, ascending
  std::int64_t first = 0;          ///< of the first packet in the file

  bool independent = false;  ///< no frame needs another one

  bool known() const { return !times.empty(); }
  /// Number of the frame that is shown at a time; -1 in front of all.
  std::int64_t at(std::int64_t time) const;
};

class Container {
 public:
  /// Throws ClipError: no such file, no video in it, cut short.
  explicit Container(const std::string& path);
  ~Container();
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  /// The next packet of the stream; false at the end of the file. Throws ClipError, also at the end, where what was
  /// read from the beginning on had gaps.
  bool next(Packet& packet);
  /// Reads the packets that are left, of a file just opened: all.
  FrameTimes times();
  /// Goes to the last key frame not behind `time`, or where the container takes that to be; false where it cannot.
  bool seek(std::int64_t time);

  const AVCodecParameters& parameters() const { return *stream_->codecpar; }
  std::string format() const;  ///< "mp4", "avi", "matroska"
  /// How the file says that its frames are to be turned, as EXIF has it: 1, 3, 6 or 8.
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
  std::int64_t packets_ = 0;  ///< of the stream, since it was opened
  bool from_beginning_ = true;
  AVIOContext* io_ = nullptr;
  AVFormatContext* context_ = nullptr;
  AVStream* stream_ = nullptr;
};

}  // namespace dptrain::data::libav
