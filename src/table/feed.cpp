#include "table/feed.h"

#include <algorithm>
#include <utility>

namespace dptrain::table {

Blocks::Limits limits_of(const ReadOptions& options) {
  return {static_cast<std::size_t>(std::max<std::int64_t>(options.block_bytes, 1)),
          static_cast<std::size_t>(std::clamp<std::int64_t>(options.most_row_bytes, 1, std::int64_t{1} << 30))};
}

Feed::Feed(const Schema& schema, const Layout& layout, std::size_t files, Open open, Blocks::Limits limits,
           OnHeader on_header)
    : schema_(schema),
      layout_(layout),
      files_(files),
      open_(std::move(open)),
      limits_(limits),
      on_header_(std::move(on_header)) {
  refuse_columns(schema.columns.size(), "");
}

bool Feed::open_next() {
  if (opened_ == files_) return false;
  blocks_ = std::make_unique<Blocks>(open_(opened_++), limits_);
  std::vector<std::string> names;
  if (schema_.dialect.header) names = blocks_->take_header(schema_.dialect.separator);
  if (on_header_) on_header_(names);
  file_ = std::make_shared<const FileLayout>(schema_, layout_, std::move(names), blocks_->bytes().name());
  fresh_ = true;
  return true;
}

void Feed::start() {
  if (blocks_ == nullptr) open_next();
}

bool Feed::next(FedBlock& out) {
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

}  // namespace dptrain::table
