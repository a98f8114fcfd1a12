#include "formats/keras/keras_import.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "config/reader.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "formats/contents.h"
#include "formats/keras/keras_definition.h"
#include "formats/keras/keras_layer.h"
#include "formats/keras/keras_operations.h"
#include "graph/definitions.h"
#include "graph/expansion.h"
#include "nn/layer.h"

namespace dptrain::formats {
namespace {

using config::Node;

constexpr std::size_t kMaxCalls = 20'000;  ///< as many as a config may have steps

/// A layer, listed once, with its calls in all calls of the enclosing models.
struct FlatLayer {
  const KerasLayer* definition = nullptr;
  std::string name;
  bool trainable = true;
  std::size_t calls = 0;
  std::size_t inference_calls = 0;  ///< calls with training=False
};
/// One of the outputs of a flat call.
struct FlatTensor {
  std::size_t call = 0, output = 0;
  bool operator==(const FlatTensor&) const = default;
};
/// As MaskValue, but of tensors that have no names yet.
struct FlatMask {
  struct Source {
    FlatTensor tensor;
    double number = 0;
    int joined = 0;
    bool operator==(const Source&) const = default;
  };
  bool is_whole = false;  ///< all steps are valid, as without a mask
  std::vector<Source> sources{};
};
struct FlatCall {
  std::size_t layer = 0, number = 0;
  std::vector<FlatTensor> inputs;  ///< outputs of earlier calls
  std::map<std::string, FlatMask> masks{};
  bool has_own_mask = false;
  std::optional<FlatTensor> own_mask{};
};
/// A mask that is an argument of a nested model.
struct FlatModelMask {
  std::string model;
  FlatTensor input;
  FlatMask mask;
};

class Flattener {
 public:
  explicit Flattener(const std::string& file) : file_(file) {}

  /// `model` is the outermost one.
  void run(const KerasModel& model) { outputs_ = call(model, {}, "", model.trainable, false, true); }

  std::vector<FlatLayer> layers_;
  std::vector<FlatCall> calls_;
  std::vector<FlatTensor> outputs_;
  std::vector<FlatModelMask> model_masks_;

 private:
  using Tensors = std::vector<FlatTensor>;
  /// The outputs of a call in a model: all those of a model, the first one of a layer.
  struct Made {
    Tensors tensors;
    bool of_layer = false;
  };
  using CallPlace = std::pair<std::size_t, std::size_t>;  ///< a layer of a model, and which of its calls
  using AllMade = std::map<CallPlace, Made>;

  /// Follows the operations that make the masks of one model.
  class MaskReader {
   public:
    MaskReader(const Flattener& flat, const KerasModel& model, const AllMade& made)
        : flat_(flat), model_(model), made_(made) {}

    /// Nothing if dptrain has no such mask.
    std::optional<FlatMask> read(const KerasTensor& mask, int depth = 0) {
      const auto [entry, is_new] = known_.emplace(std::pair(mask.layer, mask.call), std::nullopt);
      if (is_new && depth < kDeepest) entry->second = compute(mask, depth);
      return entry->second;
    }

   private:
    static constexpr int kDeepest = 2'000;             ///< merges of merges
    static constexpr std::size_t kMaxSources = 1'000;  ///< of one mask

    std::optional<FlatMask> compute(const KerasTensor& mask, int depth) {
      const KerasLayer& layer = model_.layers[mask.layer];
      if (!layer.of_masks || mask.call >= layer.calls.size()) return std::nullopt;
      const std::string& name = layer.class_name;
      const std::vector<KerasTensor>& inputs = layer.calls[mask.call];
      if (name == "ZerosLike") return FlatMask();
      if (name == "OnesLike") return FlatMask{.is_whole = true};
      if (name == "NotEqual") return not_equal(layer, inputs);
      const bool joins = name == "Any", expands = name == "ExpandDims";
      if ((joins || expands || name == "Concatenate") && at(*layer.config, "axis") != -1) return std::nullopt;
      return union_of(inputs, joins ? 1 : expands ? -1 : 0, depth);
    }

    std::optional<FlatMask> not_equal(const KerasLayer& layer, const std::vector<KerasTensor>& inputs) const {
      const auto tensors = flat_.found(inputs, made_);
      if (!tensors || tensors->size() != 1 || !layer.operand) return std::nullopt;
      return FlatMask{.sources = {{tensors->front(), *layer.operand, 0}}};
    }

