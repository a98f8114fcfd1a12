#include "experiment/preprocessing_advice.h"

#include <algorithm>
#include <cmath>

#include "config/expression.h"
#include "core/format.h"

namespace dptrain::experiment {
namespace {

double number(const config::Node& arguments, const char* key) {
  const config::Node* node = arguments.find(key);
  return node != nullptr && node->is_scalar() ? config::evaluate(node->str()).value_or(0) : 0;
}

/// Whether this transform is the preprocessing `mode`, under its name or as the arithmetic that it is.
bool is_preprocessing(const config::Typed& transform, const std::string& mode) {
  const config::Node arguments = transform.def().schema.write(transform.spec());
  if (transform.name() == "PreprocessInput") {
    const config::Node* found = arguments.find("mode");
    return found != nullptr && found->str() == mode;
  }
  return transform.name() == "Rescaling" && mode == "tf" && std::abs(number(arguments, "scale") * 127.5 - 1) < 1e-4 &&
         number(arguments, "offset") == -1;
}

}  // namespace

void advise_preprocessing(const graph::Graph& graph, const DataSection& data, config::Diagnostics& diagnostics) {
  if (!data.train && !data.validation && !data.test) return;
  const auto& transforms = data.transforms.eval;
  for (const graph::NetworkUse& use : graph.networks) {
    if (use.preprocessing == "built_in") continue;
    const bool there = std::any_of(transforms.begin(), transforms.end(), [&](const config::Typed& transform) {
      return is_preprocessing(transform, use.preprocessing);
    });
    if (use.reads_input && !there)
      diagnostics.warn(use.mark,
                       fmt::format("the published weights of {} want images after 'PreprocessInput: {}', which "
                                   "data.transforms lacks; with others they see noise",
                                   use.network, use.preprocessing));
  }
}

}  // namespace dptrain::experiment
