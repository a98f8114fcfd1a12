#pragma once

// Reads files of rows into a Table. The call returns when all rows are read; it starts threads and joins them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/files.h"
#include "table/blocks.h"
#include "table/convert.h"
#include "table/parts.h"
#include "table/table.h"

namespace dptrain::table {

/// A row that cannot be read.
struct BadRow {
  std::string place;   ///< "train.csv:12:7": line, and byte in that line, from 1
  std::string column;  ///< or "" where the row as a whole is wrong
  std::string words;   ///< what was found, what was expected, what to try

  /// "train.csv:12:7: column 'age': found ...".
  std::string str() const;
};

struct ReadOptions {
  int threads = 1;
  bool skip = false;  ///< leave rows out that cannot be read; else the first one in the files is an Error{kData}
  /// Hears of each row left out, in the order of the files, from any of the threads but never from two at a time. May
  /// throw.
  std::function<void(const BadRow&)> on_bad{};
  std::int64_t block_bytes = 256 << 10;    ///< that a thread takes at a time; results do not depend on it
  std::int64_t most_row_bytes = 64 << 20;  ///< longer rows cannot be read
  std::int64_t most_words = 4'000'000;     ///< of one column's vocabulary; more are an error
};

/// Reads all rows of the files, plain or gzip by their first bytes, in order. With a header columns are found by name,
/// and columns that the schema lacks are ignored; without one each row has the schema's number of fields. A vocabulary
/// in the schema is not extended.
///
/// A row is bad if it has another number of fields, a quote that does not end or is within a field without quotes, a
/// NUL byte, a category or text that is not UTF-8, a field that is not of the column's type, a number beyond the range
/// of floats, or more than most_row_bytes. Reading continues after the row; after a quote that does not end, in the
/// next line. Throws Error{kData} for a bad row unless `skip` is set, and for a file that cannot be read.
Table read(const std::vector<std::string>& files, const Schema& schema, const ReadOptions& options);
/// The same of files that are open already, or in memory (table/bytes.h has their voice).
Table read(const std::vector<std::shared_ptr<const FileBytes>>& files, const Schema& schema,
           const ReadOptions& options);

// Feed: the blocks of several files, file after file. next() is called by one thread at a time.

struct FedBlock {
  Block block;
  std::shared_ptr<const FileLayout> layout{};
  std::string name;                          ///< of the file
  std::shared_ptr<const FileBytes> bytes{};  ///< of a plain one
  bool opens_file = false;                   ///< the first block of its file
  std::uint64_t lines_before = 0;            ///< of the header
};

class Feed {
 public:
  using Open = std::function<std::unique_ptr<Bytes>(std::size_t)>;
  /// Hears of each file's header before its fields are laid out. May change the schema and the layout, if nobody else
  /// reads them yet; may throw.
  using OnHeader = std::function<void(const std::vector<std::string>& names)>;
  Feed(const Schema& schema, const Layout& layout, std::size_t files, Open open, Blocks::Limits limits,
       OnHeader on_header = {});

  /// False behind the last one.
  bool next(FedBlock& out);
  /// Opens the first file, unless that is done.
  void start();
  /// Of the file that is open.
  const FileLayout& layout() const { return *file_; }

 private:
  bool open_next();

  const Schema& schema_;
  const Layout& layout_;
  const std::size_t files_;
  const Open open_;
  const Blocks::Limits limits_;
  const OnHeader on_header_;
  std::size_t opened_ = 0;
  bool fresh_ = false;
  std::unique_ptr<Blocks> blocks_;
  std::shared_ptr<const FileLayout> file_;
};

Blocks::Limits limits_of(const ReadOptions& options);

// Intake: adds converted blocks in the order of their rows: reports bad rows, and assigns codes to words and places to
// rows. One thread at a time.

/// "train.csv:12:7" and what is wrong there.
BadRow bad_row(const BadField& bad, const FedBlock& block, std::uint64_t first_line);
/// Gives the block's new words their codes, in the order of the rows. Throws Error{kData} where a vocabulary gets too
/// large.
void settle_words(Converter& converter, const FedBlock& block, Converted& rows, const TableParts& parts,
                  std::int64_t most_words);

}  // namespace dptrain::table
