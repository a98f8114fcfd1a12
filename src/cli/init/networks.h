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

/// `train:` and `callbacks:`, for classes or for numbers.
std::string training_of(const Sizes& sizes, bool classes);

/// The middle one of some sizes, at least one.
std::int64_t middle_of(std::vector<std::int64_t> sizes);

/// "[28, 28, 1]"
std::string yaml_shape(const Shape& shape);

/// `blocks:` with the block `stage`, for images [H, W, C] or clips [T, H, W, C]: a convolution, normalised, halved by
/// pooling.
std::string conv_block(const Shape& input);
/// Uses of `stage` up to global average pooling, which is called `name` unless that is "".
std::string conv_stages(const Shape& input, const std::string& name);

/// A last Rescaling by deviation and mean of the labels, one number each, so that the layers above stay near 0 and 1.
std::string rescaled_end(const data::Source& train, const std::string& target);

}  // namespace dptrain::cli
