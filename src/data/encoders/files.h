#pragma once

#include "data/images/image.h"
#include "data/video/clip_reading.h"

namespace dptrain::data {

/// A column of paths of image files, which are read as by ImageFolder.
struct ImageSpec : ImageReading {};

/// A column of paths of clips, files or folders of frames, which are read as by the data set Video.
struct ColumnVideoSpec : ClipReading {};

}  // namespace dptrain::data
