// A model's weights as a safetensors file, "conv1/kernel" by "conv1/kernel", in Keras's order and layout. The metadata
// contain what dptrain needs to build the model again.

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "dptrain_version.h"
#include "formats/exporter.h"
#include "formats/keras/keras_config.h"
#include "formats/keras/keras_file.h"

namespace dptrain::formats {
namespace {

constexpr std::size_t kAlignment = 64;  ///< alignment of the data; the format requires 8

/// The text's length in eight bytes, little endian, and the text, padded with spaces.
std::vector<std::byte> header_bytes(std::string text) {
  constexpr std::size_t kPrefixBytes = 8;
  while ((kPrefixBytes + text.size()) % kAlignment != 0) text += ' ';
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < kPrefixBytes; ++i)
    bytes.push_back(static_cast<std::byte>(text.size() >> (8 * i) & 0xFFU));
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

std::uint64_t write_safetensors(const std::string& path, const Exported& exported) {
  const graph::Model& model = exported.model;
  nlohmann::ordered_json texts{{"format", "dptrain"},
                               {"dptrain_version", std::string(kVersion)},
                               {"model_config", keras::model_config(model.graph)}};
  if (!exported.class_names.empty()) texts[keras::kClassNames] = nlohmann::json(exported.class_names.first()).dump();
  if (const std::string names = keras::class_names_of_outputs(exported.class_names); !names.empty())
    texts[keras::kClassNamesOfOutputs] = names;
  if (!exported.learned.empty()) texts[keras::kLearned] = exported.learned;
  nlohmann::ordered_json header{{"__metadata__", texts}};
  std::vector<std::span<const std::byte>> parts{{}};
  std::uint64_t at = 0;
  for (const int index : graph::keras_order(model.graph))
    for (const int w : model.graph.layers[static_cast<std::size_t>(index)].weights) {
      const graph::Weight& weight = model.weights[static_cast<std::size_t>(w)];
      const auto data = std::as_bytes(std::span(weight.values));
      header[weight.path(model.graph)] = {
          {"dtype", "F32"}, {"shape", weight.def.shape.dims()}, {"data_offsets", {at, at + data.size()}}};
      at += data.size();
      parts.push_back(data);
    }
  const std::vector<std::byte> head =
      header_bytes(header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  parts.front() = head;
  return write_atomically(path, parts);
}

const RegisteredExporter kSafetensors({.name = "safetensors",
                                       .suffixes = {".safetensors"},
                                       .write = write_safetensors});

}  // namespace
}  // namespace dptrain::formats
