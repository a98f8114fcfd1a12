#pragma once

#include "data/video/clip_reading.h"

namespace dptrain::data {

/// A column of the paths of clips, files or folders of frames, each read as the data set Video reads it.
struct ColumnVideoSpec : ClipReading {};

}  // namespace dptrain::data
