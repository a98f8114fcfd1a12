#pragma once

// What of a batch could not be read, with its places: what the processes of a run tell each other before the step, so
// that all of them leave out the same. Values.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "data/on_error.h"

namespace dptrain::data {

struct BadRow {
  std::int64_t position = 0;  ///< in the batch
  BadSample sample{};
  bool operator==(const BadRow&) const = default;
};

/// From what this process could not read of a batch to what no process could: both in the order of their positions. Of
/// all processes of a run, for the same batch; waits for them. Throws what keeps it from asking them.
using AgreeOnBad = std::function<std::vector<BadRow>(const std::vector<BadRow>& own)>;

/// For another process of the same executable; appended lists are the list of all.
std::vector<std::byte> to_bytes(const std::vector<BadRow>& rows);
/// Throws Error{kInternal} where they do not end where a list does.
std::vector<BadRow> bad_rows_of(std::span<const std::byte> bytes);

}  // namespace dptrain::data
