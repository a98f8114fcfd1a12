#include "data/sources/csv_files.h"

#include <algorithm>
#include <string>

#include "data/sources/file_stamp.h"

namespace dptrain::data {
namespace {

constexpr std::int64_t kHashedRows = 1000, kHashedFiles = 64;

}  // namespace

std::uint64_t hash_of_named_files(const CsvRows& rows, const CsvFeature& column) {
  std::uint64_t hash = kHashStart;
  const std::int64_t count = rows.size(), named = std::min(count, kHashedRows), read = std::min(count, kHashedFiles);
  for (std::int64_t i = 0; i < named; ++i) {
    const std::string name = column.cell_text(rows.row_of(i * count / named));
    hash = hash_bytes(name.data(), name.size(), hash);
  }
  for (std::int64_t i = 0; i < read; ++i) hash = hash_ends(column.path(rows.row_of(i * count / read)), hash);
  return hash;
}

std::uint64_t stamps_of(const CsvRows& rows, const CsvFeature& column) {
  std::uint64_t hash = kHashStart;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const std::string path = column.path(rows.row_of(i));
    hash = hash_stamp(path, hash_bytes(path.data(), path.size(), hash));
  }
  return hash;
}

}  // namespace dptrain::data