    /// `joined`: axes that the operation joins.
    std::optional<FlatMask> union_of(const std::vector<KerasTensor>& inputs, int joined, int depth) {
      FlatMask all;
      for (const KerasTensor& input : inputs) {
        const auto one = read(input, depth + 1);
        if (!one) return std::nullopt;
        all.is_whole = all.is_whole || one->is_whole;
        for (FlatMask::Source source : one->sources) {
          source.joined += joined;
          if (std::ranges::find(all.sources, source) == all.sources.end()) all.sources.push_back(source);
        }
        if (all.sources.size() > kMaxSources) return std::nullopt;
      }
      return all;
    }

    const Flattener& flat_;
    const KerasModel& model_;
    const AllMade& made_;
    std::map<std::pair<std::size_t, std::size_t>, std::optional<FlatMask>> known_;
  };

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::kCheckpoint, fmt::format("'{}': the model cannot be built: {}", file_, what));
  }

  /// A valid and unused name.
  std::string fresh_name(const std::string& prefix, std::string name) {
    for (char& c : name)
      if (!graph::name_error(std::string("a") + c).empty()) c = '_';
    name = graph::join_names(prefix, name);
    if (!graph::name_error(name).empty()) name = graph::join_names("layer", name);
    std::string unique = name;
    for (int& n = repeats_[name]; !names_.insert(unique).second;) unique = fmt::format("{}_{}", name, ++n);
    return unique;
  }

  std::size_t flat_layer(const KerasLayer& layer, const std::string& prefix, bool trainable) {
    const auto [entry, fresh] = places_.emplace(&layer, layers_.size());
    if (fresh) layers_.push_back({&layer, fresh_name(prefix, layer.name), trainable && layer.trainable, 0});
    return entry->second;
  }

  Made call_layer(const KerasLayer& layer, const Tensors& inputs, const std::string& prefix, bool trainable,
                  bool inference) {
    if (layer.model != nullptr)
      return {call(*layer.model, inputs, graph::join_names(prefix, layer.name), trainable && layer.trainable, inference,
                   false)};
    if (calls_.size() >= kMaxCalls) refuse(fmt::format("it has more than {} calls of layers", kMaxCalls));
    const std::size_t flat = flat_layer(layer, prefix, trainable);
    calls_.push_back({flat, layers_[flat].calls++, inputs});
    if (inference) ++layers_[flat].inference_calls;
    return {{{calls_.size() - 1}}, true};
  }

