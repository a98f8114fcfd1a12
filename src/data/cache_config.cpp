#include "config/json_fragment.h"
#include "data/cache.h"

namespace dptrain::config {

using data::CacheOptions;

bool Value<CacheOptions>::read(const Node& node, Reader& reader, CacheOptions& out) {
  out = {};
  const Node found = reader.substituted(node);
  const std::string wanted = "none, memory, {memory: SIZE} or {disk: FOLDER}";
  if (found.is_map()) {
    if (found.entries().size() != 1) return reader.expected(found, wanted), false;
    const Node::Entry& entry = found.entries().front();
    const Reader::Key element(reader, reader.key() + "." + entry.key);
    if (entry.key == "disk") {
      out.kind = CacheOptions::Kind::kDisk;
      return Value<Path>::read(entry.value, reader, out.folder);
    }
    if (entry.key != "memory") return reader.expected(found, wanted), false;
    out.kind = CacheOptions::Kind::kMemory;
    return Value<ByteSize>::read(entry.value, reader, out.limit.emplace());
  }
  std::string word;
  if (!Value<std::string>::read(found, reader, word)) return false;
  if (word == "memory") out.kind = CacheOptions::Kind::kMemory;
  if (word != "memory" && word != "none") return reader.expected(found, wanted), false;
  return true;
}

Node Value<CacheOptions>::write(const CacheOptions& value) {
  if (value.kind == CacheOptions::Kind::kNone) return Node::text("none");
  if (value.kind == CacheOptions::Kind::kMemory && !value.limit) return Node::text("memory");
  Node map = Node::map();
  if (value.kind == CacheOptions::Kind::kMemory) {
    map.set("memory", Value<ByteSize>::write(*value.limit));
  } else {
    map.set("disk", Value<Path>::write(value.folder));
  }
  return map;
}

Node Value<CacheOptions>::schema() {
  const auto object = [](const char* key, Node value, const char* text) {
    Node properties = Node::map(), made = Node::map();
    properties.set(key, fragment::described(std::move(value), text));
    made.set("type", Node::text("object"));
    made.set("properties", properties);
    made.set("required", Node::sequence({Node::text(key)}));
    made.set("additionalProperties", Node::boolean(false));
    return made;
  };
  Node words = Node::map(), any = Node::map();
  words.set("enum", Node::sequence({Node::text("none"), Node::text("memory")}));
  any.set("anyOf", Node::sequence({words, object("memory", Value<ByteSize>::schema(), "bytes that the cache can use"),
                                   object("disk", Value<Path>::schema(), "folder of the cache")}));
  return any;
}

}  // namespace dptrain::config
