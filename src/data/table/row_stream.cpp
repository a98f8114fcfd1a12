#include "data/table/row_stream.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/table/parts.h"
#include "data/table/reader.h"

namespace dptrain::data::table {

class RowStream::Impl {
 public:
  Impl(std::unique_ptr<Bytes> bytes, Schema schema, ReadOptions options, PassthroughColumns passthrough)
      : options_(std::move(options)),
        schema_(std::move(schema)),
        layout_(schema_),
        vocabularies_(std::make_shared<std::vector<Vocabulary>>()),
        waits_(bytes->may_wait()),
        name_(bytes->name()),
        bytes_(std::move(bytes)),
        block_stream_(
            schema_, layout_, 1, [this](std::size_t) { return std::move(bytes_); }, limits_of(options_),
            [this, passthrough = std::move(passthrough)](const std::vector<std::string>& header) {
              add_passthrough(passthrough, header);
            }) {
    check_separator(schema_.dialect.separator);
    block_stream_.start();
    for (const Column& column : schema_.columns)
      vocabularies_->push_back(column.words ? Vocabulary(*column.words) : Vocabulary());
    converter_.emplace(schema_, layout_, *vocabularies_);
  }

  bool next(Table& out, std::int64_t most) {
    auto parts = std::make_unique<TableParts>(schema_, vocabularies_);
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(most, 1));
    while (static_cast<std::size_t>(parts->rows) < wanted) {
      if (given_ == rows_.rows) {
        if (waits_ && parts->rows > 0) break;
        if (!refill(*parts)) break;
        continue;
      }
      const std::size_t count = std::min(wanted - static_cast<std::size_t>(parts->rows), rows_.rows - given_);
      if (parts->rows == 0) file_ = parts->add_file(block_.name, nullptr);
      const std::int64_t to =
          parts->append(rows_, given_, count, {file_, line_}, block_.block.text.data(), block_.block.offset);
      copy_cells(rows_, given_, parts->cells.pieces(to, count));
      given_ += count;
    }
    const bool any = parts->rows > 0;
    parts->skipped = std::exchange(skipped_since_, 0);
    out = Table(std::move(parts));
    return any;
  }

  const std::vector<std::string>& header() const { return block_stream_.layout().names; }
  std::int64_t skipped() const { return skipped_; }
  const std::vector<int>& passthrough() const { return passthrough_; }

 private:
  /// Adds the passthrough columns to the schema. Called once by the constructor.
  void add_passthrough(const PassthroughColumns& passthrough, std::vector<std::string> names) {
    if (names.empty())
      for (const Column& column : schema_.columns) names.push_back(column.name);
    else
      complete_names(names, name_);
    for (const std::string& name : passthrough.all ? names : passthrough.names) {
      if (std::ranges::find(names, name) == names.end())
        throw Error(ErrorKind::kUsage,
                    fmt::format("{}: has no column '{}' to keep; it has {}{}", name_, printable(name),
                                printable(join(names, ", ")), did_you_mean(name, names)));
      passthrough_.push_back(static_cast<int>(schema_.columns.size()));
      schema_.columns.push_back({.name = name, .type = ColumnType::kText, .verbatim = true});
    }
    layout_ = Layout(schema_);
  }

  /// Converts the next block, which may have no valid rows; false at the end.
  bool refill(const TableParts& parts) {
    const std::uint64_t lines = std::exchange(rows_.line_count, 0);
    given_ = rows_.rows = 0;
    line_ += lines;
    if (!block_stream_.next(block_)) return false;
    if (block_.opens_file) line_ = block_.lines_before;
    block_.block.find(schema_.dialect.separator, block_.layout->count);
    converter_->convert(block_.block, *block_.layout, rows_);
    for (const BadField& bad : rows_.bad) {
      const BadRow row = bad_row(bad, block_, line_);
      if (!options_.skip) throw Error(ErrorKind::kData, row.str());
      if (options_.on_bad) options_.on_bad(row);
      ++skipped_;
      ++skipped_since_;
    }
    assign_codes(*converter_, block_, rows_, parts, options_.max_words);
    return true;
  }

  const ReadOptions options_;
  Schema schema_;
  Layout layout_;
  std::shared_ptr<std::vector<Vocabulary>> vocabularies_;
  const bool waits_;
  const std::string name_;
  std::unique_ptr<Bytes> bytes_;  // null after block_stream_ has opened it
  BlockStream block_stream_;
  std::optional<Converter> converter_;
  FileBlock block_;
  ConvertedRows rows_;
  std::size_t given_ = 0;   // rows of rows_ already returned
  std::uint64_t line_ = 0;  // first line of the block
  int file_ = 0;
  std::int64_t skipped_ = 0, skipped_since_ = 0;
  std::vector<int> passthrough_;
};

namespace {
std::unique_ptr<Bytes> open_path(const std::string& path) { return bytes_of(open_files({path})[0]); }
}  // namespace

RowStream::RowStream(const std::string& path, Schema schema, ReadOptions options, PassthroughColumns passthrough)
    : impl_(std::make_unique<Impl>(open_path(path), std::move(schema), std::move(options), std::move(passthrough))) {}
RowStream::RowStream(int descriptor, std::string name, Schema schema, ReadOptions options,
                     PassthroughColumns passthrough)
    : impl_(std::make_unique<Impl>(bytes_of(descriptor, std::move(name)), std::move(schema), std::move(options),
                                   std::move(passthrough))) {}
RowStream::~RowStream() = default;
RowStream::RowStream(RowStream&&) noexcept = default;
RowStream& RowStream::operator=(RowStream&&) noexcept = default;

bool RowStream::next(Table& rows, std::int64_t most) { return impl_->next(rows, most); }
const std::vector<std::string>& RowStream::header() const { return impl_->header(); }
std::int64_t RowStream::skipped() const { return impl_->skipped(); }
const std::vector<int>& RowStream::passthrough() const { return impl_->passthrough(); }

}  // namespace dptrain::data::table
