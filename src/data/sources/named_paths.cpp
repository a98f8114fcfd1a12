#include "data/sources/named_paths.h"

#include "config/json_fragment.h"

namespace dptrain::config {

bool Value<data::NamedPaths>::read(const Node& node, Reader& reader, data::NamedPaths& out) {
  out.paths.clear();
  const Node found = reader.substituted(node);
  if (!found.is_map()) {
    Path path;
    if (!Value<Path>::read(found, reader, path)) return false;
    out.paths.emplace_back("", std::move(path));
    return true;
  }
  if (found.entries().empty()) {
    reader.expected(found, "a path, or a mapping from input names to paths");
    return false;
  }
  bool good = true;
  for (const Node::Entry& entry : found.entries()) {
    const Reader::Key element(reader, reader.key() + "." + entry.key);
    Path path;
    good = Value<Path>::read(entry.value, reader, path) && good;
    out.paths.emplace_back(entry.key, std::move(path));
  }
  return good;
}

Node Value<data::NamedPaths>::write(const data::NamedPaths& value) {
  if (value.paths.size() == 1 && value.paths.front().first.empty())
    return Value<Path>::write(value.paths.front().second);
  Node map = Node::map();
  for (const auto& [name, path] : value.paths) map.set(name, Value<Path>::write(path));
  return map;
}

Node Value<data::NamedPaths>::schema() {
  return fragment::any_of({Value<Path>::schema(), detail::map_schema(Value<Path>::schema())});
}

}  // namespace dptrain::config
