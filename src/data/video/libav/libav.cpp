#include "data/video/libav/libav.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "core/dynamic_library.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::data::libav {
namespace {

/// First error that the libraries logged on this thread since clear_error().
thread_local std::array<char, 256> first_error{};
thread_local bool demuxer_failed = false;

bool is_demuxer(const void* object) {
  const AVClass* const kind = object == nullptr ? nullptr : *static_cast<const AVClass* const*>(object);
  return kind != nullptr && kind->class_name == std::string_view("AVFormatContext");
}

void record_error(void* object, int level, const char* format, std::va_list arguments) {
  if (level > AV_LOG_ERROR) return;
  demuxer_failed = demuxer_failed || is_demuxer(object);
  if (first_error[0] != '\0') return;
  std::vsnprintf(first_error.data(), first_error.size(), format, arguments);
}

DynamicLibrary library(const std::string& name, int major) {
  return DynamicLibrary({.what = "FFmpeg's " + name,
                         .files = {fmt::format("{}.so.{}", name, major)},
                         .package = fmt::format("{}{}", name, major),
                         .otherwise = "use folders of frames (class/clip/0001.jpg ...)"});
}

Functions open() {
  const DynamicLibrary util = library("libavutil", LIBAVUTIL_VERSION_MAJOR);
  const DynamicLibrary codec = library("libavcodec", LIBAVCODEC_VERSION_MAJOR);
  const DynamicLibrary format = library("libavformat", LIBAVFORMAT_VERSION_MAJOR);
  const DynamicLibrary scale = library("libswscale", LIBSWSCALE_VERSION_MAJOR);
  Functions f{};
  format.fill(f.alloc_context, "avformat_alloc_context");
  format.fill(f.open_input, "avformat_open_input");
  format.fill(f.close_input, "avformat_close_input");
  format.fill(f.find_stream_info, "avformat_find_stream_info");
  format.fill(f.find_best_stream, "av_find_best_stream");
  format.fill(f.read_frame, "av_read_frame");
  format.fill(f.seek_frame, "av_seek_frame");
  format.fill(f.alloc_io, "avio_alloc_context");
  format.fill(f.free_io, "avio_context_free");
  codec.fill(f.find_decoder, "avcodec_find_decoder");
  codec.fill(f.descriptor, "avcodec_descriptor_get");
  codec.fill(f.codec_name, "avcodec_get_name");
  codec.fill(f.alloc_codec, "avcodec_alloc_context3");
  codec.fill(f.free_codec, "avcodec_free_context");
  codec.fill(f.set_parameters, "avcodec_parameters_to_context");
  codec.fill(f.open_codec, "avcodec_open2");
  codec.fill(f.send_packet, "avcodec_send_packet");
  codec.fill(f.receive_frame, "avcodec_receive_frame");
  codec.fill(f.alloc_packet, "av_packet_alloc");
  codec.fill(f.free_packet, "av_packet_free");
  codec.fill(f.unref_packet, "av_packet_unref");
  util.fill(f.alloc_frame, "av_frame_alloc");
  util.fill(f.free_frame, "av_frame_free");
  util.fill(f.rotation, "av_display_rotation_get");
  util.fill(f.malloc, "av_malloc");
  util.fill(f.free, "av_free");
  util.fill(f.strerror, "av_strerror");
  util.fill(f.set_log, "av_log_set_callback");
  scale.fill(f.get_scaler, "sws_getContext");
  scale.fill(f.free_scaler, "sws_freeContext");
  scale.fill(f.scale, "sws_scale");
  scale.fill(f.coefficients, "sws_getCoefficients");
  scale.fill(f.set_colours, "sws_setColorspaceDetails");
  f.set_log(record_error);
  return f;
}

}  // namespace

const Functions& functions() {
  try {
    static const Functions table = open();
    return table;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDevice) throw;
    throw Error(ErrorKind::kData, error.what());
  }
}

std::string error_text(int error) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  functions().strerror(error, text.data(), text.size());
  std::string words = text.data();
  const std::string more = printable(trim(first_error.data()));
  return more.empty() ? words : words + ": " + more;
}

void clear_error() {
  first_error[0] = '\0';
  demuxer_failed = false;
}

bool has_demuxer_error() { return demuxer_failed; }

}  // namespace dptrain::data::libav
