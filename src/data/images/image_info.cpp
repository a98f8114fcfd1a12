#include "data/images/image_info.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/format.h"
#include "data/images/image_decoders.h"

namespace dptrain::data {
namespace {

/// Reads numbers at offsets of the file. Throws ImageError past its end.
class FormatHeader {
 public:
  explicit FormatHeader(ImageBytes file) : file_(file) {}

  std::int64_t byte(std::size_t at) const {
    if (at >= file_.size())
      throw ImageError(static_cast<std::int64_t>(file_.size()), "the file ends within its header");
    return file_[at];
  }
  std::int64_t big16(std::size_t at) const { return byte(at) << 8 | byte(at + 1); }
  std::int64_t big32(std::size_t at) const { return big16(at) << 16 | big16(at + 2); }
  std::int64_t little16(std::size_t at) const { return byte(at) | byte(at + 1) << 8; }
  std::int64_t little32(std::size_t at) const { return little16(at) | little16(at + 2) << 16; }
  /// Up to `count` bytes.
  ImageBytes bytes(std::size_t at, std::size_t count) const {
    return at < file_.size() ? file_.subspan(at, std::min(count, file_.size() - at)) : ImageBytes();
  }

 private:
  ImageBytes file_;
};

/// Markers up to the frame header, SOFn (ITU T.81, annex B).
ImageInfo jpeg(const FormatHeader& file) {
  constexpr std::int64_t kFrames = 0xC0, kTables[] = {0xC4, 0xC8, 0xCC}, kProgressive[] = {0xC2, 0xC6, 0xCA, 0xCE};
  constexpr std::int64_t kExifMarker = 0xE1;
  std::size_t at = 2;
  int orientation = 1;
  for (;;) {
    while (file.byte(at) != 0xFF) ++at;  // skips bytes before a marker, as decoders do
    while (file.byte(at) == 0xFF) ++at;
    const std::int64_t marker = file.byte(at++);
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) continue;  // markers without a length
    const bool tables = std::find(std::begin(kTables), std::end(kTables), marker) != std::end(kTables);
    if ((marker & 0xF0) != kFrames || tables) {
      if (marker == 0xDA || marker == 0xD9)
        throw ImageError(static_cast<std::int64_t>(at) - 2, "no frame header before the picture");
      const auto length = static_cast<std::size_t>(file.big16(at));
      if (marker == kExifMarker && orientation == 1 && length > 2)
        orientation = exif_orientation(file.bytes(at + 2, length - 2));
      at += length;
      continue;
    }
    const std::int64_t components = file.byte(at + 7);
    return {
        .format = "jpeg",
        .color_mode = components == 1   ? "gray"
                      : components == 4 ? "cmyk"
                                        : "rgb",
        .height = file.big16(at + 3),
        .width = file.big16(at + 5),
        .bits = static_cast<int>(file.byte(at + 2)),
        .progressive = std::find(std::begin(kProgressive), std::end(kProgressive), marker) != std::end(kProgressive),
        .orientation = orientation};
  }
}

ImageInfo png(const FormatHeader& file) {
  static constexpr std::array<const char*, 7> kModes{"gray", "", "rgb", "palette", "gray+alpha", "", "rgba"};
  const auto type = static_cast<std::size_t>(file.byte(25));
  if (type >= kModes.size() || *kModes[type] == '\0')
    throw ImageError(25, fmt::format("colour type {} is not valid in PNG", type));
  return {.format = "png",
          .color_mode = kModes[type],
          .height = file.big32(20),
          .width = file.big32(16),
          .bits = static_cast<int>(file.byte(24))};
}

ImageInfo bmp(const FormatHeader& file) {
  const bool old = file.little32(14) == 12;  // OS/2: 16-bit extents
  const std::int64_t bits = file.little16(old ? 24 : 28);
  const auto height = static_cast<std::int32_t>(old ? file.little16(20) : file.little32(22));
  return {.format = "bmp",
          .color_mode = bits <= 8    ? "palette"
                        : bits == 32 ? "rgba"
                                     : "rgb",
          .height = height < 0 ? -std::int64_t{height} : std::int64_t{height},  // negative: from the top down
          .width = old ? file.little16(18) : file.little32(18)};
}

ImageInfo gif(const FormatHeader& file) {
  return {.format = "gif", .color_mode = "palette", .height = file.little16(8), .width = file.little16(6)};
}

/// "P6 640 480 255", with comments to the end of a line anywhere between.
ImageInfo pnm(const FormatHeader& file) {
  std::size_t at = 2;
  const auto number = [&] {
    while (std::isdigit(static_cast<int>(file.byte(at))) == 0) {
      if (file.byte(at) == '#')
        while (file.byte(at) != '\n') ++at;
      else if (std::isspace(static_cast<int>(file.byte(at))) == 0)
        throw ImageError(static_cast<std::int64_t>(at), "expected a number");
      else
        ++at;
    }
    std::int64_t value = 0;
    for (; std::isdigit(static_cast<int>(file.byte(at))) != 0 && value <= kMaxPixels; ++at)
      value = value * 10 + (file.byte(at) - '0');
    return value;
  };
  ImageInfo info{.format = "pnm", .color_mode = file.byte(1) == '5' ? "gray" : "rgb"};
  info.width = number();
  info.height = number();
  info.bits = number() > 255 ? 16 : 8;
  return info;
}

}  // namespace

