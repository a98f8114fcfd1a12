#include "data/source.h"

#include "config/json_fragment.h"
#include "config/schema.h"

namespace dptrain::data {
namespace {

using config::key;
using config::Schema;

/// The keys of DatasetCommon, as members of the data set's own spec.
template <class Spec>
Schema with_common(Schema schema) {
  using Take = std::optional<std::int64_t> Spec::*;
  using Names = std::vector<std::string> Spec::*;
  schema.key(key("take", static_cast<Take>(&DatasetCommon::take)).at_least(1).doc("the first so many samples"));
  schema.key(key("class_names", static_cast<Names>(&DatasetCommon::class_names)).doc("one name per class, in order"));
  return schema;
}

config::Family make_family() {
  config::Family family("data set");
  family.add(config::type_def<IDXSpec>(with_common<IDXSpec>(
      Schema::of<IDXSpec>("IDX")
          .key(key("inputs", &IDXSpec::inputs).required().doc("a file, or {input name: file}; plain or .gz"))
          .key(key("labels", &IDXSpec::labels).required().doc("classes (integers), values, or one row per sample")))));
  family.add(config::type_def<SyntheticSpec>(with_common<SyntheticSpec>(
      Schema::of<SyntheticSpec>("Synthetic")
          .positional(key("samples", &SyntheticSpec::samples).at_least(1))
          .key(key("classes", &SyntheticSpec::classes).at_least(0).doc("0: as many as the model has outputs"))
          .key(key("seed", &SyntheticSpec::seed)))));
  family.add(config::type_def<SplitSpec>(with_common<SplitSpec>(
      Schema::of<SplitSpec>("Split")
          .key(key("of", &SplitSpec::of).doc("the data set that loses these samples: train, validation or test"))
          .positional(key("fraction", &SplitSpec::fraction).required().above(0).below(1))
          .key(key("stratified", &SplitSpec::stratified).doc("take the same fraction of every class")))));
  return family;
}

}  // namespace

config::Family& dataset_family() {
  static config::Family family = make_family();
  return family;
}

}  // namespace dptrain::data

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
