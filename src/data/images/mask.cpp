#include "data/images/mask.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/trace.h"
#include "data/images/image.h"
#include "data/images/image_decoders.h"
#include "data/images/image_info.h"
#include "data/on_error.h"
#include "data/sources/file_list.h"

namespace dptrain::data {
namespace {

constexpr std::size_t kMaxClasses = 256;
constexpr std::int64_t kNoByte = -1;                      // byte of an error that is not at one place of the file
constexpr std::int64_t kDepthByte = 24, kColorByte = 25;  // in IHDR, the first chunk
constexpr std::size_t kPngHeaderBytes = 33;               // signature and IHDR

/// Errors of libpng. Its callback must not return, and exceptions must not pass through C, so it calls longjmp().
struct PngFailure {
  std::jmp_buf jump;
  std::array<char, 128> words;
};

[[noreturn]] void fail_in_png(png_structp png, png_const_charp words) {
  PngFailure& failure = *static_cast<PngFailure*>(png_get_error_ptr(png));
  std::snprintf(failure.words.data(), failure.words.size(), "%s", words);
  std::longjmp(failure.jump, 1);
}

void ignore_png_warning(png_structp, png_const_charp) {}

/// Part of a file that libpng has not read yet.
struct PngRest {
  ImageBytes file;
  std::size_t at = 0;
};

void read_png_bytes(png_structp png, png_bytep to, std::size_t count) {
  PngRest& rest = *static_cast<PngRest*>(png_get_io_ptr(png));
  if (count > rest.file.size() - rest.at) {
    rest.at = rest.file.size();
    png_error(png, "truncated");
  }
  if (count > 0) std::memcpy(to, rest.file.data() + rest.at, count);
  rest.at += count;
}

/// Reads one file. Code inside guarded() must not own resources: longjmp() skips destructors.
class PngFile {
 public:
  explicit PngFile(ImageBytes file) : rest_{.file = file} {}
  ~PngFile() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngFile(const PngFile&) = delete;
  PngFile& operator=(const PngFile&) = delete;

  void read_header() {
    guarded([&] {
      png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure_, fail_in_png, ignore_png_warning);
      info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
      if (info_ == nullptr) return;
      png_set_read_fn(png_, &rest_, read_png_bytes);
      png_set_crc_action(png_, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);  // check_png() has compared them
      png_read_info(png_, info_);
    });
    if (info_ == nullptr) throw ImageError(kNoByte, "no memory for the decoder");
    check_pixels(height(), width(), position());
    check_length(rest_.file, height(), width());
  }

  std::int64_t height() const { return png_get_image_height(png_, info_); }
  std::int64_t width() const { return png_get_image_width(png_, info_); }
  /// Before read_pixels(), which unpacks them.
  int bits() const { return png_get_bit_depth(png_, info_); }
  bool is_rgb() const { return color_type() == PNG_COLOR_TYPE_RGB || color_type() == PNG_COLOR_TYPE_RGB_ALPHA; }
  bool is_indexed() const { return color_type() == PNG_COLOR_TYPE_PALETTE; }
  std::span<const png_color> palette() const {
    png_colorp colors = nullptr;
    int count = 0;
    if (png_get_PLTE(png_, info_, &colors, &count) == 0) return {};
    return {colors, static_cast<std::size_t>(count)};
  }

  /// One byte per index or gray value, three per RGB pixel, without alpha.
  void read_pixels(std::vector<std::uint8_t>& out) {
    const std::size_t stride = static_cast<std::size_t>(width()) * (is_rgb() ? 3 : 1);
    const auto count = static_cast<std::size_t>(height());
    out.resize(count * stride);
    std::vector<png_bytep> rows(count);
    for (std::size_t y = 0; y < count; ++y) rows[y] = out.data() + y * stride;
    png_bytepp const first = rows.data();
    bool fits = false;
    guarded([&] {
      png_set_packing(png_);
      if ((color_type() & PNG_COLOR_MASK_ALPHA) != 0) png_set_strip_alpha(png_);
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      fits = png_get_rowbytes(png_, info_) == stride;
      if (fits) png_read_image(png_, first);
    });
    if (!fits) throw Error(ErrorKind::kInternal, "libpng returns rows of another size");
  }

