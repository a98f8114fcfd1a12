#pragma once

// Networks of init --from, and how long they train, chosen by the size of the data.

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

/// The sections `train:` and `callbacks:`, for classification or regression.
std::string training_of(const Sizes& sizes, bool classes);

/// The median of `sizes`, which must not be empty.
std::int64_t middle_of(std::vector<std::int64_t> sizes);

/// "[28, 28, 1]"
std::string yaml_shape(const Shape& shape);

/// The head of a config: comment lines `about` and `commands`, in which {0} is the name, then name and seed.
std::string head_of(const std::string& name, const std::string& about, const std::string& commands);

/// The sections `train:` and `callbacks:` of convolutions that classify: Adam with a cosine.
std::string cosine_training(std::int64_t epochs, std::int64_t batch);

/// `blocks:` with the block `stage` for images [H, W, C] or clips [T, H, W, C]: a convolution that ends with pooling.
std::string conv_block(const Shape& input);
/// Uses of `stage` and a global average pooling, named `name` unless that is empty.
std::string conv_stages(const Shape& input, const std::string& name);

/// The section `model:` with the block, its use and a Dropout; the caller adds the last layer.
std::string conv_model(const Shape& input);

/// A final Rescaling by deviation and mean of the labels, one number each: layers before it stay near 0 and 1.
std::string rescaled_end(const data::Source& train, const std::string& target);

// Shared by the drafts for photos in class folders and for photos named in a table. Pure functions.

struct PhotoSize {
  std::int64_t height = 0, width = 0;  ///< medians of the photos
  std::int64_t side = 0;               ///< input size of the network
};
/// Requires at least one shape.
PhotoSize photo_size(const std::vector<Shape>& shapes);

/// `transforms:` of training, with augmentation, and of evaluation.
std::string photo_transforms(std::int64_t side);
std::int64_t photo_epochs(std::int64_t photos);
std::int64_t photo_batch(std::int64_t photos);

}  // namespace dptrain::init
