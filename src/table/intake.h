#pragma once

// Intake: takes converted blocks in the order of their rows: complains of bad rows, and gives words their codes and
// rows their places. One thread at a time.

#include <cstdint>
#include <string>
#include <vector>

#include "table/convert.h"
#include "table/feed.h"
#include "table/parts.h"
#include "table/read.h"

namespace dptrain::table {

/// "train.csv:12:7" and what is wrong there.
BadRow bad_row(const BadField& bad, const FedBlock& block, std::uint64_t first_line);
/// Gives the block's new words their codes, in the order of the rows. Throws Error{kData} where a vocabulary gets too
/// large.
void settle_words(Converter& converter, const FedBlock& block, Converted& rows, const TableParts& parts,
                  std::int64_t most_words);

}  // namespace dptrain::table
