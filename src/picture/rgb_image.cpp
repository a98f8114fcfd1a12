#include "picture/rgb_image.h"

#include "core/error.h"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>

namespace dptrain::picture {

std::vector<std::uint8_t> encode_png(const RgbImage& picture) {
  std::vector<std::uint8_t> bytes;
  const auto append = [](void* to, void* data, int size) {
    const auto* const begin = static_cast<const std::uint8_t*>(data);
    static_cast<std::vector<std::uint8_t>*>(to)->insert(static_cast<std::vector<std::uint8_t>*>(to)->end(), begin,
                                                        begin + size);
  };
  constexpr int kRgb = 3;
  if (stbi_write_png_to_func(append, &bytes, static_cast<int>(picture.width), static_cast<int>(picture.height), kRgb,
                             picture.rgb.data(), static_cast<int>(picture.width) * kRgb) == 0)
    throw Error(ErrorKind::kMemory, "the picture could not be packed as PNG");
  return bytes;
}

}  // namespace dptrain::picture
