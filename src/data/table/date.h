#pragma once

// Parses and prints dates. Pure; any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/table/table.h"

namespace dptrain::data::table {

/// Minutes since 1970-01-01 00:00 UTC, seconds rounded down; nullopt if the text is not a valid date in that form.
/// Years have four digits, up to 6052. A time without a zone is UTC.
std::optional<std::int32_t> read_date(std::string_view text, DateForm form);

/// "2026-11-25", "25/11/2026", "11/25/2026".
std::string_view date_example(DateForm form);

/// "2026-11-25", or "2026-11-25 10:20" if the time is not midnight.
std::string date_text(std::int32_t minutes);

}  // namespace dptrain::data::table