  /// The calls that the inputs of a model reach, each after the calls that it reads, without those in `made`. They are
  /// sorted by round, then as listed; an input that is listed after its reader adds a round.
  static std::vector<CallPlace> order_of(const KerasModel& model, const AllMade& made) {
    std::vector<std::size_t> first_call{0};  // the index in `calls` for each layer
    std::vector<CallPlace> calls;
    for (std::size_t l = 0; l < model.layers.size(); ++l) {
      for (std::size_t c = 0; c < model.layers[l].calls.size(); ++c) calls.emplace_back(l, c);
      first_call.push_back(calls.size());
    }
    std::vector<std::vector<std::size_t>> readers(calls.size());
    std::vector<std::size_t> missing(calls.size()), round(calls.size()), ready;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const KerasLayer& layer = model.layers[calls[i].first];
      if (made.contains(calls[i]) || layer.of_masks) continue;
      for (const KerasTensor& input : layer.calls[calls[i].second]) {
        if (made.contains({input.layer, input.call})) continue;
        readers[first_call[input.layer] + input.call].push_back(i);
        ++missing[i];
      }
      if (missing[i] == 0) ready.push_back(i);
    }
    for (std::size_t next = 0; next < ready.size(); ++next) {
      const std::size_t i = ready[next];
      for (const std::size_t reader : readers[i]) {
        round[reader] = std::max(round[reader], round[i] + (reader < i ? 1 : 0));
        if (--missing[reader] == 0) ready.push_back(reader);
      }
    }
    std::ranges::sort(ready, {}, [&](std::size_t i) { return std::pair(round[i], i); });
    std::vector<CallPlace> order;
    for (const std::size_t i : ready) order.push_back(calls[i]);
    return order;
  }

  Tensors call(const KerasModel& model, const Tensors& given, const std::string& prefix, bool trainable, bool inference,
               bool outermost) {
    if (++models_ > kMaxCalls) refuse(fmt::format("it has more than {} calls of models", kMaxCalls));
    if (!outermost && given.size() != model.inputs.size())
      refuse(
          fmt::format("model '{}' has {} inputs and is called with {}", model.name, model.inputs.size(), given.size()));
    AllMade made;
    if (!outermost)
      for (std::size_t i = 0; i < given.size(); ++i) made[{model.inputs[i].layer, model.inputs[i].call}] = {{given[i]}};
    if (outermost)  // the order of a model's inputs is that of its list
      for (const KerasTensor& input : model.inputs)
        if (model.layers[input.layer].class_name == "InputLayer" && !made.contains({input.layer, input.call}))
          made[{input.layer, input.call}] = call_layer(model.layers[input.layer], {}, prefix, trainable, inference);
    const auto [order, is_new] = orders_.try_emplace(&model);
    if (is_new) order->second = order_of(model, made);
    for (const auto& [l, c] : order->second) {
      const KerasLayer& layer = model.layers[l];
      made[{l, c}] = call_layer(layer, found(layer.calls[c], made).value(), prefix, trainable,
                                inference || (c < layer.inference.size() && layer.inference[c]));
    }
    read_masks(model, made, outermost);
    read_own_masks(model, made);
    const auto outputs = found(model.outputs, made);
    if (!outputs) refuse(fmt::format("the outputs of model '{}' cannot be reached from its inputs", model.name));
    return *outputs;
  }

  /// Reads the mask arguments of calls. "No mask" counts in the outermost model only: in a nested model it describes
  /// the call that defined that model.
  void read_masks(const KerasModel& model, const AllMade& made, bool outermost) {
    MaskReader reader(*this, model, made);
    for (std::size_t l = 0; l < model.layers.size(); ++l)
      for (std::size_t c = 0; c < model.layers[l].masks.size(); ++c)
        for (const KerasMask& mask : model.layers[l].masks[c])
          if (made.contains({l, c}) && (mask.tensor || (outermost && model.layers[l].model == nullptr)))
            add_mask(model, {l, c}, mask, made, reader);
  }

  void add_mask(const KerasModel& model, const CallPlace& place, const KerasMask& mask, const AllMade& made,
                MaskReader& reader) {
    const KerasLayer& layer = model.layers[place.first];
    const std::optional<FlatMask> value = mask.tensor ? reader.read(*mask.tensor) : FlatMask();
    if (!value)
      refuse(
          fmt::format("layer '{}' is called with '{}' for a mask. dptrain has the masks of Embedding with mask_zero "
                      "and of Masking, not_equal(ids, 0) and any(not_equal(x, number), axis=-1)",
                      layer.name, model.layers[mask.tensor->layer].name));
    if (layer.model == nullptr) {
      calls_[made.at(place).tensors.front().call].masks.emplace(mask.keyword, *value);
      return;
    }
    const auto inputs = found(layer.calls[place.second], made);
    const std::size_t input = mask_input(mask.keyword);
    if (inputs && input < inputs->size()) model_masks_.push_back({layer.name, (*inputs)[input], *value});
  }

  void read_own_masks(const KerasModel& model, const AllMade& made) {
    for (std::size_t l = 0; l < model.layers.size(); ++l)
      for (std::size_t c = 0; c < model.layers[l].own_masks.size(); ++c) {
        const KerasOwnMask& own = model.layers[l].own_masks[c];
        if (!own.is_given || !made.contains({l, c}) || model.layers[l].model != nullptr) continue;
        FlatCall& call = calls_[made.at({l, c}).tensors.front().call];
        const auto tensor = own.tensor ? found({*own.tensor}, made) : std::nullopt;
        call.has_own_mask = true;
        if (tensor) call.own_mask = tensor->front();
      }
  }

  std::optional<Tensors> found(const std::vector<KerasTensor>& wanted, const AllMade& made) const {
    Tensors tensors;
    for (const KerasTensor& tensor : wanted) {
      const auto entry = made.find({tensor.layer, tensor.call});
      if (entry == made.end()) return std::nullopt;
      const auto& [given, of_layer] = entry->second;
      if (!of_layer && tensor.output >= given.size())
        refuse("a layer reads an output that another layer does not have");
      tensors.push_back(of_layer ? FlatTensor{given.front().call, tensor.output} : given[tensor.output]);
    }
    return tensors;
  }

  const std::string& file_;
  std::size_t models_ = 0;  ///< calls of them
  std::set<std::string> names_;
  std::map<std::string, int> repeats_;  ///< the last number that fresh_name() tried for a name
  std::map<const KerasLayer*, std::size_t> places_;
  std::map<const KerasModel*, std::vector<CallPlace>> orders_;  ///< the order of calls in each model that was called
};

