// Reader of rows: sniffs and reads any bytes or throws an Error; memory is proportional to the input. Results must not
// depend on blocks and threads, so each file is read twice. An odd first byte skips bad rows.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/table/bytes.h"
#include "data/table/reader.h"
#include "data/table/sniffer.h"

namespace {

using namespace dptrain;
using Files = std::vector<std::shared_ptr<const FileBytes>>;

/// All results of a reader as one text.
std::string all_of(const Files& files, const data::table::Schema& schema, const data::table::ReadOptions& options) {
  const data::table::Table rows = data::table::read(files, schema, options);
  std::string all = std::to_string(rows.skipped()) + " left out\n";
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    all += rows.place(i);
    if (rows.cells() > 0)
      all.append(reinterpret_cast<const char*>(rows.row(i)),
                 static_cast<std::size_t>(rows.cells()) * sizeof(data::table::Cell));
    for (std::size_t c = 0; c < rows.schema().columns.size(); ++c)
      if (rows.schema().columns[c].type == data::table::ColumnType::kText && rows.schema().columns[c].kept)
        rows.append_text(static_cast<int>(c), i, all);
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto* const begin = reinterpret_cast<const std::byte*>(data);
  const bool skip = (data[0] & 1U) != 0;
  const std::size_t block = 1 + (data[0] >> 1U);
  try {
    const Files files{FileBytes::from_memory("fuzz", {begin + 1, begin + size}, data::table::csv_file_errors())};
    const data::table::Schema schema = data::table::sniff(files, {.rows = 4, .bytes = 16}).schema;
    std::string outcomes[2];
    for (int i = 0; i < 2; ++i) {
      data::table::ReadOptions options;
      options.skip = skip;
      options.threads = 1 + i;
      if (i == 1) options.block_bytes = static_cast<std::int64_t>(block);
      options.max_row_bytes = 4096;
      try {
        outcomes[i] = all_of(files, schema, options);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::kData) __builtin_trap();
        outcomes[i] = error.what();
      }
    }
    if (outcomes[0] != outcomes[1]) __builtin_trap();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) __builtin_trap();
  }
  return 0;
}
