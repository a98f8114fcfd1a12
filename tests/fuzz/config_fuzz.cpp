// The config reader on arbitrary text: it reports or it reads, and what it reads it writes so that it reads back.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "config/load.h"
#include "config/schema.h"
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
    apply_set(root, text.substr(0, text.find('\n')), diagnostics);
  }
  diagnostics.render();
  return 0;
}
