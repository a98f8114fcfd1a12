#pragma once

// Masks that predict writes: a PNG for each image, with the class of each of its pixels. A model has classes at its
// own positions; classes_of_pixels() finds the position of each pixel. Main thread, except for pure functions.
//
//   MaskFiles masks("masks", {"photos"}, {"photos/a.jpg", "photos/b/c.png"}, {.outputs = {""}, .overwrite = false});
//   masks.write(1, 0, classes_of_pixels(positions, {64, 64}, covered, {480, 640}, 0), {480, 640});  // masks/b/c.png

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/shape.h"
#include "data/images/mask.h"

namespace dptrain::evaluation {

/// The class of each pixel of an image, from the classes `positions` of a model, [map.h, map.w]: that of the position
/// in which the pixel's center is. `covered`: part of the image that the positions cover, as data::Pipeline::covered().
/// `outside`: class of the other pixels. Pure function.
std::vector<std::uint8_t> classes_of_pixels(std::span<const std::uint8_t> positions, Size2 map,
                                            const std::array<double, 4>& covered, Size2 image, std::uint8_t outside);

/// "b/c.png" for "photos/b/c.jpg" in the folder "photos" of `inputs`, "c.png" for a file that is an input itself. Pure
/// function.
std::string mask_name(const std::string& file, const std::vector<std::string>& inputs);

class MaskFiles {
 public:
  struct Options {
    std::vector<std::string> outputs;  ///< a sub-folder for each; "": the folder itself
    bool overwrite = false;            ///< replace existing files
    std::vector<data::Rgb> palette{};  ///< of the first classes; others have those of data::mask_palette()
  };

  /// `images`: files in folders of `inputs` or inputs themselves; masks of arrays have numbers as names. Writes
  /// nothing. Throws Error{kUsage} if two images have the same mask, if a mask is an image, or for existing files.
  MaskFiles(std::string folder, const std::vector<std::string>& inputs, const std::vector<std::string>& images,
            Options options);

  /// Path of an image's mask for an output.
  std::string path(std::size_t image, std::size_t output) const;
  /// Any thread. Throws Error{kWrite}.
  void write(std::size_t image, std::size_t output, std::span<const std::uint8_t> classes, Size2 size) const;

 private:
  void require_distinct(const std::vector<std::string>& images) const;
  void require_free(const std::vector<std::string>& images) const;

  const std::string folder_;
  const Options options_;
  std::vector<std::string> names_;  ///< relative to the folder of an output
};

}  // namespace dptrain::evaluation
