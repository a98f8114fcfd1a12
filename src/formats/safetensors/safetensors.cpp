// The format: https://huggingface.co/docs/safetensors, "Format", and its reference implementation's checks.

#include "formats/safetensors/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/floats.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "core/text.h"
#include "dptrain_version.h"
#include "formats/exporter.h"
#include "formats/keras/keras_config.h"
#include "formats/keras/keras_file.h"
#include "formats/stored_layers.h"
#include "graph/definitions.h"

namespace dptrain::formats {
namespace {

using Header = nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  ///< as in the reference implementation
constexpr int kDeepestHeader = 4;                      ///< {"name": {"shape": [...]}}

struct Place {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape{};
  std::uint64_t begin = 0, end = 0;  ///< in the data
};

std::uint64_t header_length(const FileBytes& file) {
  const std::vector<std::byte> bytes = file.read(0, kLengthBytes);
  return Cursor(file, bytes).u64();
}

std::optional<DType> dtype_of(const std::string& word) {
  static const std::map<std::string, DType> words{
      {"F32", DType::kF32}, {"F16", DType::kF16}, {"BF16", DType::kBf16}, {"F64", DType::kF64}};
  const auto found = words.find(word);
  return found == words.end() ? std::nullopt : std::optional(found->second);
}

class HeaderReader {
 public:
  HeaderReader(const FileBytes& file, std::uint64_t data_bytes) : file_(file), data_bytes_(data_bytes) {}

  std::vector<Place> places(const Header& header) const {
    std::vector<Place> all;
    for (const auto& [name, tensor] : header.items())
      if (name != "__metadata__") all.push_back(place(name, tensor));
    std::ranges::stable_sort(all, {}, [](const Place& p) { return std::pair(p.begin, p.end); });
    std::uint64_t at = 0;
    for (const Place& one : all) {
      if (one.begin != at)
        damaged(one.name, fmt::format("begins at byte {} of the data, where byte {} is next", one.begin, at));
      at = one.end;
    }
    if (at != data_bytes_)
      file_.throw_damaged(fmt::format("its tensors need {} bytes, but it has {} of data", at, data_bytes_));
    return all;
  }

  std::map<std::string, std::string> metadata(const Header& header) const {
    std::map<std::string, std::string> texts;
    const auto found = header.find("__metadata__");
    if (found == header.end()) return texts;
    if (!found->is_object()) file_.throw_damaged("its __metadata__ is not an object");
    for (const auto& [key, value] : found->items()) {
      if (!value.is_string()) file_.throw_damaged(fmt::format("its __metadata__ '{}' is not text", printable(key)));
      texts.emplace(key, value.get<std::string>());
    }
    return texts;
  }

 private:
  [[noreturn]] void damaged(const std::string& name, const std::string& what) const {
    file_.throw_damaged(fmt::format("tensor '{}' {}", printable(name), what));
  }

  Place place(const std::string& name, const Header& tensor) const {
    const auto member = [&](const char* key) -> const Header& {
      if (!tensor.is_object() || !tensor.contains(key)) damaged(name, fmt::format("has no '{}'", key));
      return tensor.at(key);
    };
    Place place{.name = name};
    const Header &dtype = member("dtype"), &offsets = member("data_offsets");
    const auto known = dtype.is_string() ? dtype_of(dtype.get<std::string>()) : std::nullopt;
    if (!known)
      file_.refuse(fmt::format("cannot be read: tensor '{}' is of dtype {}, and weights are F32, F16, BF16 or F64",
                               printable(name), dtype.dump(-1, ' ', true, Header::error_handler_t::replace)));
    place.dtype = *known;
    place.shape = shape(name, member("shape"));
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      damaged(name, "has data_offsets that are not two offsets");
    place.begin = offsets[0].get<std::uint64_t>();
    place.end = offsets[1].get<std::uint64_t>();
    if (place.begin > place.end || place.end > data_bytes_) damaged(name, "is outside of the data");
    const std::uint64_t bytes = static_cast<std::uint64_t>(place.shape.elements()) * size_of(place.dtype);
    if (bytes != place.end - place.begin)
      damaged(name, fmt::format("has {} bytes, but its shape and dtype need {}", place.end - place.begin, bytes));
    return place;
  }

