#pragma once

// Reads files of rows into a Table. The call returns when all rows are read; it starts threads and joins them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/table/blocks.h"
#include "data/table/conversion.h"
#include "data/table/parts.h"
#include "data/table/table.h"

namespace dptrain::data::table {

/// A row that cannot be read.
struct BadRow {
  std::string place;   ///< "train.csv:12:7": line, and byte in that line, from 1
  std::string column;  ///< "" if the row as a whole is wrong
  std::string reason;  ///< what was found, what was expected, what to try

  /// "train.csv:12:7: column 'age': found ...".
  std::string str() const;
};

struct ReadOptions {
  int threads = 1;
  bool skip = false;  ///< skip rows that cannot be read; false: the first one is an Error{kData}
  /// Called for each skipped row, in file order, from any of the threads but one at a time. May throw.
  std::function<void(const BadRow&)> on_bad{};
  std::int64_t block_bytes = 256 << 10;   ///< that a thread reads at a time; results do not depend on it
  std::int64_t max_row_bytes = 64 << 20;  ///< longer rows cannot be read
  std::int64_t max_words = 4'000'000;     ///< largest vocabulary of a column; more words are an error
};

/// Reads all rows of the files, plain or gzip by their first bytes, in order. With a header columns are found by name,
/// and columns that the schema lacks are ignored; without one each row has the schema's number of fields. A vocabulary
/// in the schema is not extended.
///
/// A row is bad if it has another number of fields, more than max_row_bytes, a NUL byte, or a quote that does not end
/// or is within an unquoted field. A category or text that is not UTF-8, a field of another type, and a number beyond
/// the range of floats are also bad. Reading continues after the row or, after a quote that does not end, on the next
/// line. Throws Error{kData} for a bad row unless `skip` is set, and for a file that cannot be read.
Table read(const std::vector<std::string>& files, const Schema& schema, const ReadOptions& options);
/// Reads files that are open already, or in memory. Open them with csv_file_errors() (data/table/bytes.h).
Table read(const std::vector<std::shared_ptr<const FileBytes>>& files, const Schema& schema,
           const ReadOptions& options);

// BlockStream: the blocks of several files, file after file. next() is called by one thread at a time.

struct FileBlock {
  Block block;
  std::shared_ptr<const FileLayout> layout{};
  std::string name;                          ///< name of the file
  std::shared_ptr<const FileBytes> bytes{};  ///< bytes of the file, unless it is compressed
  bool opens_file = false;                   ///< it is the first block of its file
  std::uint64_t lines_before = 0;            ///< lines of the header
};

class BlockStream {
 public:
  using Open = std::function<std::unique_ptr<Bytes>(std::size_t)>;
  /// Called with each file's header before its fields are laid out. May throw. May change the schema and the layout if
  /// nothing else reads them yet.
  using OnHeader = std::function<void(const std::vector<std::string>& names)>;
  BlockStream(const Schema& schema, const Layout& layout, std::size_t files, Open open, Blocks::Limits limits,
              OnHeader on_header = {});

  /// False after the last block.
  bool next(FileBlock& out);
  /// Opens the first file unless it is open already.
  void start();
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

// Steps that take converted blocks in the order of their rows: they report bad rows and assign codes to words. One
// thread at a time.

/// Location ("train.csv:12:7") and description of a bad field.
BadRow bad_row(const BadField& bad, const FileBlock& block, std::uint64_t first_line);
/// Assigns codes to the block's new words, in the order of the rows. Throws Error{kData} if a vocabulary becomes too
/// large.
void assign_codes(Converter& converter, const FileBlock& block, ConvertedRows& rows, const TableParts& parts,
                  std::int64_t max_words);

}  // namespace dptrain::data::table
