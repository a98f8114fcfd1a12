// Writes ONNX files: the model as a graph, and dptrain's facts about it in the file's metadata.

#include <limits>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/dynamic_library.h"
#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "dptrain_version.h"
#include "formats/exporter.h"
#include "formats/keras/keras_file.h"
#include "formats/onnx/module/api.h"
#include "formats/onnx/onnx_model.h"

namespace dptrain::formats::onnx {
namespace {

/// Opens the module on the first call; it stays open.
Serialize serializer() try {
  static const DynamicLibrary module({.what = "dptrain's module for ONNX",
                                      .files = {kModuleFile},
                                      .package = "ONNX and protobuf (on Debian 12 libonnx1, libprotobuf32)",
                                      .otherwise = "write .h5"});
  return module.function<Serialize>(kSerialize);
} catch (const Error& error) {
  throw Error(ErrorKind::kWrite, error.what());
}

/// Largest message of protobuf.
void refuse_giants(const graph::Model& model) {
  std::int64_t bytes = 0;
  for (const graph::Weight& weight : model.weights) bytes += weight.def.shape.elements() * 4;
  if (bytes > std::numeric_limits<int>::max())
    throw Error(
        ErrorKind::kUsage,
        fmt::format("ONNX: the weights need {} bytes, but a file is at most 2 GiB; .h5 has no such limit", bytes));
}

std::uint64_t write_onnx(const std::string& path, const Exported& exported) {
  refuse_giants(exported.model);
  const std::int64_t wanted = exported.opset.value_or(kDefaultOpset);
  Graph graph = exported.free_steps ? free_steps_graph(exported.model, wanted)
                                    : model_graph(exported.model, wanted, {.preparation = exported.preparation});
  const auto opset = static_cast<int>(wanted);  // checked by model_graph
  File file{.graph = std::move(graph),
            .opset = opset,
            .ir_version = ir_version_of(opset),
            .producer = "dptrain",
            .producer_version = std::string(kVersion),
            .metadata = {}};
  file.metadata.emplace_back("dptrain_version", kVersion);
  if (!exported.model.graph.name.empty()) file.metadata.emplace_back("model", exported.model.graph.name);
  if (!exported.class_names.empty())
    file.metadata.emplace_back(
        "class_names",
        nlohmann::json(exported.class_names.first()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (const std::string names = keras::class_names_of_outputs(exported.class_names); !names.empty())
    file.metadata.emplace_back(keras::kClassNamesOfOutputs, names);
  if (!exported.fitted_state.empty()) file.metadata.emplace_back(keras::kFittedStateKey, exported.fitted_state);
  std::string bytes;
  if (const std::string fault = serializer()(file, bytes); !fault.empty())
    throw Error(ErrorKind::kUsage, fmt::format("ONNX: {}: {}", path, fault));
  return write_atomically(path, {std::as_bytes(std::span(bytes))});
}

const RegisteredExporter kOnnx({.name = "ONNX", .suffixes = {".onnx"}, .write = write_onnx});

}  // namespace
}  // namespace dptrain::formats::onnx
