// PNG, BMP and GIF with stb_image. It reads zeros beyond the end of a file, which StbInput detects, and unpacks any
// size that a file claims, which the allocator here limits.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/format.h"
#include "core/text.h"
#include "data/images/image_decoders.h"

namespace dptrain::data {
namespace {

/// Largest block that stb_image may allocate.
thread_local std::size_t most_bytes = 0;

void* limited_malloc(std::size_t bytes) { return bytes > most_bytes ? nullptr : std::malloc(bytes); }
void* limited_realloc(void* old, std::size_t bytes) { return bytes > most_bytes ? nullptr : std::realloc(old, bytes); }

}  // namespace
}  // namespace dptrain::data

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_ONLY_GIF
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MALLOC(bytes) dptrain::data::limited_malloc(bytes)
#define STBI_REALLOC(old, bytes) dptrain::data::limited_realloc(old, bytes)
#define STBI_FREE(old) std::free(old)
#define STBI_ASSERT(condition) static_cast<void>(0)
#include <stb/stb_image.h>

namespace dptrain::data {
namespace {

/// Largest block that stb_image needs: four channels of 16 bits, a filter byte per row, some slack, doubled because its
/// buffer for unpacked data grows.
std::size_t allocation_limit(std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kSlack = 64 << 10;
  return static_cast<std::size_t>(2 * (8 * width * height + height + kSlack));
}
/// stb_image unpacks a GIF into three arrays of the whole image, and a small file may claim any size.
constexpr std::int64_t kMaxGifPixels = std::int64_t{1} << 24;
constexpr std::size_t kHeaderLimit = 1 << 20;  // allocation limit while the size is unknown

/// Callbacks with which stb_image reads the file.
class StbInput {
 public:
  explicit StbInput(ImageBytes file) : file_(file) {}

  static stbi_io_callbacks callbacks() {
    return {.read = [](void* self, char* to, int count) { return static_cast<StbInput*>(self)->read(to, count); },
            .skip = [](void* self, int count) { static_cast<StbInput*>(self)->skip(count); },
            .eof = [](void* self) { return static_cast<StbInput*>(self)->ended() ? 1 : 0; }};
  }

  std::int64_t position() const { return static_cast<std::int64_t>(at_); }
  /// Whether stb_image requested bytes beyond the end of the file.
  bool overrun() const { return overrun_; }

 private:
  /// Calls with the address of the first one fill stb_image's buffer and may return fewer bytes. Other calls fill
  /// arrays, which need every byte.
  int read(char* to, int count) {
    if (buffer_ == nullptr) buffer_ = to;
    const std::size_t wanted = static_cast<std::size_t>(std::max(count, 0)),
                      taken = std::min(wanted, file_.size() - at_);
    if (taken > 0) std::memcpy(to, file_.data() + at_, taken);
    at_ += taken;
    if (taken < wanted && (to != buffer_ || taken == 0)) overrun_ = true;
    return static_cast<int>(taken);
  }
  void skip(int count) {
    if (count > 0) at_ += std::min(static_cast<std::size_t>(count), file_.size() - at_);
    if (count < 0) at_ -= std::min(static_cast<std::size_t>(-static_cast<long>(count)), at_);
  }
  bool ended() const { return at_ == file_.size(); }

  ImageBytes file_;
  std::size_t at_ = 0;
  const char* buffer_ = nullptr;
  bool overrun_ = false;
};

[[noreturn]] void fail(const StbInput& input, ImageBytes file, ImageFormat format) {
  const char* const kind = format == ImageFormat::kPng ? "PNG" : format == ImageFormat::kBmp ? "BMP" : "GIF";
  if (input.overrun()) throw ImageError(static_cast<std::int64_t>(file.size()), fmt::format("truncated {}", kind));
  const char* const reason = stbi_failure_reason();
  throw ImageError(input.position(), fmt::format("damaged {}: {}", kind, reason == nullptr ? "unknown" : reason));
}

}  // namespace

void decode_stb(ImageBytes file, ImageFormat format, const DecodeOptions& options, Array& out) {
  const stbi_io_callbacks callbacks = StbInput::callbacks();
  int width = 0, height = 0, channels = 0;
  {
    StbInput input(file);
    most_bytes = kHeaderLimit;
    if (stbi_info_from_callbacks(&callbacks, &input, &width, &height, &channels) == 0) {
      StbInput again(file);  // stbi_info reports the error of the last format that it tried, stbi_load the right one
      std::free(stbi_load_from_callbacks(&callbacks, &again, &width, &height, &channels, 0));
      fail(again, file, format);
    }
    check_pixels(height, width, input.position());
    if (format == ImageFormat::kGif && std::int64_t{height} * width > kMaxGifPixels)
      throw ImageError(input.position(),
                       fmt::format("{} x {} pixels; at most {} of a GIF are decoded", with_commas(width),
                                   with_commas(height), with_commas(kMaxGifPixels)));
    check_length(file, height, width);
  }
  StbInput input(file);
  most_bytes = allocation_limit(height, width);
  const std::unique_ptr<stbi_uc, decltype(&std::free)> pixels(
      stbi_load_from_callbacks(&callbacks, &input, &width, &height, &channels, 0), &std::free);
  if (!pixels || input.overrun()) fail(input, file, format);
  out.shape = Shape{height, width, channels_of(options.color)};
  out.u8.resize(static_cast<std::size_t>(out.shape.elements()));
  convert_pixels(pixels.get(), std::int64_t{height} * width, channels, options.color, out.u8.data());
}

}  // namespace dptrain::data
