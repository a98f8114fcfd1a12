#include "cli/init/photo_network.h"

#include <algorithm>

#include "cli/init/networks.h"
#include "core/format.h"

namespace dptrain::cli {
namespace {

constexpr std::int64_t kSmallPhoto = 64;   // photos up to this size are trained on as they are
constexpr std::int64_t kUsualPhoto = 128;  // others are brought to this

}  // namespace

PhotoSize photo_size(const std::vector<Shape>& shapes) {
  std::vector<std::int64_t> heights, widths;
  for (const Shape& shape : shapes) heights.push_back(shape[0]), widths.push_back(shape[1]);
  PhotoSize size{.height = middle_of(heights), .width = middle_of(widths), .side = kUsualPhoto};
  const std::int64_t larger = std::max(size.height, size.width);
  if (larger <= kSmallPhoto) size.side = (larger + 7) / 8 * 8;
  return size;
}

std::string photo_transforms(std::int64_t side) {
  std::string text = "  transforms:\n    train:\n";
  if (side > kSmallPhoto)
    text += fmt::format("      - RandomResizedCrop: {{height: {}, width: {}, scale: [0.5, 1.0]}}\n", side, side);
  else
    text += fmt::format(
        "      - Resizing: {{height: {}, width: {}}}\n      - RandomTranslation: {{height_factor: 0.1, width_factor: "
        "0.1}}\n",
        side, side);
  text +=
      "      - RandomFlip: horizontal\n"
      "      - Rescaling: {scale: 1/127.5, offset: -1}\n"
      "    eval:\n";
  return text + fmt::format("      - Resizing: {{height: {}, width: {}}}\n", side, side) +
         "      - Rescaling: {scale: 1/127.5, offset: -1}\n\n";
}

std::int64_t photo_epochs(std::int64_t photos) { return photos < 5'000 ? 60 : photos < 50'000 ? 40 : 20; }
std::int64_t photo_batch(std::int64_t photos) { return photos < 50'000 ? 32 : 128; }

}  // namespace dptrain::cli
