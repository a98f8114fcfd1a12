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

/// What the libraries said first on this thread.
thread_local std::array<char, 256> said{};
thread_local bool said_by_reader = false;

bool is_reader(const void* object) {
  const AVClass* const kind = object == nullptr ? nullptr : *static_cast<const AVClass* const*>(object);
  return kind != nullptr && kind->class_name == std::string_view("AVFormatContext");
}

void keep_words(void* object, int level, const char* format, std::va_list arguments) {
  if (level > AV_LOG_ERROR) return;
  said_by_reader = said_by_reader || is_reader(object);
  if (said[0] != '\0') return;
  std::vsnprintf(said.data(), said.size(), format, arguments);
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
  const auto fill = [](const DynamicLibrary& from, auto& function, const char* name) {
    function = from.function<std::remove_reference_t<decltype(function)>>(name);
  };
  fill(format, f.alloc_context, "avformat_alloc_context");
  fill(format, f.open_input, "avformat_open_input");
  fill(format, f.close_input, "avformat_close_input");
  fill(format, f.find_stream_info, "avformat_find_stream_info");
  fill(format, f.find_best_stream, "av_find_best_stream");
  fill(format, f.read_frame, "av_read_frame");
  fill(format, f.seek_frame, "av_seek_frame");
  fill(format, f.alloc_io, "avio_alloc_context");
  fill(format, f.free_io, "avio_context_free");
  fill(codec, f.find_decoder, "avcodec_find_decoder");
  fill(codec, f.descriptor, "avcodec_descriptor_get");
  fill(codec, f.codec_name, "avcodec_get_name");
  fill(codec, f.alloc_codec, "avcodec_alloc_context3");
  fill(codec, f.free_codec, "avcodec_free_context");
  fill(codec, f.set_parameters, "avcodec_parameters_to_context");
  fill(codec, f.open_codec, "avcodec_open2");
  fill(codec, f.send_packet, "avcodec_send_packet");
  fill(codec, f.receive_frame, "avcodec_receive_frame");
  fill(codec, f.alloc_packet, "av_packet_alloc");
  fill(codec, f.free_packet, "av_packet_free");
  fill(codec, f.unref_packet, "av_packet_unref");
  fill(util, f.alloc_frame, "av_frame_alloc");
  fill(util, f.free_frame, "av_frame_free");
  fill(util, f.rotation, "av_display_rotation_get");
  fill(util, f.malloc, "av_malloc");
  fill(util, f.free, "av_free");
  fill(util, f.strerror, "av_strerror");
  fill(util, f.set_log, "av_log_set_callback");
  fill(scale, f.get_scaler, "sws_getContext");
  fill(scale, f.free_scaler, "sws_freeContext");
  fill(scale, f.scale, "sws_scale");
  fill(scale, f.coefficients, "sws_getCoefficients");
  fill(scale, f.set_colours, "sws_setColorspaceDetails");
  f.set_log(keep_words);
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

std::string words_of(int error) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  functions().strerror(error, text.data(), text.size());
  std::string words = text.data();
  const std::string more = printable(trim(said.data()));
  return more.empty() ? words : words + ": " + more;
}

void forget_words() {
  said[0] = '\0';
  said_by_reader = false;
}

bool reader_complained() { return said_by_reader; }

}  // namespace dptrain::data::libav
