#include "data/video/libav/decoder.h"

#include "core/format.h"
#include "data/video/clip.h"

namespace dptrain::data::libav {
namespace {

/// Decoders that report what they had to conceal, and call odd but harmless streams errors where they are told to stop
/// at each.
bool tells_what_it_conceals(AVCodecID id) { return id == AV_CODEC_ID_H264 || id == AV_CODEC_ID_HEVC; }

}  // namespace

Decoder::Decoder(const AVCodecParameters& parameters) {
  const Functions& f = functions();
  const AVCodec* const decoder = f.find_decoder(parameters.codec_id);
  if (decoder == nullptr)
    throw ClipError(fmt::format("FFmpeg's libavcodec has no decoder for {} here", f.codec_name(parameters.codec_id)));
  codec_.reset(f.alloc_codec(decoder));
  if (codec_.get() == nullptr) throw ClipError(words_of(AVERROR(ENOMEM)));
  if (const int error = f.set_parameters(codec_.get(), &parameters); error < 0) throw ClipError(words_of(error));
  codec_->thread_count = 1;  // the loader has threads of its own
  codec_->max_pixels = kMostPixels;
  codec_->err_recognition = AV_EF_CRCCHECK | AV_EF_BITSTREAM | AV_EF_BUFFER;
  if (!tells_what_it_conceals(parameters.codec_id)) codec_->err_recognition |= AV_EF_EXPLODE;
  if (const int error = f.open_codec(codec_.get(), decoder, nullptr); error < 0) throw ClipError(words_of(error));
}

void Decoder::send(const AVPacket* packet, bool wanted) {
  if (packet != nullptr) {
    place_ = packet->pos;
    codec_->skip_frame = wanted ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
  }
  if (const int error = functions().send_packet(codec_.get(), packet); error < 0 && error != AVERROR_EOF)
    throw ClipError(words_of(error), place_);
}

bool Decoder::receive(Frame& frame) {
  const Functions& f = functions();
  if (frame.get() == nullptr) frame.reset(f.alloc_frame());
  if (frame.get() == nullptr) throw ClipError(words_of(AVERROR(ENOMEM)));
  const int error = f.receive_frame(codec_.get(), frame.get());
  if (error == AVERROR(EAGAIN)) return false;
  if (error == AVERROR_EOF) return done_ = true, false;
  if (error < 0) throw ClipError(words_of(error), place_);
  if ((frame->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame->decode_error_flags != 0)
    throw ClipError("damaged: " + words_of(AVERROR_INVALIDDATA), place_);
  return true;
}

}  // namespace dptrain::data::libav
