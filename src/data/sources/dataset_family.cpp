#include "data/sources/dataset.h"

#include "config/json_fragment.h"

namespace dptrain::config {
namespace {

using Names = std::vector<std::string>;

}  // namespace

bool Value<ClassNames>::read(const Node& node, Reader& reader, ClassNames& out) {
  out = {};
  const Node found = reader.substituted(node);
  Names names;
  if (!found.is_map()) {
    if (!Value<Names>::read(node, reader, names)) return false;
    out = std::move(names);
    return true;
  }
  bool good = true;
  for (const Node::Entry& entry : found.entries()) {
    const Reader::Key element(reader, reader.key() + "." + entry.key);
    good = Value<Names>::read(entry.value, reader, names) && good;
    out.add(entry.key, std::move(names));
  }
  return good;
}

Node Value<ClassNames>::write(const ClassNames& value) {
  if (!value.has_named_output()) return Value<Names>::write(value.first());
  Node map = Node::map();
  for (const ClassNames::Entry& entry : value.entries()) map.set(entry.output, Value<Names>::write(entry.names));
  return map;
}

Node Value<ClassNames>::schema() {
  const Node names = Value<Names>::schema();
  return fragment::any_of({names, detail::map_schema(names)});
}

}  // namespace dptrain::config

namespace dptrain::data {

config::Family& dataset_family() {
  static config::Family family("data set");
  return family;
}

}  // namespace dptrain::data