/// Converts the flat calls to steps and shared entries of the config.
class SectionWriter {
 public:
  SectionWriter(const Flattener& flat, const std::optional<Shape>& input_shape, const KerasWriter& writer,
                std::vector<std::string>& errors)
      : flat_(flat), input_shape_(input_shape), writer_(writer), errors_(errors) {
    for (const FlatLayer& layer : flat.layers_) names_.insert(layer.name);
    feeds_ids_.resize(flat.layers_.size());
    for (const FlatCall& call : flat.calls_) {
      const auto* type =
          static_cast<const nn::LayerType*>(nn::layer_family().find(flat.layers_[call.layer].definition->class_name));
      if (type == nullptr || type->input_type != DType::kI32) continue;
      for (const FlatTensor& tensor : call.inputs) feeds_ids_[flat.calls_[tensor.call].layer] = true;
    }
    for (const FlatLayer& layer : flat.layers_) arguments_.push_back(arguments(layer));
  }

  /// By the names of the steps; valid after model().
  std::map<std::string, KerasCall> calls() const {
    std::map<std::string, KerasCall> all;
    for (std::size_t i = 0; i < flat_.calls_.size(); ++i) {
      const FlatCall& call = flat_.calls_[i];
      KerasCall& own = all[name_of_[i]];
      own.is_operator = flat_.layers_[call.layer].definition->is_operator;
      for (const auto& [keyword, mask] : call.masks) own.masks.emplace(keyword, named(mask));
    }
    return all;
  }
  std::vector<KerasModelCall> model_calls() const {
    std::vector<KerasModelCall> all;
    for (const FlatModelMask& call : flat_.model_masks_)
      all.push_back({call.model, name_of(call.input), named(call.mask)});
    return all;
  }

  Node model() {
    Node shared = Node::map(), steps = Node::sequence();
    for (std::size_t i = 0; i < flat_.layers_.size(); ++i) {
      const FlatLayer& layer = flat_.layers_[i];
      if (layer.calls < 2) continue;
      Node definition = Node::map();
      definition.set(layer.definition->class_name, arguments_[i]);
      shared.set(shared_name(layer.name), std::move(definition));
    }
    for (const FlatCall& call : flat_.calls_) steps.items().push_back(step(call));
    Node model = Node::map();
    if (!shared.entries().empty()) model.set("shared", std::move(shared));
    model.set("layers", std::move(steps));
    Node outputs = Node::sequence();
    for (const FlatTensor& output : flat_.outputs_) outputs.items().push_back(Node::text(name_of(output)));
    model.set("outputs", std::move(outputs));
    return model;
  }

 private:
  std::string name_of(const FlatTensor& tensor) const {
    const std::string& name = name_of_[tensor.call];
    return tensor.output == 0 ? name : fmt::format("{}.{}", name, tensor.output);
  }

  MaskValue named(const FlatMask& mask) const {
    MaskValue value;
    for (const FlatMask::Source& source : mask.sources)
      if (!mask.is_whole) value.insert({name_of(source.tensor), source.number, source.joined});
    return value;
  }

  static std::string shared_name(const std::string& name) {
    const bool small = name[0] >= 'a' && name[0] <= 'z';
    return small ? name : "shared_" + name;
  }

  Node arguments(const FlatLayer& layer) {
    const std::string& type = layer.definition->class_name;
    std::vector<std::string> own;
    Node all = Node::map();
    if (type == "InputLayer") {
      all.set("shape", input(*layer.definition->config, own));
      // An Input of ids is int32 whatever its dtype in the file, because Keras's Embedding casts its input.
      const auto index = static_cast<std::size_t>(&layer - flat_.layers_.data());
      if (feeds_ids_[index]) all.set("dtype", Node::text("int32"));
    } else if (const bool known = nn::layer_family().find(type) != nullptr;
               layer.definition->is_operator && (!known || differs_from_layer(type))) {
      own.push_back("is an operation of keras.ops, which dptrain does not support");
    } else if (!known) {
      own.push_back(type.starts_with("Random")
                        ? fmt::format("is of class {}, an augmentation, which dptrain applies to data: leave the layer "
                                      "out of the model and write it under data.transforms.train",
                                      type)
                        : fmt::format("is of class {}, which dptrain does not support", type));
    } else {
      all = keras::layer_arguments(type, *layer.definition->config, writer_.keras3, own);
    }
    if (layer.inference_calls > 0 && !writer_.ignores_training) set_inference_mode(layer, all, own);
    if (!layer.trainable && type != "InputLayer") all.set("trainable", Node::boolean(false));
    for (const std::string& error : own) errors_.push_back(fmt::format("layer '{}' ({}): {}", layer.name, type, error));
    return all;
  }

