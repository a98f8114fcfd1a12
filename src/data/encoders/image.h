#pragma once

#include "data/images/image_file.h"

namespace dptrain::data {

/// A column of the paths of image files, each read as ImageFolder reads it.
struct ImageSpec : ImageReading {};

}  // namespace dptrain::data
