#pragma once

// --keep of predict: the columns of a table to copy next to the predictions, and their names there. Pure functions.

#include <string>
#include <vector>

#include "data/table/row_stream.h"

namespace dptrain::cli {

/// Parses lists such as `age,"last, first"`, or `all`. Throws Error{kUsage} for malformed lists and repeated names.
data::table::PassthroughColumns passthrough_columns(const std::vector<std::string>& lists);

/// Names of passthrough columns, each after a comma. A name that is in the header `others` gets the prefix "input_".
std::string passthrough_header(const std::vector<std::string>& passthrough, const std::string& others);

}  // namespace dptrain::cli
