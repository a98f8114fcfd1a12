#include "data/table/reader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "core/activity.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::data::table {
namespace {

using Files = std::vector<std::shared_ptr<const FileBytes>>;

/// "reading train.csv", "reading 12 files".
std::string reading(const Files& files) {
  return files.size() == 1 ? "reading " + printable(files.front()->name())
                           : fmt::format("reading {} files", files.size());
}

std::int64_t bytes_in(const Files& files) {
  std::uint64_t bytes = 0;
  for (const auto& file : files) bytes += file->size();
  return static_cast<std::int64_t>(bytes);
}

std::shared_ptr<std::vector<Vocabulary>> vocabularies_of(const Schema& schema) {
  auto all = std::make_shared<std::vector<Vocabulary>>();
  for (const Column& column : schema.columns) all->push_back(column.words ? Vocabulary(*column.words) : Vocabulary());
  return all;
}

/// One pass over the files. Threads take blocks in order, convert them concurrently, and append them in order.
class Pass {
 public:
  Pass(const Files& files, const Schema& schema, const ReadOptions& options)
      : options_(options),
        activity_(reading(files), bytes_in(files), Activity::Unit::kBytes),
        parts_(std::make_unique<TableParts>(schema, vocabularies_of(schema))),
        block_stream_(
            parts_->schema, parts_->layout, files.size(),
            [this, &files](std::size_t i) { return bytes_of(files[i], &activity_); }, limits_of(options)) {}

