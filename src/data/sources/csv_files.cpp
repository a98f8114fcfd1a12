#include "data/sources/csv_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "data/sources/file_stamp.h"

namespace dptrain::data {
namespace {

constexpr std::int64_t kHashedRows = 1000, kHashedFiles = 64;
constexpr std::streamoff kHashedBytes = 4096;

/// The size, and the first and last bytes; of what is no file, nothing.
std::uint64_t hash_of_ends(const std::string& path, std::uint64_t hash) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  hash = hash_number(static_cast<std::uint64_t>(size), hash);
  for (const std::streamoff first : {std::streamoff{0}, size - kHashedBytes}) {
    char bytes[kHashedBytes];
    file.clear();
    file.seekg(std::max<std::streamoff>(first, 0));
    file.read(bytes, kHashedBytes);
    hash = hash_bytes(bytes, static_cast<std::size_t>(file.gcount()), hash);
  }
  return hash;
}

}  // namespace

std::uint64_t hash_of_named_files(const CsvRows& rows, const CsvFeature& column) {
  std::uint64_t hash = kHashStart;
  const std::int64_t count = rows.size(), named = std::min(count, kHashedRows), read = std::min(count, kHashedFiles);
  for (std::int64_t i = 0; i < named; ++i) {
    const std::string name = column.cell_text(rows.row_of(i * count / named));
    hash = hash_bytes(name.data(), name.size(), hash);
  }
  for (std::int64_t i = 0; i < read; ++i) hash = hash_of_ends(column.path(rows.row_of(i * count / read)), hash);
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