ImageInfo image_info(std::span<const std::uint8_t> file) {
  const FormatHeader header(file);
  switch (image_format(file)) {
    case ImageFormat::kJpeg: return jpeg(header);
    case ImageFormat::kPng: return png(header);
    case ImageFormat::kBmp: return bmp(header);
    case ImageFormat::kGif: return gif(header);
    case ImageFormat::kPnm: return pnm(header);
  }
  throw Error(ErrorKind::kInternal, "an image format without a reader of its header");
}

std::string format_of_name(const std::string& path) {
  static constexpr std::array<std::pair<const char*, const char*>, 9> kSuffixes{{{".jpg", "jpeg"},
                                                                                 {".jpeg", "jpeg"},
                                                                                 {".jpe", "jpeg"},
                                                                                 {".png", "png"},
                                                                                 {".bmp", "bmp"},
                                                                                 {".gif", "gif"},
                                                                                 {".ppm", "pnm"},
                                                                                 {".pgm", "pnm"},
                                                                                 {".pnm", "pnm"}}};
  std::string suffix = std::filesystem::path(path).extension().string();
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [supported, format] : kSuffixes)
    if (suffix == supported) return format;
  return "";
}

namespace {

// EXIF is a TIFF file in a JPEG's APP1 segment. Only its tag 0x0112, the orientation, is read.

constexpr std::array<std::uint8_t, 6> kExif{'E', 'x', 'i', 'f', 0, 0};
constexpr std::uint16_t kOrientation = 0x0112, kShort = 3;

/// Reads numbers of a TIFF file in its byte order; 0 past its end.
class Tiff {
 public:
  explicit Tiff(ImageBytes bytes) : bytes_(bytes), little_(bytes.size() > 1 && bytes[0] == 'I') {}

  std::uint32_t u16(std::size_t at) const { return number(at, 2); }
  std::uint32_t u32(std::size_t at) const { return number(at, 4); }

 private:
  std::uint32_t number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes_[little_ ? at + size - 1 - i : at + i];
    return value;
  }

  ImageBytes bytes_;
  bool little_;
};

/// Tile size of move_pixels(). The rows that it reads and the rows that it writes both fit in the cache.
constexpr std::int64_t kTile = 32;

/// to[y][x] = from[source]. The source index is first + y * down + x * right, counted in pixels.
template <int kChannels>
void move_pixels(const std::uint8_t* from, std::int64_t first, std::int64_t down, std::int64_t right,
                 std::int64_t height, std::int64_t width, std::uint8_t* to) {
  for (std::int64_t top = 0; top < height; top += kTile)
    for (std::int64_t left = 0; left < width; left += kTile)
      for (std::int64_t y = top; y < std::min(height, top + kTile); ++y)
        for (std::int64_t x = left; x < std::min(width, left + kTile); ++x)
          std::memcpy(to + (y * width + x) * kChannels, from + (first + y * down + x * right) * kChannels, kChannels);
}

}  // namespace