  void run() {
    const int threads = std::max(1, options_.threads);
    std::vector<std::thread> others;
    try {
      for (int i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    } catch (...) {
      stop(std::current_exception());
    }
    work();
    for (std::thread& other : others) other.join();
    if (error_) std::rethrow_exception(error_);
  }
  std::unique_ptr<TableParts> take() { return std::move(parts_); }

 private:
  void work() {
    try {
      Converter converter(parts_->schema, parts_->layout, *parts_->vocabularies);
      FileBlock block;
      ConvertedRows rows;
      while (take_block(block, converter, rows)) {
      }
      const std::lock_guard lock(turn_mutex_);
      parts_->add_counts(converter);
    } catch (...) {
      stop(std::current_exception());
    }
  }

  bool take_block(FileBlock& block, Converter& converter, ConvertedRows& rows) {
    std::size_t ticket = 0;
    std::exception_ptr fault;
    bool more = true;
    {
      const std::lock_guard lock(block_stream_mutex_);
      if (ended_) return false;
      ticket = tickets_++;
      try {
        more = block_stream_.next(block);
      } catch (...) {
        fault = std::current_exception();
      }
      ended_ = !more || fault != nullptr;
    }
    if (more && !fault) try {
        block.block.find(parts_->schema.dialect.separator, block.layout->count);
        converter.convert(block.block, *block.layout, rows);
      } catch (...) {
        fault = std::current_exception();
      }
    std::vector<Pages<Cell>::Piece> pieces;
    {
      // The first error in the order of the files is reported, independent of the timing of threads.
      std::unique_lock lock(turn_mutex_);
      turn_changed_.wait(lock, [&] { return stopped_ || turn_ == ticket; });
      if (stopped_) return false;
      if (fault) std::rethrow_exception(fault);
      if (more) pieces = append_block(block, converter, rows);
      ++turn_;
      turn_changed_.notify_all();
    }
    copy_cells(rows, 0, pieces);
    return more;
  }

  std::vector<Pages<Cell>::Piece> append_block(const FileBlock& block, Converter& converter, ConvertedRows& rows) {
    if (block.opens_file) {
      file_ = parts_->add_file(block.name, block.bytes);
      line_ = block.lines_before;
    }
    for (const BadField& bad : rows.bad) {
      const BadRow row = bad_row(bad, block, line_);
      if (!options_.skip) throw Error(ErrorKind::kData, row.str());
      if (options_.on_bad) options_.on_bad(row);
      ++parts_->skipped;
    }
    assign_codes(converter, block, rows, *parts_, options_.max_words);
    const std::int64_t to =
        parts_->append(rows, 0, rows.rows, {file_, line_}, block.block.text.data(), block.block.offset);
    line_ += rows.line_count;
    return parts_->cells.pieces(to, rows.rows);
  }

  void stop(std::exception_ptr error) {
    const std::lock_guard lock(turn_mutex_);
    if (!error_) error_ = std::move(error);
    stopped_ = true;
    turn_changed_.notify_all();
  }

  const ReadOptions& options_;
  Activity activity_;
  std::unique_ptr<TableParts> parts_;

  std::mutex block_stream_mutex_;  // guards the members below
  BlockStream block_stream_;
  std::size_t tickets_ = 0;
  bool ended_ = false;

  std::mutex turn_mutex_;  // guards the members below, and parts_ except for the cells of appended rows
  std::condition_variable turn_changed_;
  std::size_t turn_ = 0;
  bool stopped_ = false;
  std::exception_ptr error_;
  int file_ = 0;
  std::uint64_t line_ = 0;  // line of the file at which the next block begins
};

}  // namespace

Table read(const Files& files, const Schema& schema, const ReadOptions& options) {
  check_separator(schema.dialect.separator);
  Pass pass(files, schema, options);
  pass.run();
  return Table(pass.take());
}

Table read(const std::vector<std::string>& files, const Schema& schema, const ReadOptions& options) {
  return read(open_files(files), schema, options);
}

Blocks::Limits limits_of(const ReadOptions& options) {
  return {static_cast<std::size_t>(std::max<std::int64_t>(options.block_bytes, 1)),
          static_cast<std::size_t>(std::clamp<std::int64_t>(options.max_row_bytes, 1, std::int64_t{1} << 30))};
}

BlockStream::BlockStream(const Schema& schema, const Layout& layout, std::size_t files, Open open,
                         Blocks::Limits limits, OnHeader on_header)
    : schema_(schema),
      layout_(layout),
      files_(files),
      open_(std::move(open)),
      limits_(limits),
      on_header_(std::move(on_header)) {
  check_column_count(schema.columns.size(), "");
}

bool BlockStream::open_next() {
  if (opened_ == files_) return false;
  blocks_ = std::make_unique<Blocks>(open_(opened_++), limits_);
  std::vector<std::string> names;
  if (schema_.dialect.header) names = blocks_->take_header(schema_.dialect.separator);
  if (on_header_) on_header_(names);
  file_ = std::make_shared<const FileLayout>(schema_, layout_, std::move(names), blocks_->bytes().name());
  fresh_ = true;
  return true;
}

void BlockStream::start() {
  if (blocks_ == nullptr) open_next();
}

bool BlockStream::next(FileBlock& out) {
  start();
  if (blocks_ == nullptr) return false;
  while (!blocks_->next(out.block, schema_.dialect.separator, file_->count))
    if (!open_next()) return false;
  out.layout = file_;
  out.name = blocks_->bytes().name();
  out.bytes = blocks_->bytes().file();
  out.opens_file = std::exchange(fresh_, false);
  out.lines_before = blocks_->lines_taken();
  return true;
}

std::string BadRow::str() const {
  return column.empty() ? fmt::format("{}: {}", place, reason)
                        : fmt::format("{}: column '{}': {}", place, printable(column), reason);
}

BadRow bad_row(const BadField& bad, const FileBlock& block, std::uint64_t first_line) {
  BadRow row;
  row.place = fmt::format("{}:{}:{}", block.name, first_line + bad.line + 1, bad.byte + 1);
  if (bad.field >= 0 && static_cast<std::size_t>(bad.field) < block.layout->names.size())
    row.column = block.layout->names[static_cast<std::size_t>(bad.field)];
  row.reason = bad.reason;
  return row;
}

void assign_codes(Converter& converter, const FileBlock& block, ConvertedRows& rows, const TableParts& parts,
                  std::int64_t max_words) {
  if (rows.fresh.empty()) return;
  std::vector<std::vector<std::int32_t>> codes(static_cast<std::size_t>(parts.layout.cells));
  for (const FileLayout::Place& place : block.layout->categories) {
    WordTable& table = converter.words(place.column);
    Vocabulary& vocabulary = (*parts.vocabularies)[static_cast<std::size_t>(place.column)];
    for (const std::string& word : table.new_words()) codes[place.slot].push_back(vocabulary.code(word));
    table.assign_codes(codes[place.slot]);
    if (static_cast<std::int64_t>(vocabulary.words().size()) > max_words)
      throw Error(ErrorKind::kData,
                  fmt::format("{}: column '{}': found more than {} different words, expected a category; declare it "
                              "text or an id, or leave "
                              "the column out",
                              block.name, printable(parts.schema.columns[static_cast<std::size_t>(place.column)].name),
                              with_commas(max_words)));
  }
  const std::size_t width = codes.size();
  for (const std::size_t at : rows.fresh) {
    std::int32_t& code = rows.cells[at].code;
    code = codes[at % width][static_cast<std::size_t>(WordTable::kNew - code)];
  }
}

}  // namespace dptrain::data::table
