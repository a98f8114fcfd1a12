#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include "clips/write_clip.h"

namespace dptrain::test {

MadeClip moving_square(int direction, std::uint64_t seed, int frames, int height, int width) {
  static constexpr int kDown[] = {1, 0, 0, -1}, kRight[] = {0, -1, 1, 0};
  std::mt19937_64 random(seed * 4 + static_cast<std::uint64_t>(direction));
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  const int side = std::max(2, std::min(height, width) / 4);
  const int step = 1 + below(std::max(1, side / 4));
  const int top = below(height), left = below(width);
  const std::uint8_t color[] = {static_cast<std::uint8_t>(160 + below(96)), static_cast<std::uint8_t>(160 + below(96)),
                                static_cast<std::uint8_t>(160 + below(96))};
  MadeClip clip{height, width, {}};
  for (int f = 0; f < frames; ++f) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(height) * static_cast<std::size_t>(width) * 3);
    for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(20 + below(12));
    const auto wrapped = [](int at, int size) { return (at % size + size) % size; };  // wraps around
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        const int row = wrapped(top + y + f * step * kDown[direction], height);
        const int column = wrapped(left + x + f * step * kRight[direction], width);
        std::copy_n(color, 3, pixels.begin() + (row * width + column) * 3);
      }
    clip.frames.push_back(std::move(pixels));
  }
  return clip;
}

void write_frame_folder(const std::string& folder, const MadeClip& clip) {
  std::filesystem::create_directories(folder);
  for (std::size_t f = 0; f < clip.frames.size(); ++f) {
    char name[32];
    std::snprintf(name, sizeof name, "/%04zu.ppm", f + 1);
    std::ofstream file(folder + name, std::ios::binary);
    file << "P6\n" << clip.width << " " << clip.height << "\n255\n";
    file.write(reinterpret_cast<const char*>(clip.frames[f].data()),
               static_cast<std::streamsize>(clip.frames[f].size()));
    if (!file) throw std::runtime_error(folder + name + ": cannot be written");
  }
}

}  // namespace dptrain::test