  /// Cannot overflow: the data bound the product, or each extent if the product is 0.
  Shape shape(const std::string& name, const Header& extents) const {
    if (!extents.is_array()) damaged(name, "has a shape that is not a list");
    std::vector<std::int64_t> dims;
    const bool empty = std::any_of(extents.begin(), extents.end(), [](const Header& extent) { return extent == 0; });
    const std::uint64_t most = empty ? kLongestHeader : data_bytes_;
    std::uint64_t product = 1;
    for (const Header& extent : extents) {
      if (!extent.is_number_unsigned()) damaged(name, "has an extent that is not an unsigned integer");
      const auto n = extent.get<std::uint64_t>();
      if (n > most || (!empty && product > most / n)) damaged(name, "is larger than the data");
      product = empty ? 0 : product * n;
      dims.push_back(static_cast<std::int64_t>(n));
    }
    return Shape(std::move(dims));
  }

  const FileBytes& file_;
  std::uint64_t data_bytes_;
};

constexpr std::size_t kNowhere = 1000;

template <std::size_t N>
std::size_t place_in(const std::array<const char*, N>& words, const std::string& word) {
  const auto found = std::ranges::find(words, word);
  return found == words.end() ? kNowhere : static_cast<std::size_t>(found - words.begin());
}

/// Parts of a layer that Keras names between the layer and its weight, in the order of their weights.
std::size_t place_of_part(const std::string& part) {
  static constexpr std::array<const char*, 4> kProjections{"query", "key", "value", "attention_output"};
  if (part.ends_with("_cell")) return 0;
  if (part.starts_with("forward_")) return 1;
  if (part.starts_with("backward_")) return 2;
  const std::size_t projection = place_in(kProjections, part);
  return projection == kNowhere ? kNowhere : 10 + projection;
}

/// Keras's order of the weights of a layer, over all layers.
std::size_t place_of_weight(const std::string& weight) {
  static constexpr std::array<const char*, 17> kOrder{"kernel",
                                                      "depthwise_kernel",
                                                      "pointwise_kernel",
                                                      "recurrent_kernel",
                                                      "embeddings",
                                                      "alpha",
                                                      "scale",
                                                      "weight",
                                                      "bias",
                                                      "gamma",
                                                      "beta",
                                                      "moving_mean",
                                                      "moving_variance",
                                                      "mean",
                                                      "variance",
                                                      "count",
                                                      "concat_score_weight"};
  return place_in(kOrder, weight);
}

struct Named {
  std::string layer, weight;
  std::vector<std::size_t> order;
};

/// Splits at slashes, or at points if there are no slashes.
Named parse_name(const std::string& name) {
  const char separator = name.find('/') != std::string::npos ? '/' : '.';
  std::vector<std::string> parts = split(name, separator);
  std::size_t layer = parts.size() - 1;
  while (separator == '/' && layer > 1 && place_of_part(parts[layer - 1]) != kNowhere) --layer;
  Named named;
  for (std::size_t i = layer; i + 1 < parts.size(); ++i) named.order.push_back(place_of_part(parts[i]));
  named.order.push_back(place_of_weight(parts.back()));
  const auto joined = [&](std::size_t from, std::size_t to) {
    return join(std::vector<std::string>(parts.begin() + static_cast<std::ptrdiff_t>(from),
                                         parts.begin() + static_cast<std::ptrdiff_t>(to)),
                std::string(1, separator));
  };
  named.layer = joined(0, layer);
  named.weight = joined(layer, parts.size());
  return named;
}

}  // namespace

std::vector<float> SafetensorsArray::floats() const {
  std::vector<float> values(static_cast<std::size_t>(elements()));
  if (dtype_ == DType::kF32) {
    file_->read(offset_, std::as_writable_bytes(std::span(values)));
    return values;
  }
  const std::vector<std::byte> data = file_->read(offset_, elements() * size_of(dtype_));
  Cursor at(*file_, data);
  for (float& value : values) {
    const std::uint64_t bits = at.number(size_of(dtype_));
    if (dtype_ == DType::kF64)
      value = static_cast<float>(std::bit_cast<double>(bits));
    else if (dtype_ == DType::kBf16)
      value = float_of_bfloat16(static_cast<std::uint16_t>(bits));
    else
      value = float_of_half(static_cast<std::uint16_t>(bits));
  }
  return values;
}

bool is_safetensors(const FileBytes& file) {
  if (file.size() < kLengthBytes + 2) return false;
  const std::vector<std::byte> first = file.read(kLengthBytes, 1);
  return std::to_integer<char>(first[0]) == '{' && header_length(file) <= kLongestHeader;
}

Safetensors read_safetensors(const std::shared_ptr<const FileBytes>& file) {
  const std::uint64_t length = header_length(*file);
  if (length > kLongestHeader || !file->contains(kLengthBytes, length))
    file->throw_damaged(fmt::format("its header of {} bytes does not end in it", length));
  std::string text(static_cast<std::size_t>(length), '\0');
  file->read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  if (exceeds_json_depth(text, kDeepestHeader)) file->throw_damaged("its header is nested too deeply");
  const Header header = Header::parse(text, nullptr, false);
  if (!header.is_object()) file->throw_damaged("its header is not a JSON object");
  const std::uint64_t data = kLengthBytes + length;
  const HeaderReader reader(*file, file->size() - data);
  Safetensors all{.tensors = {}, .metadata = reader.metadata(header)};
  for (Place& place : reader.places(header))
    all.tensors.push_back(
        {std::move(place.name), SafetensorsArray(file, place.dtype, std::move(place.shape), data + place.begin)});
  return all;
}

StoredLayers layers_of(const Safetensors& file) {
  struct Piece {
    Named named;
    const Safetensors::Tensor* tensor;
  };
  std::vector<std::string> order;
  std::map<std::string, std::vector<Piece>> pieces;
  std::map<std::string, std::string> kinds;
  if (const auto config = file.metadata.find("model_config"); config != file.metadata.end())
    for (const ConfigLayer& layer : config_layers(config->second)) {
      order.push_back(layer.name);
      kinds.emplace(layer.name, graph::snake_case(layer.class_name));
      pieces[layer.name];
    }
  const bool ordered = !order.empty();
  for (const Safetensors::Tensor& tensor : file.tensors) {
    Named named = parse_name(tensor.name);
    if (!pieces.contains(named.layer)) order.push_back(named.layer);
    pieces[named.layer].push_back({std::move(named), &tensor});
  }
  StoredLayers all;
  all.layout = "safetensors";
  all.ordered = ordered;
  for (const std::string& name : order) {
    std::vector<Piece>& own = pieces[name];
    std::ranges::stable_sort(own, {}, [](const Piece& piece) { return piece.named.order; });
    StoredLayer layer{name, {}, {}, "", kinds[name], true};
    for (const Piece& piece : own) {
      layer.weight_names.push_back(name + "/" + piece.named.weight);
      layer.weights.emplace_back(piece.tensor->array);
    }
    all.layers.push_back(std::move(layer));
  }
  return all;
}

// Writing: a model's weights as "conv1/kernel" in Keras's order and layout. The metadata contain what dptrain needs to
// build the model again.

namespace {

constexpr std::size_t kAlignment = 64;  ///< alignment of the data; the format requires 8

/// The text with its length before it, padded with spaces.
std::vector<std::byte> header_bytes(std::string text) {
  while ((kLengthBytes + text.size()) % kAlignment != 0) text += ' ';
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
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
  if (!exported.fitted_state.empty()) texts[keras::kFittedStateKey] = exported.fitted_state;
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
