// Reads any bytes as a file of weights: HDF5 in Keras's layouts, a .keras archive, or the text of a model_config.
// Matches and loads weights in every way and builds the model from its description, or expects Error{kCheckpoint}.
// Imported models are passed to graph::build, which may report errors.

#include <cstdlib>

#include "config/reader.h"
#include "core/error.h"
#include "formats/checkpoint/weights.h"
#include "formats/checkpoint_sample.h"
#include "formats/contents.h"
#include "formats/keras/keras_import.h"
#include "graph/graph_builder.h"

namespace {

using namespace dptrain;  // NOLINT(google-build-using-namespace)

template <class Read>
void attempt(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCheckpoint) std::abort();
  }
}

/// Large shapes are skipped, as they are valid.
bool is_small(const graph::Graph& graph) {
  std::int64_t elements = 0;
  for (const graph::Layer& layer : graph.layers)
    for (const nn::WeightDef& def : nn::type_of(layer.spec).weights(layer.spec.spec(), layer.inputs))
      elements += def.shape.elements();
  return elements < 100'000;
}

void build_from(const std::string& config, const formats::FileContents* contents) {
  const formats::KerasImport import = formats::import_model_config("fuzz", config);
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const graph::Graph graph = graph::build(import.model, "fuzz", reader);
  if (!diagnostics.ok() || contents == nullptr || !is_small(graph)) return;
  graph::Model model = graph::make_model(graph, 1);
  load_weights(*contents, {}, model, formats::Coverage::kSome);
}

void load_all_ways(const formats::FileContents& contents) {
  static graph::Model model = formats::sample::branched();
  using graph::WeightsMatch;
  for (const WeightsMatch match : {WeightsMatch::kName, WeightsMatch::kTopology, WeightsMatch::kAuto})
    attempt([&] {
      graph::WeightsSpec spec;
      spec.match = match;
      spec.skip_mismatch = true;
      spec.rename.rules = {{"^(.*)_(\\d+)$", "\\1$2"}};
      load_weights(contents, spec, model, formats::Coverage::kSome).table();
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto span = std::as_bytes(std::span(data, size));
  if (size > 0 && data[0] == '{') {
    attempt([&] { build_from({reinterpret_cast<const char*>(data), size}, nullptr); });
    return 0;
  }
  attempt([&] {
    const auto contents =
        formats::FileContents::from_bytes(formats::checkpoint_bytes("fuzz", {span.begin(), span.end()}));
    load_all_ways(contents);
    attempt([&] { build_from(contents.model_config(), &contents); });
    describe_file(contents);
  });
  return 0;
}
