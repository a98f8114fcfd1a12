#pragma once

// Which columns of a table name photos. Main thread.

#include <string>
#include <vector>

#include "core/shape.h"
#include "table/table.h"

namespace dptrain::cli {

struct PhotoColumns {
  std::vector<std::string> names;
  std::vector<Shape> shapes;  ///< of some photos, by what their files say
};

/// Columns in whose fields, in some of the first rows, nearly all stand paths of image files that are there, absolute
/// or relative to the folder of the table. Throws Error{kData} where rows cannot be read.
PhotoColumns find_photo_columns(const std::string& path, const table::Schema& schema);

}  // namespace dptrain::cli