int exif_orientation(ImageBytes app1) {
  if (app1.size() < kExif.size() || !std::equal(kExif.begin(), kExif.end(), app1.begin())) return 1;
  const Tiff tiff(app1.subspan(kExif.size()));
  const std::size_t directory = tiff.u32(4), entries = tiff.u16(directory);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * i;
    if (tiff.u16(entry) != kOrientation || tiff.u16(entry + 2) != kShort) continue;
    const std::uint32_t value = tiff.u16(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

void apply_orientation(int orientation, Array& image) {
  if (orientation < 2 || orientation > 8) return;
  const std::int64_t h = image.shape[0], w = image.shape[1], channels = image.shape[2];
  // Source index of pixel (0, 0) of the result, and the source steps per row and column.
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const std::int64_t first = (from_bottom ? (h - 1) * w : 0) + (from_right ? w - 1 : 0);
  const std::int64_t along_y = from_bottom ? -w : w, along_x = from_right ? -1 : 1;
  const bool swaps = swaps_axes(orientation);
  const std::int64_t down = swaps ? along_x : along_y, right = swaps ? along_y : along_x;
  const std::int64_t height = swaps ? w : h, width = swaps ? h : w;
  std::vector<std::uint8_t> turned(image.u8.size());
  const auto move = channels == 1 ? move_pixels<1> : channels == 3 ? move_pixels<3> : move_pixels<4>;
  move(image.u8.data(), first, down, right, height, width, turned.data());
  image.u8.swap(turned);
  image.shape = Shape{height, width, channels};
}

namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t at;
  std::string_view bytes;
};
struct SupportedFormat {
  Signature signature;
  ImageFormat format;
};
struct UnsupportedFormat {
  Signature signature;
  const char* what;
};

constexpr std::array kSupportedFormats{
    SupportedFormat{{0, "\xFF\xD8\xFF"sv}, ImageFormat::kJpeg},
    SupportedFormat{{0, "\x89PNG\r\n\x1A\n"sv}, ImageFormat::kPng},
    SupportedFormat{{0, "GIF87a"sv}, ImageFormat::kGif},
    SupportedFormat{{0, "GIF89a"sv}, ImageFormat::kGif},
    SupportedFormat{{0, "BM"sv}, ImageFormat::kBmp},
    SupportedFormat{{0, "P5"sv}, ImageFormat::kPnm},
    SupportedFormat{{0, "P6"sv}, ImageFormat::kPnm},
};
/// Other formats that users mistake for supported images.
constexpr std::array kUnsupportedFormats{
    UnsupportedFormat{{8, "WEBP"sv}, "a WebP image"},
    UnsupportedFormat{{0, "II*\0"sv}, "a TIFF image"},
    UnsupportedFormat{{0, "MM\0*"sv}, "a TIFF image"},
    UnsupportedFormat{{4, "ftypavif"sv}, "an AVIF image"},
    UnsupportedFormat{{4, "ftyphei"sv}, "a HEIF image"},
    UnsupportedFormat{{4, "ftypmif1"sv}, "a HEIF image"},
    UnsupportedFormat{{4, "ftyp"sv}, "a video"},
    UnsupportedFormat{{0, "P2"sv}, "a PGM image in ASCII"},
    UnsupportedFormat{{0, "P3"sv}, "a PPM image in ASCII"},
    UnsupportedFormat{{0, "%PDF"sv}, "a PDF document"},
    UnsupportedFormat{{0, "PK\3\4"sv}, "a zip archive"},
    UnsupportedFormat{{0, "\x1F\x8B"sv}, "a gzip archive"},
    UnsupportedFormat{{0, "\x89HDF"sv}, "an HDF5 file"},
    UnsupportedFormat{{0, "\0\0\0\xCjP  "sv}, "a JPEG 2000 image"},
    UnsupportedFormat{{0, "\xFF\xD8"sv}, "a damaged JPEG"},
    UnsupportedFormat{{0, "\x89PNG"sv}, "a damaged PNG"},
};

bool has(ImageBytes file, const Signature& signature) {
  if (file.size() < signature.at + signature.bytes.size()) return false;
  return std::equal(signature.bytes.begin(), signature.bytes.end(),
                    file.begin() + static_cast<std::ptrdiff_t>(signature.at),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

bool looks_like_text(ImageBytes file) {
  const ImageBytes head = file.first(std::min<std::size_t>(file.size(), 512));
  return std::all_of(head.begin(), head.end(), [](std::uint8_t c) { return c >= 0x20 || (c >= 0x07 && c <= 0x0D); });
}

std::string detected_format(ImageBytes file) {
  for (const UnsupportedFormat& unsupported : kUnsupportedFormats)
    if (has(file, unsupported.signature)) return unsupported.what;
  if (looks_like_text(file)) return "a text file";
  std::string bytes = "a file that begins with";
  for (const std::uint8_t byte : file.first(std::min<std::size_t>(file.size(), 4)))
    bytes += fmt::format(" {:02x}", byte);
  return bytes;
}

}  // namespace

ImageFormat image_format(ImageBytes file) {
  if (file.empty()) throw ImageError(0, "the file is empty");
  for (const SupportedFormat& supported : kSupportedFormats)
    if (has(file, supported.signature)) return supported.format;
  throw ImageError(0,
                   "not a readable image but " + detected_format(file) + "; expected JPEG, PNG, BMP, GIF, PGM or PPM");
}

}  // namespace dptrain::data
