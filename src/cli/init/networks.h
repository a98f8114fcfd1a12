#pragma once

// The networks of init --from, and how long they train, by the size of the data.

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"
#include "data/source.h"

namespace dptrain::cli {

/// Of networks for rows of numbers.
struct Sizes {
  std::int64_t batch, epochs, patience;
  std::vector<std::int64_t> layers;
  double dropout;
};
Sizes sizes_for(std::int64_t rows);

/// "[28, 28, 1]"
std::string yaml_shape(const Shape& shape);

/// `model:` with `blocks:` and `layers:` for images [H, W, C] or clips [T, H, W, C]: convolutions, each halved by
/// pooling, up to a pooled row of features; the last layers are to follow.
std::string convolutions(const Shape& input);

/// A last Rescaling by deviation and mean of the labels, one number each, so that the layers above stay near 0 and 1.
std::string rescaled_end(const data::Source& train, const std::string& target);

}  // namespace dptrain::cli