 private:
  template <class F>
  [[gnu::noinline]] void guarded(const F& f) {
    if (setjmp(failure_.jump) != 0) throw ImageError(position(), fmt::format("damaged PNG: {}", failure_.words.data()));
    f();
  }

  int color_type() const { return png_get_color_type(png_, info_); }
  std::int64_t position() const { return static_cast<std::int64_t>(rest_.at); }

  PngRest rest_;
  PngFailure failure_{};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

/// Class numbers of colors.
class ColorTable {
 public:
  explicit ColorTable(const MaskReading& reading) {
    for (std::size_t k = 0; k < reading.colors.size(); ++k)
      entries_.emplace_back(reading.colors[k], static_cast<std::uint8_t>(k));
    for (const Rgb& color : reading.ignored) entries_.emplace_back(color, reading.ignore_class);
    std::sort(entries_.begin(), entries_.end());
  }

  /// Null for a color that is not listed.
  const std::uint8_t* find(const Rgb& color) const {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), std::pair{color, std::uint8_t{0}});
    return found != entries_.end() && found->first == color ? &found->second : nullptr;
  }

 private:
  std::vector<std::pair<Rgb, std::uint8_t>> entries_;
};

std::string place_of_pixel(std::size_t pixel, std::int64_t width) {
  const auto at = static_cast<std::int64_t>(pixel);
  return fmt::format("the pixel in row {}, column {} (from 0)", at / width, at % width);
}

[[noreturn]] void fail_on_color(const Rgb& color, std::size_t pixel, std::int64_t width) {
  throw ImageError(kNoByte, fmt::format("{} has the color {}, which is not listed in `classes` or `ignore_colors`",
                                        place_of_pixel(pixel, width), color_text(color)));
}

/// Replaces indices of a palette, or gray values, by the classes of their colors.
void classes_of_values(const std::vector<Rgb>& colors, const ColorTable& table, std::int64_t width,
                       std::vector<std::uint8_t>& pixels) {
  std::array<const std::uint8_t*, kMaxClasses> classes{};
  for (std::size_t v = 0; v < colors.size(); ++v) classes[v] = table.find(colors[v]);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::uint8_t value = pixels[i];
    if (value >= colors.size())
      throw ImageError(kNoByte, fmt::format("{} has the index {}, but the palette has {} colors",
                                            place_of_pixel(i, width), value, colors.size()));
    if (classes[value] == nullptr) fail_on_color(colors[value], i, width);
    pixels[i] = *classes[value];
  }
}

void classes_of_rgb(const std::vector<std::uint8_t>& rgb, const ColorTable& table, std::int64_t width,
                    std::vector<std::uint8_t>& out) {
  const std::uint8_t* found = nullptr;
  Rgb last{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Rgb color{rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]};
    if (found == nullptr || color != last) {
      found = table.find(last = color);
      if (found == nullptr) fail_on_color(color, i, width);
    }
    out[i] = *found;
  }
}

/// Colors of the palette's indices, or of gray values.
std::vector<Rgb> colors_of_values(const PngFile& png) {
  std::vector<Rgb> colors;
  if (png.is_indexed()) {
    for (const png_color& color : png.palette()) colors.push_back({color.red, color.green, color.blue});
    return colors;
  }
  const unsigned last = (1U << static_cast<unsigned>(png.bits())) - 1;
  for (unsigned v = 0; v <= last; ++v) {
    const auto gray = static_cast<std::uint8_t>(v * 255 / last);
    colors.push_back({gray, gray, gray});
  }
  return colors;
}

}  // namespace

std::string color_text(const Rgb& color) { return fmt::format("#{:02X}{:02X}{:02X}", color[0], color[1], color[2]); }

