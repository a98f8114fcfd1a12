#pragma once

// What drafts for photos have in common, be the photos in class folders or named by a table: their size for the
// network, the transforms, how long it trains. Pure functions.

#include <cstdint>
#include <string>
#include <vector>

#include "core/shape.h"

namespace dptrain::cli {

/// The size to which photos are brought.
struct PhotoSize {
  std::int64_t height = 0, width = 0;  ///< half of the photos are as large, or larger
  std::int64_t side = 0;               ///< of what the network gets
};
/// Of some photos, at least one, by what their files say.
PhotoSize photo_size(const std::vector<Shape>& shapes);

/// `transforms:` of training, with augmentation, and of evaluation.
std::string photo_transforms(std::int64_t side);
std::int64_t photo_epochs(std::int64_t photos);
std::int64_t photo_batch(std::int64_t photos);

}  // namespace dptrain::cli
