#include "plot/png_reader.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace dptrain::plot {

RgbImage read_png(const std::vector<std::uint8_t>& bytes) {
  int width = 0, height = 0, channels = 0;
  unsigned char* const pixels =
      stbi_load_from_memory(bytes.data(), static_cast<int>(bytes.size()), &width, &height, &channels, 3);
  if (pixels == nullptr) return {0, 0};
  RgbImage image(height, width);
  image.rgb.assign(pixels, pixels + image.rgb.size());
  stbi_image_free(pixels);
  return image;
}

}  // namespace dptrain::plot
