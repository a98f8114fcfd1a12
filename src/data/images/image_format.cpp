#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/format.h"
#include "data/images/image_decoders.h"

namespace dptrain::data {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t at;
  std::string_view bytes;
};
struct Known {
  Signature signature;
  ImageFormat format;
};
struct Foreign {
  Signature signature;
  const char* what;
};

constexpr std::array kKnown{
    Known{{0, "\xFF\xD8\xFF"sv}, ImageFormat::kJpeg},
    Known{{0, "\x89PNG\r\n\x1A\n"sv}, ImageFormat::kPng},
    Known{{0, "GIF87a"sv}, ImageFormat::kGif},
    Known{{0, "GIF89a"sv}, ImageFormat::kGif},
    Known{{0, "BM"sv}, ImageFormat::kBmp},
    Known{{0, "P5"sv}, ImageFormat::kPnm},
    Known{{0, "P6"sv}, ImageFormat::kPnm},
};
/// What people take for images, or mix up with them.
constexpr std::array kForeign{
    Foreign{{8, "WEBP"sv}, "a WebP image"},
    Foreign{{0, "II*\0"sv}, "a TIFF image"},
    Foreign{{0, "MM\0*"sv}, "a TIFF image"},
    Foreign{{4, "ftypavif"sv}, "an AVIF image"},
    Foreign{{4, "ftyphei"sv}, "a HEIF image"},
    Foreign{{4, "ftypmif1"sv}, "a HEIF image"},
    Foreign{{4, "ftyp"sv}, "a video"},
    Foreign{{0, "P2"sv}, "a PGM image in ASCII"},
    Foreign{{0, "P3"sv}, "a PPM image in ASCII"},
    Foreign{{0, "%PDF"sv}, "a PDF document"},
    Foreign{{0, "PK\3\4"sv}, "a zip archive"},
    Foreign{{0, "\x1F\x8B"sv}, "a gzip archive"},
    Foreign{{0, "\x89HDF"sv}, "an HDF5 file"},
    Foreign{{0, "\0\0\0\xCjP  "sv}, "a JPEG 2000 image"},
    Foreign{{0, "\xFF\xD8"sv}, "a damaged JPEG"},
    Foreign{{0, "\x89PNG"sv}, "a damaged PNG"},
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

std::string what_it_is(ImageBytes file) {
  for (const Foreign& foreign : kForeign)
    if (has(file, foreign.signature)) return foreign.what;
  if (looks_like_text(file)) return "a text file";
  std::string bytes = "a file that begins with";
  for (const std::uint8_t byte : file.first(std::min<std::size_t>(file.size(), 4)))
    bytes += fmt::format(" {:02x}", byte);
  return bytes;
}

}  // namespace

ImageFormat image_format(ImageBytes file) {
  if (file.empty()) throw ImageError(0, "the file is empty");
  for (const Known& known : kKnown)
    if (has(file, known.signature)) return known.format;
  throw ImageError(0,
                   "no image that can be read but " + what_it_is(file) + "; expected JPEG, PNG, BMP, GIF, PGM or PPM");
}

}  // namespace dptrain::data
