#include "data/on_error.h"

#include <cmath>
#include <cstring>
#include <string>

#include "config/json_fragment.h"
#include "config/value.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::data {

std::string BadSample::str() const {
  const std::string place = byte < 0 ? "" : fmt::format("byte {}: ", with_commas(byte));
  return file + ": " + place + reason;
}

BadSamples::BadSamples(const OnError& policy, std::int64_t files, std::string place, const char* word)
    : policy_(policy), files_(files), place_(std::move(place)), word_(word) {}

void BadSamples::add(const BadSample& bad) {
  if (known_.insert(bad.file).second) {
    all_.push_back(bad);
    if (listener_) listener_(bad);
  }
  if (!policy_.skip)
    throw Error(ErrorKind::kData, fmt::format("{} ({} skip leaves such {} out)", bad.str(),
                                              policy_.is_flag ? "--on-error" : "on_error:", word_));
  if (too_many())
    throw Error(
        ErrorKind::kData,
        fmt::format("{}: {} of {} {} cannot be read, more than on_error allows ({}); the last one: {}", place_,
                    with_commas(static_cast<std::int64_t>(all_.size())), with_commas(files_), word_,
                    policy_.max_count ? with_commas(*policy_.max_count) : shortest(*policy_.max_fraction * 100) + " %",
                    all_.back().str()));
}

bool BadSamples::too_many() const {
  const auto count = static_cast<std::int64_t>(all_.size());
  if (policy_.max_count) return count > *policy_.max_count;
  return policy_.max_fraction && static_cast<double>(count) > *policy_.max_fraction * static_cast<double>(files_);
}

void BadSamples::set_listener(std::function<void(const BadSample&)> listener) {
  listener_ = std::move(listener);
  if (listener_)
    for (const BadSample& bad : all_) listener_(bad);
}

}  // namespace dptrain::data

namespace dptrain::config {
namespace {

constexpr const char* kExpected = "fail, skip, or {skip: LIMIT} with a limit such as 10 or 0.1%";

bool read_limit(const Node& limit, Reader& reader, data::OnError& out) {
  const Reader::Key naming(reader, reader.key() + ".skip");
  const std::optional<double> number = reader.number(limit);
  if (!number) return false;
  const bool percent = limit.str().find('%') != std::string::npos;
  if (percent ? *number >= 0 && *number <= 1 : *number > 0 && *number < 1) return out.max_fraction = *number, true;
  if (!percent && *number >= 0 && *number < 1e15 && *number == std::floor(*number))
    return out.max_count = static_cast<std::int64_t>(*number), true;
  reader.expected(limit, "a number of files such as 10, or a part of them such as 0.1%");
  return false;
}

}  // namespace

bool Value<data::OnError>::read(const Node& node, Reader& reader, data::OnError& out) {
  out = {};
  const Node found = reader.substituted(node);
  if (found.is_scalar() && (found.str() == "fail" || found.str() == "skip"))
    return out.skip = found.str() == "skip", true;
  if (!found.is_map() || found.entries().size() != 1 || found.entries().front().key != "skip") {
    reader.expected(found, kExpected);
    return false;
  }
  out.skip = true;
  return read_limit(reader.substituted(found.entries().front().value), reader, out);
}

Node Value<data::OnError>::write(const data::OnError& value) {
  if (!value.max_count && !value.max_fraction) return Node::scalar(value.skip ? "skip" : "fail");
  Node map = Node::map();
  if (value.max_count) return map.set("skip", Node::integer(*value.max_count)), map;
  const bool whole = *value.max_fraction == 0 || *value.max_fraction == 1;  // numbers 0 and 1 would be counts
  map.set("skip", whole ? Node::scalar(*value.max_fraction == 0 ? "0%" : "100%") : Node::number(*value.max_fraction));
  return map;
}

Node Value<data::OnError>::schema() {
  return fragment::any_of({detail::enum_schema({"fail", "skip"}), detail::map_schema(Value<std::string>::schema())});
}

}  // namespace dptrain::config

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

/// Deserializes values from the front.
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
    put(bytes, row.sample.reason);
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
    row.sample.reason = reader.text();
  }
  return rows;
}

}  // namespace dptrain::data
