#pragma once

// Decoder: packets to frames on one thread. What the decoder conceals counts as damage. Belongs to one thread.

#include <cstdint>

#include "data/video/libav/libav.h"

namespace dptrain::data::libav {

class Decoder {
 public:
  /// Throws ClipError.
  explicit Decoder(const AVCodecParameters& parameters);

  /// Null: there are no more. `wanted`: false where nobody wants the packet's frame, which is then decoded only if
  /// others depend on it. Throws ClipError.
  void send(const AVPacket* packet, bool wanted);
  /// The next frame that is done; false where the decoder wants packets, or has no more. Throws ClipError.
  bool receive(Frame& frame);
  bool is_done() const { return done_; }

 private:
  Codec codec_;
  bool done_ = false;
  std::int64_t place_ = -1;  ///< of the last packet in the file
};

}  // namespace dptrain::data::libav