  /// With training=False BatchNormalization uses its moving statistics, and dropout does nothing.
  static void set_inference_mode(const FlatLayer& layer, Node& arguments, std::vector<std::string>& errors) {
    const std::string& type = layer.definition->class_name;
    const bool normalizes = type == "BatchNormalization" && layer.trainable;
    const std::vector<std::string> rates = rates_of_training(type, arguments);
    if (trains_inside(layer))
      errors.push_back("it is called with training=False, which dptrain does not support for a wrapped layer");
    if (!normalizes && rates.empty()) return;
    if (layer.inference_calls != layer.calls)
      errors.push_back("it is called with training=False and without, which dptrain does not support");
    if (normalizes) arguments.set("inference_mode", Node::boolean(true));
    for (const std::string& rate : rates) arguments.set(rate, Node::integer(0));
  }
  /// Keys of dropout and noise, which have no effect outside of training.
  static std::vector<std::string> rates_of_training(const std::string& type, const Node& arguments) {
    const bool is_noise = type.ends_with("Dropout") || type.starts_with("SpatialDropout") || type == "GaussianNoise";
    std::vector<std::string> rates{"dropout", "recurrent_dropout"};
    if (is_noise) rates = {"rate", "stddev"};
    std::erase_if(rates, [&](const std::string& key) { return arguments.find(key) == nullptr; });
    return rates;
  }
  /// Whether the layer of a wrapper computes something else in training.
  static bool trains_inside(const FlatLayer& layer) {
    const nlohmann::json &inner = at(*layer.definition->config, "layer"), &own = at(inner, "config");
    const auto is_rate = [](const nlohmann::json& value) { return value.is_number() && value != 0; };
    return (text_at(inner, "class_name") == "BatchNormalization" && layer.trainable) || is_rate(at(own, "dropout")) ||
           is_rate(at(own, "recurrent_dropout")) || is_rate(at(own, "rate"));
  }

  Node input(const nlohmann::json& config, std::vector<std::string>& errors) {
    Node shape = Node::sequence();
    if (input_shape_) {
      for (const std::int64_t extent : input_shape_->dims()) shape.items().push_back(Node::integer(extent));
      return shape;
    }
    const char* key = config.is_object() && config.contains("batch_shape") ? "batch_shape" : "batch_input_shape";
    const nlohmann::json batch = config.is_object() && config.contains(key) ? config.at(key) : nlohmann::json();
    if (!batch.is_array() || batch.size() < 2) {
      errors.push_back("the file does not contain its shape; set it, as in {file: ..., input_shape: [224, 224, 3]}");
      return shape;
    }
    for (std::size_t i = 1; i < batch.size(); ++i) {
      if (!batch[i].is_number_integer()) {
        errors.push_back(
            fmt::format("its shape is {}; set all its extents, as in {{file: ..., input_shape: [224, 224, 3]}}",
                        batch.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)));
        return shape;
      }
      shape.items().push_back(Node::scalar(batch[i].dump()));
    }
    return shape;
  }

  Node step(const FlatCall& call) {
    const FlatLayer& layer = flat_.layers_[call.layer];
    const bool shared = layer.calls > 1;
    std::string name = layer.name;
    for (std::size_t n = call.number + 1;
         shared && !names_.insert(name = fmt::format("{}_call{}", layer.name, n)).second;)
      n += layer.calls;
    name_of_.push_back(name);
    Node own = Node::map();
    own.set("name", Node::text(name));
    if (!call.inputs.empty()) {
      Node inputs = Node::sequence();
      for (const FlatTensor& input : call.inputs) inputs.items().push_back(Node::text(name_of(input)));
      own.set("inputs", std::move(inputs));
    }
    if (call.own_mask && call.own_mask->call >= name_of_.size() - 1)
      errors_.push_back(fmt::format("layer '{}': its mask is that of a layer that comes after it", name));
    else if (call.has_own_mask)
      own.set("mask", Node::text(call.own_mask ? name_of(*call.own_mask) : "none"));
    if (!shared)
      for (const Node::Entry& entry : arguments_[call.layer].entries()) own.set(entry.key, entry.value);
    const std::string& type = layer.definition->class_name;
    Node step = Node::map();
    step.set(shared ? shared_name(layer.name) : type == "InputLayer" ? "Input" : type, std::move(own));
    return step;
  }

  const Flattener& flat_;
  const std::optional<Shape>& input_shape_;
  const KerasWriter& writer_;
  std::vector<std::string>& errors_;
  std::set<std::string> names_;
  std::vector<bool> feeds_ids_;       ///< per layer
  std::vector<Node> arguments_;       ///< per layer
  std::vector<std::string> name_of_;  ///< per call
};

