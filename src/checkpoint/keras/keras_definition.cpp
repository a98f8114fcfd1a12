#include "checkpoint/keras/keras_definition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "checkpoint/config_layers.h"
#include "checkpoint/keras/keras_arithmetic.h"
#include "core/error.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "core/text.h"
#include "layers/layer.h"

namespace dptrain::checkpoint {
namespace {

constexpr int kDeepest = 16;  ///< models in models, lists in arguments

const nlohmann::json& at(const nlohmann::json& json, const char* key) {
  static const nlohmann::json nothing;
  if (!json.is_object()) return nothing;
  const auto found = json.find(key);
  return found == json.end() ? nothing : *found;
}

std::string text_at(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

bool is_model(const nlohmann::json& layer) {
  return at(at(layer, "config"), "layers").is_array() ||
         (at(layer, "config").is_array() && text_at(layer, "class_name") == "Sequential");
}

/// Operations that begin a mask or join masks.
bool makes_masks(const KerasLayer& layer) {
  const std::string& name = layer.class_name;
  const bool all_alike = name == "ZerosLike" || name == "OnesLike";  // Concatenate, for an input without a mask
  return name == "NotEqual" || name == "Any" || name == "LogicalOr" ||
         (all_alike && text_at(*layer.config, "dtype") == "bool");
}

/// Operations that give a mask where they read one; else Concatenate is a layer, which an .h5 does not tell apart.
bool passes_masks(const KerasLayer& layer) {
  return layer.class_name == "ExpandDims" || layer.class_name == "Concatenate" || layer.class_name == "ConvertToTensor";
}

/// Raw references of one model: names instead of places, until all layers are known.
struct Reference {
  std::string layer;
  std::uint64_t call = 0, output = 0;
  bool operator==(const Reference&) const = default;
};

class ModelReader {
 public:
  explicit ModelReader(const std::string& file) : file_(file) {}

  KerasModel read(const nlohmann::json& json, int depth) {
    if (depth > kDeepest) refuse("models are nested too deeply");
    const nlohmann::json& config = at(json, "config");
    KerasModel model;
    model.name = text_at(config, "name");
    model.trainable = at(config, "trainable") != false;
    const bool sequential = text_at(json, "class_name") == "Sequential";
    const nlohmann::json& list = config.is_array() ? config : at(config, "layers");
    for (const nlohmann::json& entry : list) model.layers.push_back(layer(entry, depth));
    if (model.layers.empty()) refuse(fmt::format("model '{}' has no layers", model.name));
    if (sequential)
      chain(model, config);
    else
      connect(model, list, config);
    return model;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::kCheckpoint, fmt::format("'{}': the model cannot be built: {}", file_, what));
  }

  KerasLayer layer(const nlohmann::json& entry, int depth) {
    KerasLayer layer;
    const nlohmann::json& config = at(entry, "config");
    layer.class_name = text_at(entry, "class_name");
    for (const char* package : {"keras_hub>", "keras_nlp>"})
      if (layer.class_name.starts_with(package)) layer.class_name.erase(0, std::string_view(package).size());
    layer.name = text_at(entry, "name");
    if (layer.name.empty()) layer.name = text_at(config, "name");
    if (layer.name.empty() || layer.class_name.empty()) refuse("a layer has no name or no class_name");
    layer.trainable = at(config, "trainable") != false;
    layer.config = std::make_unique<nlohmann::json>(config);
    if (is_model(entry)) layer.model = std::make_unique<KerasModel>(read(entry, depth + 1));
    return layer;
  }

  /// Each layer reads the one before. An input is made where the list has none.
  void chain(KerasModel& model, const nlohmann::json& config) {
    if (model.layers.front().class_name != "InputLayer") {
      const nlohmann::json* shape = &at(*model.layers.front().config, "batch_input_shape");
      if (shape->is_null()) shape = &at(*model.layers.front().config, "batch_shape");
      if (shape->is_null()) shape = &at(config, "build_input_shape");
      KerasLayer input;
      input.name = model.layers.front().name + "_input";
      input.class_name = "InputLayer";
      input.config = std::make_unique<nlohmann::json>(nlohmann::json{{"batch_shape", *shape}});
      model.layers.insert(model.layers.begin(), std::move(input));
    }
    model.layers.front().calls = {{}};
    for (std::size_t i = 1; i < model.layers.size(); ++i) model.layers[i].calls = {{KerasTensor{i - 1, 0, 0}}};
    model.inputs = {{0, 0, 0}};
    model.outputs = {{model.layers.size() - 1, 0, 0}};
  }

  void connect(KerasModel& model, const nlohmann::json& list, const nlohmann::json& config) {
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < model.layers.size(); ++i)
      if (!places.emplace(model.layers[i].name, i).second)
        refuse(fmt::format("two layers are called '{}'", model.layers[i].name));
    masks_.clear();
    std::vector<std::vector<std::vector<Reference>>> calls;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      calls.emplace_back();
      const nlohmann::json& nodes = at(list[i], "inbound_nodes");
      if (nodes.is_array())
        for (const nlohmann::json& node : nodes) calls.back().push_back(call(node, model.layers[i]));
      if (nodes.is_array()) check_arguments(model.layers[i], nodes);
      if (calls.back().empty() && model.layers[i].class_name == "InputLayer") calls.back().emplace_back();
    }
    mark_masks(model, calls, places);
    check_masks(model, places);
    std::vector<Reference> inputs, outputs;
    collect(at(config, "input_layers"), inputs, 0, "input_layers");
    collect(at(config, "output_layers"), outputs, 0, "output_layers");
    if (inputs.empty() || outputs.empty()) refuse(fmt::format("model '{}' has no inputs or no outputs", model.name));