void decode_png_mask(ImageBytes file, const MaskReading& reading, Array& out) {
  PngFile png(file);
  png.read_header();
  if (png.bits() > 8)
    throw ImageError(kDepthByte, "a mask of 16 bits per channel; expected 8 bits or fewer, with class numbers to 255");
  if (png.is_rgb() && reading.colors.empty())
    throw ImageError(kColorByte,
                     "a mask of RGB colors; expected class numbers, as in an indexed or gray PNG, or list the color of "
                     "each class: `classes: {road: \"#804080\"}`");
  out.type = DType::kU8;
  out.shape = Shape{png.height(), png.width(), 1};
  if (!png.is_rgb()) {
    const std::vector<Rgb> colors = colors_of_values(png);
    png.read_pixels(out.u8);
    if (!reading.colors.empty()) classes_of_values(colors, ColorTable(reading), png.width(), out.u8);
    return;
  }
  thread_local std::vector<std::uint8_t> rgb;
  png.read_pixels(rgb);
  out.u8.resize(static_cast<std::size_t>(out.shape.elements()));
  classes_of_rgb(rgb, ColorTable(reading), png.width(), out.u8);
}

void decode_mask(std::span<const std::uint8_t> file, const MaskReading& reading, Array& out) {
  const trace::Span span("data", "decode");
  const ImageFormat format = image_format(file);
  if (format == ImageFormat::kJpeg)
    throw ImageError(0, "a JPEG image; expected a PNG, because JPEG changes the class numbers of pixels");
  if (format != ImageFormat::kPng)
    throw ImageError(0, fmt::format("a mask in the format {}; expected a PNG", image_info(file).format));
  check_png(file);
  decode_png_mask(file, reading, out);
}

void read_mask(const std::string& path, const MaskReading& reading, Array& out) {
  thread_local std::vector<std::uint8_t> bytes;  // contents of the file, reused by the thread
  read_file(path, bytes);
  try {
    decode_mask(bytes, reading, out);
  } catch (const ImageError& error) {
    throw SampleError({.file = path, .byte = error.byte(), .reason = error.reason()});
  }
}

Shape peek_mask(const std::string& path) {
  std::array<std::uint8_t, kPngHeaderBytes> header{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(header.data()), header.size())) return {};
  try {
    if (image_format(header) != ImageFormat::kPng) return {};
    const ImageInfo info = image_info(header);
    return {info.height, info.width, 1};
  } catch (const Error&) {  // read_mask() reports the error
    return {};
  }
}

std::vector<Rgb> mask_palette(std::int64_t classes) {
  std::vector<Rgb> palette(std::min(static_cast<std::size_t>(std::max<std::int64_t>(classes, 0)), kMaxClasses));
  for (std::size_t k = 0; k < palette.size(); ++k)
    for (unsigned bit = 0; bit < 8; ++bit)  // bits 0, 3 and 6 of k become the highest bits of red, and so on
      palette[k][bit % 3] |= static_cast<std::uint8_t>((k >> bit & 1U) << (7 - bit / 3));
  return palette;
}

void write_mask(const std::filesystem::path& path, std::span<const std::uint8_t> classes, std::int64_t height,
                std::int64_t width, std::span<const Rgb> palette) {
  if (height < 1 || width < 1 || static_cast<std::int64_t>(classes.size()) != height * width)
    throw Error(ErrorKind::kInternal,
                fmt::format("a mask of {} x {} pixels with {} classes", width, height, classes.size()));
  std::vector<Rgb> colors = mask_palette(kMaxClasses);
  std::copy_n(palette.begin(), std::min(palette.size(), kMaxClasses), colors.begin());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.colormap_entries = kMaxClasses;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> bytes(size);
  const int written =
      png_image_write_to_memory(&image, bytes.data(), &size, 0, classes.data(), 0, colors.front().data());
  if (written == 0) throw Error(ErrorKind::kInternal, fmt::format("{}: {}", path.string(), image.message));
  write_atomically(path.string(), {std::span<const std::byte>(bytes).first(size)}, Durability::kRenamed);
}

}  // namespace dptrain::data