/// Whether the model has masks and dptrain did not write them.
bool has_masks(const Flattener& flat) {
  if (std::ranges::any_of(flat.calls_, &FlatCall::has_own_mask)) return false;
  const auto makes_mask = [](const FlatLayer& layer) {
    const std::string& type = layer.definition->class_name;
    return type == "Masking" || (type == "Embedding" && at(*layer.definition->config, "mask_zero") == true);
  };
  const auto has_mask = [](const FlatCall& call) {
    return std::ranges::any_of(call.masks, [](const auto& mask) { return !mask.second.sources.empty(); });
  };
  return std::ranges::any_of(flat.layers_, makes_mask) || std::ranges::any_of(flat.calls_, has_mask);
}

/// Adds Keras's masks to steps for which dptrain would derive others. Does nothing if the model does not build:
/// building it reports the errors.
void set_masks(KerasImport& import, const SectionWriter& section, const KerasWriter& writer,
               std::vector<std::string>& errors) {
  Node& model = import.model;
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const graph::Graph graph = graph::expand(*model.find("layers"), graph::read_definitions(model, reader), reader).graph;
  if (!diagnostics.errors().empty()) return;
  MaskPlan plan = plan_masks(graph, section.calls(), section.model_calls(), writer);
  for (Node& step : model.find("layers")->items()) {
    Node& arguments = step.entries().front().value;
    if (const auto mask = plan.masks.find(arguments.find("name")->str()); mask != plan.masks.end())
      arguments.set("mask", Node::text(mask->second));
  }
  errors = std::move(plan.errors);
  import.warnings = std::move(plan.warnings);
}

}  // namespace

KerasWriter keras_writer(const std::string& version, bool by_dptrain) {
  KerasWriter writer{.keras3 = std::atoi(version.c_str()) >= 3};
  if (by_dptrain) return writer;
  writer.states_replace_masks = writer.ignores_training = writer.keras3;
  const bool is_3 = version.starts_with("3.");
  const int minor = is_3 ? std::atoi(version.c_str() + 2) : 0;
  writer.attention_removes_masks = writer.keras3 && (minor >= 8 || !is_3);
  if (!writer.keras3)
    writer.merges = MergeMasks::kAllOfMasked;
  else if (is_3 && minor < 4)
    writer.merges = MergeMasks::kNone;
  return writer;
}

KerasImport import_model_config(const std::string& file, const std::string& model_config,
                                const std::optional<Shape>& input_shape, const KerasWriter& writer) {
  const KerasModel definition = read_keras_model(file, model_config);
  std::vector<std::string> errors;
  Flattener flat(file);
  flat.run(definition);
  const auto is_input = [](const FlatLayer& layer) { return layer.definition->class_name == "InputLayer"; };
  if (input_shape && std::count_if(flat.layers_.begin(), flat.layers_.end(), is_input) != 1)
    errors.push_back("input_shape is for models with one input");
  SectionWriter section(flat, input_shape, writer, errors);
  KerasImport result{definition.name, section.model(), {}};
  if (errors.empty() && has_masks(flat)) set_masks(result, section, writer, errors);
  if (errors.empty()) return result;
  constexpr std::size_t kMax = 20;
  const std::size_t count = errors.size();
  errors.resize(std::min(count, kMax));
  throw Error(ErrorKind::kCheckpoint,
              fmt::format("'{}': the model cannot be built:\n  {}{}", file, join(errors, "\n  "),
                          count > kMax ? fmt::format("\n  and {} more", count - kMax) : ""));
}

KerasImport import_model(const std::string& path, const std::optional<Shape>& input_shape) {
  const FileContents contents = FileContents::open(path);
  return import_model_config(path, contents.model_config(), input_shape,
                             keras_writer(contents.keras_version(), contents.by_dptrain()));
}

}  // namespace dptrain::formats