    const std::vector<bool> from_one = counted_from_one(model, calls, outputs, places);
    const auto resolve = [&](const std::vector<Reference>& references) {
      std::vector<KerasTensor> tensors;
      for (const Reference& r : references) tensors.push_back(tensor(r, places, calls, from_one));
      return tensors;
    };
    for (std::size_t i = 0; i < calls.size(); ++i)
      for (const auto& one : calls[i]) model.layers[i].calls.push_back(resolve(one));
    model.inputs = resolve(inputs);
    model.outputs = resolve(outputs);
  }

  /// Keras 2 counts the calls of a model inside of a model from 1: call 0 is the one that defined it.
  static std::vector<bool> counted_from_one(const KerasModel& model,
                                            const std::vector<std::vector<std::vector<Reference>>>& calls,
                                            const std::vector<Reference>& outputs,
                                            const std::map<std::string, std::size_t>& places) {
    std::vector<bool> from_one(model.layers.size(), false);
    const auto look = [&](const Reference& r) {
      const auto found = places.find(r.layer);
      if (found == places.end() || model.layers[found->second].model == nullptr) return;
      if (r.call == calls[found->second].size()) from_one[found->second] = true;
    };
    for (const auto& layer : calls)
      for (const auto& call : layer)
        for (const Reference& r : call) look(r);
    for (const Reference& r : outputs) look(r);
    return from_one;
  }

  KerasTensor tensor(const Reference& r, const std::map<std::string, std::size_t>& places,
                     const std::vector<std::vector<std::vector<Reference>>>& calls,
                     const std::vector<bool>& from_one) const {
    const auto found = places.find(r.layer);
    if (found == places.end()) refuse(fmt::format("a layer reads '{}', which is not there", r.layer));
    const std::uint64_t first = from_one[found->second] ? 1 : 0;
    if (r.call < first || r.call - first >= calls[found->second].size())
      refuse(fmt::format("a layer reads call {} of '{}', which is not there", r.call, r.layer));
    return {found->second, static_cast<std::size_t>(r.call - first), static_cast<std::size_t>(r.output)};
  }

  /// Keras 2: [[layer, call, output, {kwargs}], ...]; Keras 3: {"args": [...], "kwargs": {...}}. What is no tensor
  /// becomes an argument of the layer where it has one of that name.
  std::vector<Reference> call(const nlohmann::json& node, KerasLayer& layer) {
    Call call{.where = fmt::format("layer '{}'", layer.name), .layer = layer};
    collect(node.is_object() ? at(node, "args") : node, call.inputs, 0, call);
    if (node.is_object()) {
      const std::optional<KerasLine> line = line_of(layer.class_name, at(node, "args"));
      if (line) become_rescaling(layer, *line);
      for (const nlohmann::json& argument : at(node, "args"))
        if (!line && argument.is_primitive() && !argument.is_null() && !makes_masks(layer))
          refuse(fmt::format("{} is called with {}, which is no tensor", call.where, argument.dump()));
      read_keywords(at(node, "kwargs"), call);
    }
    if (layer.class_name == "MultiHeadAttention") leave_out_repeated(call.inputs);
    return std::move(call.inputs);
  }

