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

/// What each pass over the files has to say of bad rows; those that an earlier pass has told are not told again.
class Complaints {
 public:
  explicit Complaints(const ReadOptions& options) : options_(options) {}
  void add(BadRow row);
  /// Tells those that wait to be told.
  void tell();
  /// Another pass begins.
  void begin_again();

 private:
  const ReadOptions& options_;
  std::vector<BadRow> waiting_;
  std::vector<std::size_t> told_, told_before_;  // hashes of places; those of earlier passes are sorted
};

}  // namespace dptrain::table
