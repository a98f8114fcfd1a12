#pragma once

// What is done with raw samples before the model sees them, as plain values: formats that can say it write it into
// their files (`export --with-transforms`). data/preparation.h fills them from a config and from what was learned.
// Plain data.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/shape.h"

namespace dptrain::formats {

// Images, [H, W, C]. Numbers are those of src/data: its headers have the equations and their sources.

/// y[c] = x[reverse ? channels - 1 - c : c] * scale[c] + offset[c]; one value for all channels, or one each.
struct MapChannels {
  std::vector<float> scale{1.0F}, offset{0.0F};
  bool reverse = false;
};
/// data/images/image_resize.h.
struct ResizeImage {
  enum class Filter { kNearest, kBilinear, kTriangle /*bilinear with antialiasing*/ };
  std::int64_t height = 0, width = 0;
  Filter filter = Filter::kBilinear;
  bool crop_to_aspect_ratio = false;
};
/// The middle; of an image smaller than that ResizeImage with crop_to_aspect_ratio.
struct CropCentre {
  std::int64_t height = 0, width = 0;
};
/// (x - mean) / max(standard deviation, 1 / sqrt(elements)) over the image.
struct StandardizeImage {};
using ImageStep = std::variant<MapChannels, ResizeImage, CropCentre, StandardizeImage>;

// Columns of tables.

/// (number - mean) / deviation, in doubles.
struct NormalizeNumber {
  double mean = 0, deviation = 1;
};
/// number * scale + offset.
struct RescaleNumber {
  float scale = 1, offset = 0;
};
/// Which of boundaries.size() + 1 ranges: how many boundaries are not above the number.
struct FindBin {
  std::vector<float> boundaries;
};
/// Whole numbers 0 .. count - 1 are what they are; others are refused.
struct TakeToken {
  std::int64_t count = 0;
};
/// Words by their index; others have `unknown`, or are refused.
struct LookUpWord {
  std::vector<std::pair<std::string, std::int64_t>> words;
  std::optional<std::int64_t> unknown;
  std::optional<std::int64_t> missing;  ///< none: refused
  std::int64_t count = 0;               ///< indices are below this
};
using ColumnStep = std::variant<NormalizeNumber, RescaleNumber, FindBin, TakeToken, LookUpWord>;

struct PreparedColumn {
  std::string name;
  ColumnStep step;
  std::optional<double> fill{};  ///< of numbers: what stands for a missing one; none: refused
};

/// What makes one of the model's inputs.
struct PreparedInput {
  /// Of one sample; 0: any extent. Not of tables.
  Shape raw{};
  bool bytes = false;                     ///< 0..255, else floats. Not of tables.
  std::vector<PreparedColumn> columns{};  ///< of a table, one behind the other; empty: none
  std::vector<ImageStep> steps{};         ///< in order
  std::vector<std::string> missing{};     ///< fields of words that mean nothing
};

/// One for each of the model's inputs; nothing: it comes as the model takes it.
struct Preparation {
  std::vector<std::optional<PreparedInput>> inputs;
};

}  // namespace dptrain::formats
