#pragma once

#include "data/images/image.h"
#include "data/video/clip_reading.h"

namespace dptrain::data {

/// A column of the paths of image files, each read as ImageFolder reads it.
struct ImageSpec : ImageReading {};

/// A column of the paths of clips, files or folders of frames, each read as the data set Video reads it.
struct ColumnVideoSpec : ClipReading {};

}  // namespace dptrain::data
