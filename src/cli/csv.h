#pragma once

// Comma-separated values, as dptrain writes them (RFC 4180 quoting). Pure functions; any thread.

#include <map>
#include <string>
#include <vector>

namespace dptrain::cli {

/// A field, in quotes where it needs them.
std::string csv_field(const std::string& text);

/// A table of numbers with a header: columns by name. Fields that are no number are NaN. Throws Error{kData} when the
/// file cannot be read or has no header.
struct NumberTable {
  std::vector<std::string> columns;
  std::map<std::string, std::vector<double>> values;
};
NumberTable read_numbers(const std::string& path);

}  // namespace dptrain::cli
