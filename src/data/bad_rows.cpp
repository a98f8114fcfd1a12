#include "data/bad_rows.h"

#include <cstring>
#include <string>

#include "core/error.h"

namespace dptrain::data {
namespace {

void put(std::vector<std::byte>& bytes, std::int64_t value) {
  const auto* const first = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof value);
}

void put(std::vector<std::byte>& bytes, const std::string& text) {
  put(bytes, static_cast<std::int64_t>(text.size()));
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), first, first + text.size());
}

/// Takes values off the front.
class BytesReader {
 public:
  explicit BytesReader(std::span<const std::byte> bytes) : left_(bytes) {}
  bool at_end() const { return left_.empty(); }

  std::int64_t number() {
    std::int64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const std::int64_t size = number();
    const std::span<const std::byte> bytes = take(size < 0 ? left_.size() + 1 : static_cast<std::size_t>(size));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::span<const std::byte> take(std::size_t count) {
    if (count > left_.size())
      throw Error(ErrorKind::kInternal, "the list of samples that cannot be read, from another process, is cut short");
    const std::span<const std::byte> front = left_.first(count);
    left_ = left_.subspan(count);
    return front;
  }

  std::span<const std::byte> left_;
};

}  // namespace

std::vector<std::byte> to_bytes(const std::vector<BadRow>& rows) {
  std::vector<std::byte> bytes;
  for (const BadRow& row : rows) {
    put(bytes, row.position);
    put(bytes, row.sample.byte);
    put(bytes, row.sample.file);
    put(bytes, row.sample.words);
  }
  return bytes;
}

std::vector<BadRow> bad_rows_of(std::span<const std::byte> bytes) {
  BytesReader reader(bytes);
  std::vector<BadRow> rows;
  while (!reader.at_end()) {
    BadRow& row = rows.emplace_back();
    row.position = reader.number();
    row.sample.byte = reader.number();
    row.sample.file = reader.text();
    row.sample.words = reader.text();
  }
  return rows;
}

}  // namespace dptrain::data
