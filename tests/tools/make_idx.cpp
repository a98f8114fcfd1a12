// dptrain_make_idx FOLDER: writes a substitute for Fashion-MNIST, four IDX files with its names, shapes and classes,
// for machines without the package and without a network. Each class is a grating of its own direction and width with
// shifts and noise. The files are the same on every machine.

#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <vector>

namespace {

constexpr int kSide = 28;
constexpr int kClasses = 10;
using Image = std::array<std::uint8_t, kSide * kSide>;

// std::mt19937 yields the same numbers everywhere; the standard's distributions do not, hence this.
double uniform(std::mt19937& random) { return static_cast<double>(random()) / 4294967296.0; }

Image draw(int label, std::mt19937& random) {
  const double angle = 3.14159265 * (label % 5) / 5.0;
  const double width = label < 5 ? 0.6 : 1.1;  // radians per pixel
  const double phase = 6.2831853 * uniform(random);
  const double contrast = 60.0 + 60.0 * uniform(random);
  Image image;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const double wave = std::sin(width * (x * std::cos(angle) + y * std::sin(angle)) + phase);
      const double value = 128.0 + contrast * wave + 60.0 * (uniform(random) - 0.5);
      image[static_cast<std::size_t>(y * kSide + x)] =
          static_cast<std::uint8_t>(std::fmin(255.0, std::fmax(0.0, value)));
    }
  }
  return image;
}

// The IDX header: two zero bytes, 0x08 for unsigned bytes, the rank, then each extent, most significant byte first.
void write_header(std::ostream& out, const std::vector<std::uint32_t>& extents) {
  out.put(0).put(0).put(8).put(static_cast<char>(extents.size()));
  for (const std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) out.put(static_cast<char>(extent >> shift & 0xffU));
  }
}

void write_set(const std::filesystem::path& folder, const std::string& prefix, std::uint32_t count, unsigned seed) {
  std::ofstream images(folder / (prefix + "-images-idx3-ubyte"), std::ios::binary);
  std::ofstream labels(folder / (prefix + "-labels-idx1-ubyte"), std::ios::binary);
  images.exceptions(std::ios::failbit | std::ios::badbit);
  labels.exceptions(std::ios::failbit | std::ios::badbit);
  write_header(images, {count, kSide, kSide});
  write_header(labels, {count});
  std::mt19937 random(seed);
  for (std::uint32_t i = 0; i < count; ++i) {
    const int label = static_cast<int>(random() % kClasses);
    const Image image = draw(label, random);
    images.write(reinterpret_cast<const char*>(image.data()), static_cast<std::streamsize>(image.size()));
    labels.put(static_cast<char>(label));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: dptrain_make_idx FOLDER\n";
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    write_set(folder, "train", 60000, 1);
    write_set(folder, "t10k", 10000, 2);
  } catch (const std::exception& error) {
    std::cerr << "dptrain_make_idx: cannot write to " << argv[1] << ": " << error.what() << '\n';
    return 1;
  }
  return 0;
}
