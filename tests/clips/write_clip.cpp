#include "clips/write_clip.h"

#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libswscale/swscale.h>
}

namespace dptrain::test {
namespace {

int checked(int result, const char* what) {
  if (result >= 0) return result;
  std::array<char, AV_ERROR_MAX_STRING_SIZE> words{};
  av_strerror(result, words.data(), words.size());
  throw std::runtime_error(std::string(what) + ": " + words.data());
}

template <class T>
T* checked(T* made, const char* what) {
  if (made == nullptr) throw std::runtime_error(std::string(what) + " cannot be made");
  return made;
}

AVPixelFormat pixels_of(std::string_view codec) {
  return codec == "mjpeg" ? AV_PIX_FMT_YUVJ420P : codec == "ffv1" ? AV_PIX_FMT_BGR0 : AV_PIX_FMT_YUV420P;
}

/// An encoder and its output file.
class Writer {
 public:
  Writer(const std::string& path, const MadeClip& clip, const ClipKind& kind) {
    av_log_set_level(AV_LOG_ERROR);
    checked(avformat_alloc_output_context2(&file_, nullptr, nullptr, path.c_str()), "a container");
    const AVCodec* const encoder = checked(avcodec_find_encoder_by_name(kind.codec), kind.codec);
    codec_ = checked(avcodec_alloc_context3(encoder), "an encoder");
    codec_->width = clip.width;
    codec_->height = clip.height;
    codec_->pix_fmt = pixels_of(kind.codec);
    codec_->time_base = {1, 25};
    codec_->framerate = {25, 1};
    codec_->gop_size = kind.key_every;
    codec_->max_b_frames = kind.b_frames;
    codec_->thread_count = 1;
    codec_->flags |= AV_CODEC_FLAG_QSCALE | AV_CODEC_FLAG_BITEXACT;
    codec_->global_quality = kind.quality * FF_QP2LAMBDA;
    if ((file_->oformat->flags & AVFMT_GLOBALHEADER) != 0) codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    checked(avcodec_open2(codec_, encoder, nullptr), kind.codec);
    stream_ = checked(avformat_new_stream(file_, nullptr), "a stream");
    stream_->time_base = codec_->time_base;
    stream_->avg_frame_rate = codec_->framerate;
    checked(avcodec_parameters_from_context(stream_->codecpar, codec_), "the stream");
    if (kind.turn != 0) turn(kind.turn);
    checked(avio_open(&file_->pb, path.c_str(), AVIO_FLAG_WRITE), path.c_str());
    file_->flags |= AVFMT_FLAG_BITEXACT;
    checked(avformat_write_header(file_, nullptr), "the header");
    packet_ = checked(av_packet_alloc(), "a packet");
    frame_ = checked(av_frame_alloc(), "a frame");
    frame_->format = codec_->pix_fmt;
    frame_->width = clip.width;
    frame_->height = clip.height;
    frame_->quality = codec_->global_quality;
    checked(av_frame_get_buffer(frame_, 0), "a frame");
    scaler_ = checked(sws_getContext(clip.width, clip.height, AV_PIX_FMT_RGB24, clip.width, clip.height,
                                     codec_->pix_fmt, SWS_BILINEAR | SWS_ACCURATE_RND, nullptr, nullptr, nullptr),
                      "a scaler");
  }
  ~Writer() {
    sws_freeContext(scaler_);
    av_frame_free(&frame_);
    av_packet_free(&packet_);
    avcodec_free_context(&codec_);
    if (file_ != nullptr) avio_closep(&file_->pb);
    avformat_free_context(file_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write(const std::uint8_t* rgb, std::int64_t number) {
    checked(av_frame_make_writable(frame_), "a frame");
    const std::array<const std::uint8_t*, 1> planes{rgb};
    const std::array<int, 1> strides{3 * frame_->width};
    sws_scale(scaler_, planes.data(), strides.data(), 0, frame_->height, frame_->data, frame_->linesize);
    frame_->pts = number;
    encode(frame_);
  }
  void finish() {
    encode(nullptr);
    checked(av_write_trailer(file_), "the end");
  }

 private:
  void turn(int degrees) {
#if LIBAVFORMAT_VERSION_INT >= AV_VERSION_INT(60, 15, 100)
    AVCodecParameters& stream = *stream_->codecpar;
    std::uint8_t* const matrix =
        checked(av_packet_side_data_new(&stream.coded_side_data, &stream.nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX,
                                        9 * sizeof(std::int32_t), 0),
                "a matrix")
            ->data;
#else
    std::uint8_t* const matrix =
        checked(av_stream_new_side_data(stream_, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(std::int32_t)), "a matrix");
#endif
    av_display_rotation_set(reinterpret_cast<std::int32_t*>(matrix), -degrees);  // FFmpeg's angle is clockwise
  }
  void encode(const AVFrame* frame) {
    checked(avcodec_send_frame(codec_, frame), "encoding");
    while (avcodec_receive_packet(codec_, packet_) >= 0) {
      av_packet_rescale_ts(packet_, codec_->time_base, stream_->time_base);
      packet_->stream_index = stream_->index;
      checked(av_interleaved_write_frame(file_, packet_), "writing");
    }
  }

  AVFormatContext* file_ = nullptr;
  AVCodecContext* codec_ = nullptr;
  AVStream* stream_ = nullptr;
  AVPacket* packet_ = nullptr;
  AVFrame* frame_ = nullptr;
  SwsContext* scaler_ = nullptr;
};

}  // namespace

bool can_write_clips() { return true; }

void write_clip(const std::string& path, const MadeClip& clip, const ClipKind& kind) {
  Writer writer(path, clip, kind);
  for (std::size_t f = 0; f < clip.frames.size(); ++f)
    writer.write(clip.frames[f].data(), static_cast<std::int64_t>(f));
  writer.finish();
}

}  // namespace dptrain::test