  /// An operation has one call.
  static void become_rescaling(KerasLayer& layer, const KerasLine& line) {
    layer.class_name = "Rescaling";
    *layer.config = {{"scale", line.scale}, {"offset", line.offset}};
  }

  struct Call {
    std::string where;
    KerasLayer& layer;
    std::vector<Reference> inputs{};
  };

  /// Self-attention is called as layer(x, x): here it has one input. A key is the value where it is not given.
  static void leave_out_repeated(std::vector<Reference>& inputs) {
    if (inputs.size() == 3 && inputs[2] == inputs[1]) inputs.pop_back();
    if (inputs.size() == 2 && inputs[1] == inputs[0]) inputs.pop_back();
  }

  /// Tensors that are inputs, in their order: the first argument of any layer, those of MultiHeadAttention, and behind
  /// the first the initial state of a recurrent layer. A mask is one that Keras has worked out itself, as we do
  /// (check_masks()), and `training` is the trainer's. Any other argument that says something must be one of ours.
  void read_keywords(const nlohmann::json& keywords, Call& call) {
    if (!keywords.is_object()) return;
    static constexpr const char* kInputs[] = {"inputs", "query", "value", "key", "initial_state"};
    for (const char* input : kInputs) collect(at(keywords, input), call.inputs, 0, call);
    for (const auto& [key, value] : keywords.items()) {
      if (std::ranges::find(kInputs, key) != std::end(kInputs) || key == "training" || says_nothing(value)) continue;
      std::vector<Reference> tensors;
      if (value.is_structured()) collect(value, tensors, 0, call);
      const bool is_mask = key == "mask" || (key.ends_with("_mask") && key != "attention_mask");
      if (is_mask && !tensors.empty())
        masks_.insert(masks_.end(), tensors.begin(), tensors.end());
      else if (!tensors.empty())
        refuse(fmt::format("{} is called with a tensor as '{}', which dptrain does not have", call.where, key));
      else
        set_argument(key, value, call);
    }
  }

  /// null, false and lists of nothing else.
  static bool says_nothing(const nlohmann::json& value) {
    if (value.is_structured()) return std::all_of(value.begin(), value.end(), says_nothing);
    return value.is_null() || value == false;
  }

  /// As if the layer's config had it: all its calls have to say the same.
  void set_argument(const std::string& key, const nlohmann::json& value, const Call& call) const {
    const auto* type = layers::layer_family().find(call.layer.class_name);
    const bool known = type != nullptr && std::ranges::any_of(type->schema.fields(), [&](const config::Field& field) {
                         return field.name == key;
                       });
    if (!known)
      refuse(fmt::format("{} is called with {}: {}, which dptrain does not have", call.where, key, value.dump()));
    (*call.layer.config)[key] = value;
  }

  /// Of a layer that is called several times, and not always with the same arguments.
  void check_arguments(const KerasLayer& layer, const nlohmann::json& nodes) const {
    std::set<std::string> different;
    for (const nlohmann::json& node : nodes) {
      const nlohmann::json& found = node.is_object() ? at(node, "kwargs") : kwargs_of(node);
      nlohmann::json said = nlohmann::json::object();
      if (found.is_object())
        for (const auto& [key, value] : found.items())
          if (value.is_primitive() && key != "training" && !says_nothing(value)) said[key] = value;
      different.insert(said.dump());
    }
    if (different.size() > 1)
      refuse(fmt::format("layer '{}' is called with different arguments: {}", layer.name,
                         join(std::vector<std::string>(different.begin(), different.end()), " and ")));
  }
  /// Of Keras 2's list of tensors: those of the first.
  static const nlohmann::json& kwargs_of(const nlohmann::json& node) {
    static const nlohmann::json nothing;
    if (!node.is_array() || node.empty()) return nothing;
    const nlohmann::json& first = node[0].is_array() ? node[0] : node;
    return first.size() > 3 ? first[3] : nothing;
  }

