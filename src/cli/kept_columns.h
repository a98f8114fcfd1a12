#pragma once

// --keep of predict: which columns of a table go beside the answers, and what they are called there. Pure functions.

#include <string>
#include <vector>

#include "data/table/row_stream.h"

namespace dptrain::cli {

/// Of lists such as `age,"last, first"`; or all columns. Throws Error{kUsage} for what is no list, and names that come
/// twice.
data::table::KeptColumns kept_columns(const std::vector<std::string>& lists);

/// The names of kept columns, each behind a comma; one that `others`, a header, has already begins with "input_".
std::string kept_header(const std::vector<std::string>& kept, const std::string& others);

}  // namespace dptrain::cli
