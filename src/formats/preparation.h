#pragma once

// The preparation of raw samples before the model, as plain data: formats that support it write it into their files
// (`export --with-transforms`). data/preparation.h fills it from a config and fitted statistics.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/shape.h"

namespace dptrain::formats {

// Images, [H, W, C]. The headers in src/data have the equations and their sources.

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
/// Crops the centre. A smaller image is resized instead, with crop_to_aspect_ratio.
struct CropCentre {
  std::int64_t height = 0, width = 0;
};
/// (x - mean) / max(standard deviation, 1 / sqrt(elements)) for the whole image.
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
/// The index of the bin: the number of boundaries that are not above the number.
struct FindBin {
  std::vector<float> boundaries;
};
/// Passes whole numbers 0 .. count - 1 and refuses others.
struct TakeToken {
  std::int64_t count = 0;
};
/// Maps words to their index, other words to `unknown`; without it they are refused.
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
  std::optional<double> fill{};  ///< replaces a missing number; none: refused
};

/// How one of the model's inputs is computed.
struct PreparedInput {
  /// The shape of one sample; 0: any extent. Not for tables.
  Shape raw{};
  bool bytes = false;                     ///< 0..255, else floats. Not for tables.
  std::vector<PreparedColumn> columns{};  ///< concatenated columns of a table
  std::vector<ImageStep> steps{};         ///< in order
  std::vector<std::string> missing{};     ///< words that mark a missing field
};

/// One for each of the model's inputs; nothing: the input needs no preparation.
struct Preparation {
  std::vector<std::optional<PreparedInput>> inputs;
};

}  // namespace dptrain::formats
