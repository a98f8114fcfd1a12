#include "data/images/image_info.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include "core/format.h"
#include "data/images/image_decoders.h"

namespace dptrain::data {
namespace {

/// Numbers at places of the file, which must have them.
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

 private:
  ImageBytes file_;
};

/// Markers up to the frame header, SOFn (ITU T.81, annex B).
ImageInfo jpeg(const FormatHeader& file) {
  constexpr std::int64_t kFrames = 0xC0, kTables[] = {0xC4, 0xC8, 0xCC}, kProgressive[] = {0xC2, 0xC6, 0xCA, 0xCE};
  std::size_t at = 2;
  for (;;) {
    while (file.byte(at) != 0xFF) ++at;  // as decoders do: what is no marker is passed over
    while (file.byte(at) == 0xFF) ++at;
    const std::int64_t marker = file.byte(at++);
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) continue;  // without a length
    const bool tables = std::find(std::begin(kTables), std::end(kTables), marker) != std::end(kTables);
    if ((marker & 0xF0) != kFrames || tables) {
      if (marker == 0xDA || marker == 0xD9)
        throw ImageError(static_cast<std::int64_t>(at) - 2, "no frame header before the picture");
      at += static_cast<std::size_t>(file.big16(at));
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
        .progressive = std::find(std::begin(kProgressive), std::end(kProgressive), marker) != std::end(kProgressive)};
  }
}

ImageInfo png(const FormatHeader& file) {
  static constexpr std::array<const char*, 7> kModes{"gray", "", "rgb", "palette", "gray+alpha", "", "rgba"};
  const auto type = static_cast<std::size_t>(file.byte(25));
  if (type >= kModes.size() || *kModes[type] == '\0')
    throw ImageError(25, fmt::format("colour type {} is none of PNG's", type));
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
    for (; std::isdigit(static_cast<int>(file.byte(at))) != 0 && value <= kMostPixels; ++at)
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
  for (const auto& [known, format] : kSuffixes)
    if (suffix == known) return format;
  return "";
}

}  // namespace dptrain::data
