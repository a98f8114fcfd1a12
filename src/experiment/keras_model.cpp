#include "experiment/keras_model.h"

#include <array>
#include <filesystem>
#include <utility>

#include "config/schema.h"
#include "core/format.h"
#include "formats/keras/keras_import.h"
#include "graph/graph_builder.h"

namespace dptrain::experiment {
namespace {

using config::Node;
using config::Reader;

struct Source {
  config::Path file;
  std::optional<Shape> input_shape;
};

const config::Schema& source_schema() {
  using config::key;
  static const config::Schema schema =
      config::Schema::of<Source>("from_keras")
          .positional(key("file", &Source::file).required().doc("path of the file, relative to the config's folder"))
          .key(key("input_shape", &Source::input_shape)
                   .doc("[height, width, channels], where the file leaves the shape open"));
  return schema;
}

/// Errors in the file's layers are reported where the config names the file.
void set_marks(Node& node, const config::Mark& mark) {
  node.set_mark(mark);
  for (Node& item : node.items()) set_marks(item, mark);
  for (Node::Entry& entry : node.entries()) {
    entry.mark = mark;
    set_marks(entry.value, mark);
  }
}

Node weights_of(const std::string& file) {
  Node weights = Node::map();
  weights.set("file", Node::text(file));
  weights.set("expect", Node::text("*"));
  return weights;
}

}  // namespace

Node with_keras_layers(const Node& model, Reader& reader) {
  const Node* from = model.is_map() ? model.find("from_keras") : nullptr;
  if (from == nullptr) return model;
  const Reader::Subject subject(reader, "model");
  const std::size_t errors = reader.diagnostics().errors().size();
  config::Mark where = model.mark();
  static const std::array<const char*, 4> kInstead{"layers", "blocks", "shared", "outputs"};
  for (const Node::Entry& entry : model.entries()) {
    if (entry.key == "from_keras") where = entry.mark;
    for (const char* other : kInstead)
      if (entry.key == other)
        reader.error(entry.mark, fmt::format("'{}' cannot be combined with from_keras, which reads them from the file; "
                                             "'dptrain ckpt convert' writes a config that can be changed",
                                             other));
  }
  Source source;
  const bool read = source_schema().read(reader.substituted(*from), where, reader, &source);
  if (!read || reader.diagnostics().errors().size() != errors) return model;

  formats::KerasImport import = formats::import_model(source.file.value, source.input_shape);
  for (const std::string& warning : import.warnings) reader.diagnostics().warn(where, warning);
  Node result = std::move(import.model);
  set_marks(result, where);
  for (const Node::Entry& entry : model.entries())
    if (entry.key != "from_keras") {
      result.set(entry.key, entry.value);
      result.entries().back().mark = entry.mark;
    }
  if (model.find("weights") == nullptr) result.set("weights", weights_of(source.file.value));
  return result;
}

graph::Graph keras_graph(const std::string& path, const std::optional<Shape>& input_shape) {
  formats::KerasImport import = formats::import_model(path, input_shape);
  import.model.set("weights", weights_of(path));
  config::Diagnostics diagnostics;
  Reader reader(diagnostics);
  const std::string name = import.name.empty() ? std::filesystem::path(path).stem().string() : import.name;
  graph::Graph graph = graph::build(import.model, name, reader);
  diagnostics.throw_if_errors();
  return graph;
}

}  // namespace dptrain::experiment
