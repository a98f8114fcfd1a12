// Values of TextVectorization's keys that are two things.

#include <numeric>

#include "config/json_fragment.h"
#include "data/text/text_vectorization.h"

namespace dptrain::data {

std::vector<std::int64_t> NGrams::widths() const {
  if (!up_to) return these;
  std::vector<std::int64_t> all(static_cast<std::size_t>(*up_to));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

}  // namespace dptrain::data

namespace dptrain::config {

bool Value<data::GivenVocabulary>::read(const Node& node, Reader& reader, data::GivenVocabulary& out) {
  out = {};
  const Node found = reader.substituted(node);
  if (found.is_scalar()) return Value<Path>::read(found, reader, out.file);
  return Value<std::vector<std::string>>::read(found, reader, out.words);
}

Node Value<data::GivenVocabulary>::write(const data::GivenVocabulary& value) {
  return value.file.value.empty() ? Value<std::vector<std::string>>::write(value.words)
                                  : Value<Path>::write(value.file);
}

Node Value<data::GivenVocabulary>::schema() { return Value<std::vector<std::string>>::schema(); }

bool Value<data::NGrams>::read(const Node& node, Reader& reader, data::NGrams& out) {
  out = {};
  const Node found = reader.substituted(node);
  if (found.is_scalar()) {
    std::int64_t up_to = 0;
    if (!Value<std::int64_t>::read(found, reader, up_to)) return false;
    out.up_to = up_to;
  } else if (!Value<std::vector<std::int64_t>>::read(found, reader, out.these)) {
    return false;
  }
  constexpr std::int64_t kMost = 100;
  if (out.up_to && *out.up_to >= 1 && *out.up_to <= kMost) return true;
  bool good = !out.up_to;
  for (const std::int64_t width : out.these) good = good && width >= 1 && width <= kMost;
  if (!good) reader.expected(found, "a number of words from 1 to 100, or a list of them");
  return good;
}

Node Value<data::NGrams>::write(const data::NGrams& value) {
  return value.up_to ? Node::integer(*value.up_to) : Value<std::vector<std::int64_t>>::write(value.these);
}

Node Value<data::NGrams>::schema() { return Value<std::vector<std::int64_t>>::schema(); }

}  // namespace dptrain::config
