#pragma once

// The networks of init --from, and how long they train, by the size of the data.

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"
#include "data/source.h"

namespace dptrain::init {

/// Sizes of a network for rows of numbers, and of its training.
struct Sizes {
  std::int64_t batch, epochs, patience;
  std::vector<std::int64_t> layers;
  double dropout;
};
Sizes sizes_for(std::int64_t rows);

/// `train:` and `callbacks:`, for classes or for numbers.
std::string training_of(const Sizes& sizes, bool classes);

/// The middle one of `sizes`, which must not be empty.
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

// Parts that all drafts for photos share, with photos in class folders or named in a table: sizes, transforms and the
// length of training. Pure functions.

/// The size to which photos are resized.
struct PhotoSize {
  std::int64_t height = 0, width = 0;  ///< half of the photos have this size or more
  std::int64_t side = 0;               ///< of the network's input
};
/// The size for photos with these shapes, of which there must be at least one.
PhotoSize photo_size(const std::vector<Shape>& shapes);

/// `transforms:` of training, with augmentation, and of evaluation.
std::string photo_transforms(std::int64_t side);
std::int64_t photo_epochs(std::int64_t photos);
std::int64_t photo_batch(std::int64_t photos);

}  // namespace dptrain::init
