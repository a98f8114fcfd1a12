#include "formats/keras/keras_definition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "core/text.h"
#include "formats/keras/keras_graph.h"
#include "formats/keras/keras_operations.h"
#include "formats/stored_layers.h"
#include "nn/layer.h"

namespace dptrain::formats {
namespace {

constexpr int kDeepest = 16;  ///< models in models, lists in arguments

/// Operations that begin a mask or join masks.
bool makes_masks(const KerasLayer& layer) {
  const std::string& name = layer.class_name;
  const bool all_alike = name == "ZerosLike" || name == "OnesLike";  // Concatenate, for an input without a mask
  return name == "NotEqual" || name == "Any" || name == "LogicalOr" ||
         (all_alike && text_at(*layer.config, "dtype") == "bool");
}

/// Operations that make a mask from a mask. Without one Concatenate is a layer; an .h5 does not mark the difference.
bool passes_masks(const KerasLayer& layer) {
  return layer.class_name == "ExpandDims" || layer.class_name == "Concatenate" || layer.class_name == "ConvertToTensor";
}

/// A reference by name, until all layers of the model have been read.
struct Reference {
  std::string layer;
  std::uint64_t call = 0, output = 0;
  bool operator==(const Reference&) const = default;
};

/// A call of a layer, with references to what it reads.
struct Call {
  std::vector<Reference> inputs{};
  std::vector<std::pair<std::string, std::vector<Reference>>> masks{};  ///< by keyword
  bool inference = false;                                               ///< training=False
  bool has_own_mask = false;
  std::vector<Reference> own_mask{};
};
using Calls = std::vector<std::vector<Call>>;  ///< one list for each layer

/// A call while it is read.
struct CallReading {
  std::string where;
  KerasLayer& layer;
  Call call{};
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
    layer.is_operator = is_operation(entry);
    layer.config = std::make_unique<nlohmann::json>(config);
    if (layer.class_name == "Identity") {
      layer.class_name = "Activation";
      *layer.config = {{"activation", "linear"}};
    }
    if (layer_list(entry) != nullptr) layer.model = std::make_unique<KerasModel>(read(entry, depth + 1));
    return layer;
  }