  /// Keras lists operations behind what they read.
  static void mark_masks(KerasModel& model, const std::vector<std::vector<std::vector<Reference>>>& calls,
                         const std::map<std::string, std::size_t>& places) {
    const auto is_mask = [&](const Reference& r) {
      const auto found = places.find(r.layer);
      return found != places.end() && model.layers[found->second].of_masks;
    };
    for (std::size_t i = 0; i < model.layers.size(); ++i)
      model.layers[i].of_masks = makes_masks(model.layers[i]) ||
                                 (passes_masks(model.layers[i]) && std::ranges::any_of(calls[i], [&](const auto& call) {
                                    return std::ranges::any_of(call, is_mask);
                                  }));
  }

  /// A mask that no operation of masks has made is one that somebody gave.
  void check_masks(const KerasModel& model, const std::map<std::string, std::size_t>& places) const {
    for (const Reference& mask : masks_) {
      const auto found = places.find(mask.layer);
      if (found == places.end() || !model.layers[found->second].of_masks)
        refuse(fmt::format("a layer is called with '{}' for a mask, which is not the mask of its input", mask.layer));
    }
  }

  /// The tensors in a value. Keras 2 has keyword arguments beside them, those of `call`; null: it has none.
  void collect(const nlohmann::json& value, std::vector<Reference>& out, int depth, const std::string& where,
               Call* call = nullptr) {
    if (depth > kDeepest) refuse(fmt::format("{}: its inputs are nested too deeply", where));
    if (value.is_object()) {
      const nlohmann::json& history = at(at(value, "config"), "keras_history");
      if (text_at(value, "class_name") == "__keras_tensor__" && history.is_array())
        return collect(history, out, depth + 1, where, call);
      for (const auto& [key, item] : value.items()) collect(item, out, depth + 1, where, call);
      return;
    }
    if (!value.is_array()) return;
    const bool leaf =
        value.size() >= 3 && value[0].is_string() && value[1].is_number_unsigned() && value[2].is_number_unsigned();
    if (!leaf) {
      for (const nlohmann::json& item : value) collect(item, out, depth + 1, where, call);
      return;
    }
    out.push_back({value[0].get<std::string>(), value[1].get<std::uint64_t>(), value[2].get<std::uint64_t>()});
    if (value.size() > 3 && call != nullptr) read_keywords(value[3], *call);
  }
  void collect(const nlohmann::json& value, std::vector<Reference>& out, int depth, Call& call) {
    collect(value, out, depth, call.where, &call);
  }

  const std::string& file_;
  std::vector<Reference> masks_;  ///< of the model being connected
};

/// The entry of a layer of the outermost model.
const nlohmann::json& entry_called(const nlohmann::json& model, const std::string& name) {
  for (const nlohmann::json& entry : at(at(model, "config"), "layers"))
    if (text_at(entry, "name") == name || text_at(at(entry, "config"), "name") == name) return entry;
  return model;
}

}  // namespace

KerasLayer::KerasLayer() = default;
KerasLayer::KerasLayer(KerasLayer&&) noexcept = default;
KerasLayer& KerasLayer::operator=(KerasLayer&&) noexcept = default;
KerasLayer::~KerasLayer() = default;

KerasModel read_keras_model(const std::string& file, const std::string& model_config) {
  const auto what = fmt::format("'{}': its model_config", file);
  const nlohmann::json json =
      nlohmann::json::parse(shallow_json(model_config, ErrorKind::kCheckpoint, what), nullptr, false);
  if (!is_model(json))
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("'{}' holds no Sequential or Functional model{}", file,
                            model_config.empty() ? ": it has weights alone; write the layers under 'layers'" : ""));
  const std::vector<ConfigLayer> layers = config_layers(model_config);
  const ConfigLayer* core = multi_gpu_core(layers);
  return ModelReader(file).read(core != nullptr ? entry_called(json, core->name) : json, 0);
}

}  // namespace dptrain::checkpoint
