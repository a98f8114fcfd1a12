#pragma once

// Comma-separated values, as dptrain writes them (RFC 4180 quoting). Pure functions; any thread.

#include <string>

namespace dptrain::cli {

/// A field, in quotes where it needs them.
std::string csv_field(const std::string& text);

}  // namespace dptrain::cli