  /// Each layer reads the previous one. Adds an input if the list has none.
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
    Calls calls;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      calls.emplace_back();
      const nlohmann::json& nodes = at(list[i], "inbound_nodes");
      if (nodes.is_array())
        for (const nlohmann::json& node : nodes) calls.back().push_back(call(node, model.layers[i]));
      if (nodes.is_array()) check_arguments(model.layers[i], nodes);
      read_own_masks(at(list[i], keras::kMasks), calls.back());
      if (calls.back().empty() && model.layers[i].class_name == "InputLayer") calls.back().emplace_back();
    }
    mark_masks(model, calls, places);
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
      for (const Call& one : calls[i]) {
        KerasLayer& layer = model.layers[i];
        layer.calls.push_back(resolve(one.inputs));
        std::vector<KerasMask>& masks = layer.masks.emplace_back();
        for (const auto& [keyword, tensors] : one.masks)
          masks.push_back({keyword, tensors.empty() ? std::nullopt : std::optional(resolve(tensors).front())});
        layer.inference.push_back(one.inference);
        layer.own_masks.push_back(
            {one.has_own_mask, one.own_mask.empty() ? std::nullopt : std::optional(resolve(one.own_mask).front())});
      }
    model.inputs = resolve(inputs);
    model.outputs = resolve(outputs);
    take_single_steps(model);
  }

  void read_own_masks(const nlohmann::json& masks, std::vector<Call>& calls) {
    for (std::size_t i = 0; masks.is_array() && i < std::min(masks.size(), calls.size()); ++i) {
      calls[i].has_own_mask = !masks[i].is_null();
      collect(masks[i], calls[i].own_mask, 0, "mask");
    }
  }

  /// x[:, i] is Cropping1D and Flatten.
  static void take_single_steps(KerasModel& model) {
    for (std::size_t i = 0, count = model.layers.size(); i < count; ++i) {
      KerasLayer& layer = model.layers[i];
      if (!layer.takes_one_step || layer.calls.size() != 1) continue;
      KerasLayer crop;
      crop.name = layer.name + "_steps";
      crop.class_name = "Cropping1D";
      crop.is_operator = true;
      crop.config = std::exchange(layer.config, std::make_unique<nlohmann::json>(nlohmann::json::object()));
      crop.calls = std::exchange(layer.calls, {{KerasTensor{model.layers.size(), 0, 0}}});
      layer.class_name = "Flatten";
      model.layers.push_back(std::move(crop));
    }
  }

  /// Keras 2 counts the calls of a model inside of a model from 1: call 0 is the one that defined it.
  static std::vector<bool> counted_from_one(const KerasModel& model, const Calls& calls,
                                            const std::vector<Reference>& outputs,
                                            const std::map<std::string, std::size_t>& places) {
    std::vector<bool> from_one(model.layers.size(), false);
    const auto visit = [&](const Reference& r) {
      const auto found = places.find(r.layer);
      if (found == places.end() || model.layers[found->second].model == nullptr) return;
      if (r.call == calls[found->second].size()) from_one[found->second] = true;
    };
    for (const auto& layer : calls)
      for (const Call& call : layer)
        for (const Reference& r : call.inputs) visit(r);
    for (const Reference& r : outputs) visit(r);
    return from_one;
  }

  KerasTensor tensor(const Reference& r, const std::map<std::string, std::size_t>& places, const Calls& calls,
                     const std::vector<bool>& from_one) const {
    const auto found = places.find(r.layer);
    if (found == places.end()) refuse(fmt::format("a layer reads '{}', which does not exist", r.layer));
    const std::uint64_t first = from_one[found->second] ? 1 : 0;
    if (r.call < first || r.call - first >= calls[found->second].size())
      refuse(fmt::format("a layer reads call {} of '{}', which does not exist", r.call, r.layer));
    return {found->second, static_cast<std::size_t>(r.call - first), static_cast<std::size_t>(r.output)};
  }

  /// Keras 2: [[layer, call, output, {kwargs}], ...]; Keras 3: {"args": [...], "kwargs": {...}}. Values other than
  /// tensors become arguments of the layer if it has arguments of these names.
  Call call(const nlohmann::json& node, KerasLayer& layer) {
    CallReading reading{.where = fmt::format("layer '{}'", layer.name), .layer = layer};
    collect(node.is_object() ? at(node, "args") : node, reading.call.inputs, 0, reading);
    if (node.is_object()) {
      read_arguments(at(node, "args"), reading);
      read_keywords(at(node, "kwargs"), reading);
    }
    if (layer.class_name == "MultiHeadAttention") leave_out_repeated(reading.call.inputs);
    return std::move(reading.call);
  }

  /// Arguments by position. An operation has one call.
  void read_arguments(const nlohmann::json& arguments, CallReading& reading) const {
    KerasLayer& layer = reading.layer;
    const std::string operation = layer.class_name;
    if (layer.is_operator) become_layer(layer.class_name, *layer.config, arguments);
    if (operation == "GetItem" && layer.is_operator) return become_slice(arguments, reading);
    for (const nlohmann::json& argument : arguments) {
      if (is_constant(argument) && layer.class_name == operation)
        refuse(
            fmt::format("{} is called with a constant. dptrain has sums, differences, products and quotients of a "
                        "tensor and one number, or one number for each channel",
                        reading.where));
      if (!argument.is_primitive() || argument.is_null() || layer.class_name != operation) continue;
      if (!makes_masks(layer))
        refuse(fmt::format("{} is called with {}, which is not a tensor", reading.where, argument.dump()));
      if (argument.is_number()) layer.operand = argument.get<double>();
    }
  }

  void become_slice(const nlohmann::json& arguments, CallReading& reading) const {
    const std::optional<StepSlice> slice = slice_of_steps(arguments);
    if (!slice)
      refuse(fmt::format("{} is a slice. dptrain has x[:, a:b] and x[:, i] of a tensor [batch, steps, features]",
                         reading.where));
    const bool is_whole = slice->before == 0 && slice->after == 0 && !slice->drops_axis;
    reading.layer.class_name = is_whole ? "Activation" : "Cropping1D";
    *reading.layer.config = is_whole ? nlohmann::json{{"activation", "linear"}}
                                     : nlohmann::json{{"cropping", {slice->before, slice->after}}};
    reading.layer.takes_one_step = slice->drops_axis;
  }

  /// Self-attention is called as layer(x, x) and has one input in dptrain. The key defaults to the value.
  static void leave_out_repeated(std::vector<Reference>& inputs) {
    if (inputs.size() == 3 && inputs[2] == inputs[1]) inputs.pop_back();
    if (inputs.size() == 2 && inputs[1] == inputs[0]) inputs.pop_back();
  }

  /// Collects the input tensors in order: the first argument, those of MultiHeadAttention, the initial state. Any other
  /// argument with a value must be a key of the layer.
  void read_keywords(const nlohmann::json& keywords, CallReading& reading) {
    if (!keywords.is_object()) return;
    static constexpr const char* kInputs[] = {"inputs", "query", "value", "key", "initial_state"};
    for (const char* input : kInputs) collect(at(keywords, input), reading.call.inputs, 0, reading);
    if (at(keywords, "training") == false) reading.call.inference = true;
    for (const auto& [key, value] : keywords.items()) {
      if (std::ranges::find(kInputs, key) != std::end(kInputs) || key == "training") continue;
      if (key == "mask" || key == "query_mask" || key == "value_mask" || key == "key_mask") {
        read_mask(key, value, reading);
        continue;
      }
      std::vector<Reference> tensors;
      if (value.is_structured()) collect(value, tensors, 0, reading);
      if (!tensors.empty())
        refuse(fmt::format("{} is called with a tensor as '{}', which dptrain does not support", reading.where, key));
      else if (!is_absent(value))
        set_argument(key, value, reading);
    }
  }

  /// One mask, or a list of one for each input of an attention layer.
  void read_mask(const std::string& keyword, const nlohmann::json& value, CallReading& reading) {
    static const std::vector<std::string> of_inputs{"query_mask", "value_mask", "key_mask"};
    const bool is_list = value.is_array() && !value.empty() && !value[0].is_string();
    if (is_list && value.size() > of_inputs.size())
      refuse(fmt::format("{} is called with {} masks as '{}'", reading.where, value.size(), keyword));
    for (std::size_t i = 0; i < (is_list ? value.size() : 1); ++i) {
      const nlohmann::json& one = is_list ? value[i] : value;
      std::vector<Reference> tensors;
      if (one.is_structured()) collect(one, tensors, 0, reading);
      if (tensors.size() > 1 || (tensors.empty() && !is_absent(one)))
        refuse(fmt::format("{} is called with {} as '{}', which is not a mask", reading.where, one.dump(), keyword));
      reading.call.masks.emplace_back(is_list ? of_inputs[i] : keyword, std::move(tensors));
    }
  }

  /// Whether the value is null, false or a list of these.
  static bool is_absent(const nlohmann::json& value) {
    if (value.is_structured()) return std::all_of(value.begin(), value.end(), is_absent);
    return value.is_null() || value == false;
  }

  /// Stores the argument in the layer's config: all calls must have the same arguments.
  void set_argument(const std::string& key, const nlohmann::json& value, const CallReading& reading) const {
    const auto* type = nn::layer_family().find(reading.layer.class_name);
    const bool known = type != nullptr && std::ranges::any_of(type->schema.fields(), [&](const config::Field& field) {
                         return field.name == key;
                       });
    if (!known)
      refuse(fmt::format("{} is called with {}: {}, which dptrain does not support", reading.where, key, value.dump()));
    (*reading.layer.config)[key] = value;
  }

  /// Refuses a layer whose calls have different arguments.
  void check_arguments(const KerasLayer& layer, const nlohmann::json& nodes) const {
    std::set<std::string> different;
    for (const nlohmann::json& node : nodes) {
      const nlohmann::json& found = node.is_object() ? at(node, "kwargs") : kwargs_of(node);
      nlohmann::json arguments = nlohmann::json::object();
      if (found.is_object())
        for (const auto& [key, value] : found.items())
          if (value.is_primitive() && key != "training" && !is_absent(value)) arguments[key] = value;
      different.insert(arguments.dump());
    }
    if (different.size() > 1)
      refuse(fmt::format("layer '{}' is called with different arguments: {}", layer.name,
                         join(std::vector<std::string>(different.begin(), different.end()), " and ")));
  }
  /// The keyword arguments next to the first tensor, as Keras 2 writes them.
  static const nlohmann::json& kwargs_of(const nlohmann::json& node) {
    static const nlohmann::json nothing;
    if (!node.is_array() || node.empty()) return nothing;
    const nlohmann::json& first = node[0].is_array() ? node[0] : node;
    return first.size() > 3 ? first[3] : nothing;
  }

  /// Keras lists operations after their inputs.
  static void mark_masks(KerasModel& model, const Calls& calls, const std::map<std::string, std::size_t>& places) {
    const auto is_mask = [&](const Reference& r) {
      const auto found = places.find(r.layer);
      return found != places.end() && model.layers[found->second].of_masks;
    };
    for (std::size_t i = 0; i < model.layers.size(); ++i)
      model.layers[i].of_masks = makes_masks(model.layers[i]) ||
                                 (passes_masks(model.layers[i]) && std::ranges::any_of(calls[i], [&](const Call& call) {
                                    return std::ranges::any_of(call.inputs, is_mask);
                                  }));
  }

  /// Adds the tensors in a value to `out`, and the keyword arguments next to them (Keras 2) to `reading` if not null.
  void collect(const nlohmann::json& value, std::vector<Reference>& out, int depth, const std::string& where,
               CallReading* reading = nullptr) {
    if (depth > kDeepest) refuse(fmt::format("{}: its inputs are nested too deeply", where));
    if (value.is_object()) {
      const nlohmann::json& history = at(at(value, "config"), "keras_history");
      if (text_at(value, "class_name") == "__keras_tensor__" && history.is_array())
        return collect(history, out, depth + 1, where, reading);
      for (const auto& [key, item] : value.items()) collect(item, out, depth + 1, where, reading);
      return;
    }
    if (!value.is_array()) return;
    const bool leaf =
        value.size() >= 3 && value[0].is_string() && value[1].is_number_unsigned() && value[2].is_number_unsigned();
    if (!leaf) {
      for (const nlohmann::json& item : value) collect(item, out, depth + 1, where, reading);
      return;
    }
    out.push_back({value[0].get<std::string>(), value[1].get<std::uint64_t>(), value[2].get<std::uint64_t>()});
    if (value.size() > 3 && reading != nullptr) read_keywords(value[3], *reading);
  }
  void collect(const nlohmann::json& value, std::vector<Reference>& out, int depth, CallReading& reading) {
    collect(value, out, depth, reading.where, &reading);
  }

  const std::string& file_;
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
      nlohmann::json::parse(check_json_depth(model_config, ErrorKind::kCheckpoint, what), nullptr, false);
  if (layer_list(json) == nullptr)
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("'{}' contains no Sequential or Functional model{}", file,
                            model_config.empty() ? ": it has only weights; write the layers under 'layers'" : ""));
  const std::vector<ConfigLayer> layers = config_layers(model_config);
  const ConfigLayer* core = multi_gpu_core(layers);
  return ModelReader(file).read(core != nullptr ? entry_called(json, core->name) : json, 0);
}

const nlohmann::json& at(const nlohmann::json& json, const char* key) {
  static const nlohmann::json nothing;
  if (!json.is_object()) return nothing;
  const auto found = json.find(key);
  return found == json.end() ? nothing : *found;
}

const nlohmann::json* layer_list(const nlohmann::json& model) {
  const nlohmann::json& config = at(model, "config");
  if (config.is_array() && text_at(model, "class_name") == "Sequential") return &config;
  const nlohmann::json& list = at(config, "layers");
  return list.is_array() ? &list : nullptr;
}

std::string text_at(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = at(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace dptrain::formats
