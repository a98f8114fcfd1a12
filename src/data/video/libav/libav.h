#pragma once

// Table of the functions of FFmpeg's libraries, filled on first use and read-only afterwards; any thread. The headers
// determine types and the major versions of the libraries.

#include <string>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libswscale/swscale.h>
}

namespace dptrain::data::libav {

struct Functions {
  decltype(&::avformat_alloc_context) alloc_context;
  decltype(&::avformat_open_input) open_input;
  decltype(&::avformat_close_input) close_input;
  decltype(&::avformat_find_stream_info) find_stream_info;
  decltype(&::av_find_best_stream) find_best_stream;
  decltype(&::av_read_frame) read_frame;
  decltype(&::av_seek_frame) seek_frame;
  decltype(&::avio_alloc_context) alloc_io;
  decltype(&::avio_context_free) free_io;

  decltype(&::avcodec_find_decoder) find_decoder;
  decltype(&::avcodec_descriptor_get) descriptor;
  decltype(&::avcodec_get_name) codec_name;
  decltype(&::avcodec_alloc_context3) alloc_codec;
  decltype(&::avcodec_free_context) free_codec;
  decltype(&::avcodec_parameters_to_context) set_parameters;
  decltype(&::avcodec_open2) open_codec;
  decltype(&::avcodec_send_packet) send_packet;
  decltype(&::avcodec_receive_frame) receive_frame;
  decltype(&::av_packet_alloc) alloc_packet;
  decltype(&::av_packet_free) free_packet;
  decltype(&::av_packet_unref) unref_packet;

  decltype(&::av_frame_alloc) alloc_frame;
  decltype(&::av_frame_free) free_frame;
  decltype(&::av_display_rotation_get) rotation;
  decltype(&::av_malloc) malloc;
  decltype(&::av_free) free;
  decltype(&::av_strerror) strerror;
  decltype(&::av_log_set_callback) set_log;

  decltype(&::sws_getContext) get_scaler;
  decltype(&::sws_freeContext) free_scaler;
  decltype(&::sws_scale) scale;
  decltype(&::sws_getCoefficients) coefficients;
  decltype(&::sws_setColorspaceDetails) set_colours;
};

/// Loads the libraries at the first call. Throws Error{kData} if they are not installed.
const Functions& functions();

/// Text of an error code, and the first error that the libraries logged on this thread since clear_error().
std::string error_text(int error);
void clear_error();
/// Whether a demuxer has logged an error on this thread since clear_error().
bool has_demuxer_error();

/// Owns an object of a library.
template <class T, void (*kFree)(T*)>
class Owned {
 public:
  explicit Owned(T* object = nullptr) : object_(object) {}
  ~Owned() { reset(); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T*& slot() { return object_; }
  void reset(T* object = nullptr) {
    if (object_ != nullptr) kFree(object_);
    object_ = object;
  }

 private:
  T* object_;
};

inline void free_packet(AVPacket* packet) { functions().free_packet(&packet); }
inline void free_frame(AVFrame* frame) { functions().free_frame(&frame); }
inline void free_codec(AVCodecContext* codec) { functions().free_codec(&codec); }
using Packet = Owned<AVPacket, free_packet>;
using Frame = Owned<AVFrame, free_frame>;
using Codec = Owned<AVCodecContext, free_codec>;

}  // namespace dptrain::data::libav
