#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "data/transforms.h"

namespace dptrain::data {
namespace {

template <class T>
void crop_pixels(const std::vector<T>& from, const Shape& shape, std::int64_t top, std::int64_t left,
                 std::int64_t height, std::int64_t width, std::vector<T>& to) {
  const std::int64_t channels = shape[2];
  // Columns of the result that lie inside the image; the rest stays zero.
  const std::int64_t first = std::clamp<std::int64_t>(-left, 0, width);
  const std::int64_t last = std::clamp<std::int64_t>(shape[1] - left, first, width);
  to.assign(static_cast<std::size_t>(height * width * channels), T{0});
  for (std::int64_t row = std::max<std::int64_t>(0, -top); row < std::min(height, shape[0] - top); ++row) {
    std::copy_n(from.begin() + ((row + top) * shape[1] + left + first) * channels, (last - first) * channels,
                to.begin() + (row * width + first) * channels);
  }
}

}  // namespace

void check_image(const Shape& shape) {
  if (shape.rank() != 3)
    throw Error(ErrorKind::kUsage,
                fmt::format("samples must be images of height x width x channels, found {}", shape.str()));
}

std::string check_range(const std::vector<double>& range) {
  return range.size() == 2 && range[0] < range[1] ? "" : "must be [low, high] with low < high";
}

void clip(std::vector<float>& values, const std::vector<double>& range) {
  const auto low = static_cast<float>(range[0]), high = static_cast<float>(range[1]);
  for (float& x : values) x = std::min(std::max(x, low), high);
}

void crop(Array& image, Array& spare, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) {
  if (image.type == DType::kU8) {
    crop_pixels(image.u8, image.shape, top, left, height, width, spare.u8);
    image.u8.swap(spare.u8);
  } else {
    crop_pixels(image.f32, image.shape, top, left, height, width, spare.f32);
    image.f32.swap(spare.f32);
  }
  image.shape = Shape{height, width, image.shape[2]};
}

}  // namespace dptrain::data
