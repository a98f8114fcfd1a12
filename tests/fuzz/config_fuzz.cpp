// The config reader on arbitrary text: it reports errors, or its output reads back. Text with `layers` is also built as
// a model with blocks and networks expanded.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "config/config_loader.h"
#include "config/schema.h"
#include "graph/graph_builder.h"
#include "tests/config/example.h"

namespace {

using namespace dptrain::config;

void require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

void read_with_schemas(const Node& root) {
  Diagnostics diagnostics;
  Reader reader(diagnostics);
  reader.set_variable("x", "1/2");
  const Reader::Scope scope(reader, {{"p", root.is_map() && !root.entries().empty() ? root.entries()[0].value : root}});
  ConvSpec conv;
  conv_schema().read(root, root.mark(), reader, &conv, {"name"});
  if (const Typed typed = test_optimizers().read(root, reader)) {
    const std::string written = to_yaml(typed.write());
    Diagnostics again;
    Reader second(again);
    const Typed back = test_optimizers().read(load_text(written, "written.yaml", ".", again), second);
    require(again.ok() && to_yaml(back.write()) == written, "a written type does not read back",
            written + again.render());
  }
  diagnostics.render();
  diagnostics.render_json();
}

void build_model(const Node& root) {
  if (!root.is_map() || root.find("layers") == nullptr) return;
  Diagnostics diagnostics;
  Reader reader(diagnostics);
  const dptrain::graph::Graph graph = dptrain::graph::build(root, "fuzz", reader);
  diagnostics.render();
  if (!diagnostics.ok()) return;
  const std::string written = to_yaml(dptrain::graph::write(graph));
  Diagnostics again;
  Reader second(again);
  const dptrain::graph::Graph back =
      dptrain::graph::build(load_text(written, "written.yaml", ".", again), "fuzz", second);
  require(again.ok() && back.nodes.size() == graph.nodes.size(), "a written model does not read back",
          written + again.render());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Diagnostics diagnostics;
  Node root = load_text(text, "fuzz.yaml", ".", diagnostics);
  if (diagnostics.ok()) {
    const std::string written = to_yaml(root);
    Diagnostics again;
    const Node back = load_text(written, "written.yaml", ".", again);
    require(again.ok(), "what was written does not parse", written + again.render());
    require(same(root, back), "what was written reads as another tree", written);
    to_json(root);
    read_with_schemas(root);
    build_model(root);
    apply_set(root, text.substr(0, text.find('\n')), diagnostics);
  }
  diagnostics.render();
  return 0;
}
