#include "cli/csv.h"

#include "core/text.h"

namespace dptrain::cli {

std::string csv_field(const std::string& text) { return dptrain::csv_field(text); }

}  // namespace dptrain::cli
