#include "formats/keras/keras_operations.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/keras/keras_definition.h"

namespace dptrain::formats {
namespace {

using Json = nlohmann::json;

/// The numbers of a constant, one or one for each channel: a number, or an array with a single axis longer than 1, its
/// last.
std::optional<std::vector<double>> numbers_of(const Json& argument) {
  if (argument.is_number()) return std::vector<double>{argument.get<double>()};
  if (!is_constant(argument)) return std::nullopt;
  const Json* value = &at(at(argument, "config"), "value");
  while (value->is_array() && value->size() == 1 && value->front().is_array()) value = &value->front();
  if (value->is_number()) return std::vector<double>{value->get<double>()};
  if (!value->is_array() || !std::ranges::all_of(*value, [](const Json& one) { return one.is_number(); }))
    return std::nullopt;
  return value->get<std::vector<double>>();
}

/// Rescaling's scale and offset for an operation on a tensor and a constant, or for the negative of a tensor.
std::optional<Json> line_of(const std::string& operation, const Json& arguments) {
  if (!arguments.is_array()) return std::nullopt;
  if (operation == "Negative" && arguments.size() == 1) return Json{{"scale", -1.0}, {"offset", 0.0}};
  if (arguments.size() != 2) return std::nullopt;
  const auto first = numbers_of(arguments[0]), second = numbers_of(arguments[1]);
  if (first.has_value() == second.has_value()) return std::nullopt;
  std::vector<double> numbers = first ? *first : *second;
  const auto line = [&](const char* key, double scale) {
    Json all{{"scale", scale}, {"offset", 0.0}};
    all[key] = numbers.size() == 1 ? Json(numbers.front()) : Json(numbers);
    return all;
  };
  const auto negative = [](double number) { return -number; };
  if (operation == "Add") return line("offset", 1);
  if (operation == "Multiply") return line("scale", 1);
  if (operation == "Subtract" && first) return line("offset", -1);
  if (operation == "Subtract") return std::ranges::transform(numbers, numbers.begin(), negative), line("offset", 1);
  if ((operation != "Divide" && operation != "TrueDivide") || first || std::ranges::count(numbers, 0.0) > 0)
    return std::nullopt;
  std::ranges::transform(numbers, numbers.begin(), [](double number) { return 1 / number; });
  return line("scale", 1);
}

/// Operations of one tensor that are activations under another name.
const char* activation_of(const std::string& operation, const Json& config) {
  static const std::map<std::string, const char*> names{{"Relu", "relu"},
                                                        {"ReLU", "relu"},
                                                        {"Relu6", "relu6"},
                                                        {"Sigmoid", "sigmoid"},
                                                        {"Silu", "silu"},
                                                        {"Tanh", "tanh"},
                                                        {"Softplus", "softplus"},
                                                        {"Softsign", "softsign"},
                                                        {"Selu", "selu"},
                                                        {"Exp", "exponential"},
                                                        {"HardSilu", "hard_silu"},
                                                        {"HardSigmoid", "hard_sigmoid"},
                                                        {"LogSoftmax", "log_softmax"}};
  if (operation == "Gelu") return at(config, "approximate") == false ? "gelu" : nullptr;
  if (operation == "LogSoftmax" && at(config, "axis") != -1) return nullptr;
  const auto found = names.find(operation);
  return found == names.end() ? nullptr : found->second;
}

/// One entry of an index: i, or a range without a step whose ends may be missing.
struct Index {
  std::optional<std::int64_t> start, stop;
  bool is_number = false, is_ellipsis = false;
  bool takes_all() const { return is_ellipsis || (!is_number && !start && !stop); }
};

std::optional<Index> index_of(const Json& entry) {
  if (entry.is_number_integer()) return Index{entry.get<std::int64_t>(), {}, true};
  const std::string name = text_at(entry, "class_name");
  if (name == "__ellipsis__") return Index{{}, {}, false, true};
  if (name != "__slice__") return std::nullopt;
  const Json& range = at(entry, "config");
  const auto end = [&](const char* key) -> std::optional<std::int64_t> {
    const Json& value = at(range, key);
    return value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
  };
  if (end("step").value_or(1) != 1) return std::nullopt;
  return Index{end("start"), end("stop")};
}

/// Nothing if the slice is empty or the step does not exist.
std::optional<StepSlice> slice_of(const Index& index, std::int64_t steps) {
  const auto from_start = [&](std::int64_t step) { return step < 0 ? step + steps : step; };
  if (index.is_number) {
    const std::int64_t step = from_start(*index.start);
    if (step < 0 || step >= steps) return std::nullopt;
    return StepSlice{step, steps - 1 - step, true};
  }
  const std::int64_t start = std::clamp<std::int64_t>(from_start(index.start.value_or(0)), 0, steps);
  const std::int64_t stop = std::clamp<std::int64_t>(from_start(index.stop.value_or(steps)), 0, steps);
  if (start >= stop) return std::nullopt;
  return StepSlice{start, steps - stop, false};
}

}  // namespace

bool is_operation(const Json& entry) {
  const std::string module = text_at(entry, "module");
  if (!module.empty())
    return module.starts_with("keras.src.ops.") || module.starts_with("keras.ops.") ||
           module.starts_with("keras.src.activations.");
  const Json &config = at(entry, "config"), &calls = at(entry, "inbound_nodes");
  const bool by_keras3 = calls.is_array() && !calls.empty() && calls[0].is_object();
  return by_keras3 && config.is_object() && !config.contains("dtype") && !config.contains("trainable");
}

void become_layer(std::string& class_name, Json& config, const Json& arguments) {
  if (std::optional<Json> line = line_of(class_name, arguments)) {
    class_name = "Rescaling";
    config = std::move(*line);
  } else if (const char* activation = activation_of(class_name, config)) {
    class_name = "Activation";
    config = {{"activation", activation}};
  } else if (class_name == "Elu") {
    class_name = "ELU";
  } else if (class_name == "LeakyRelu") {
    class_name = "LeakyReLU";
  }
}

bool is_constant(const Json& argument) {
  const std::string name = text_at(argument, "class_name");
  return name == "__numpy__" || name == "__tensor__";
}

bool differs_from_layer(const std::string& operation) {
  return operation == "Average" || operation == "Dot" || operation == "Reshape";
}

std::optional<StepSlice> slice_of_steps(const Json& arguments) {
  if (!arguments.is_array() || arguments.size() != 2 || !arguments[1].is_array()) return std::nullopt;
  const Json& shape = at(at(arguments[0], "config"), "shape");
  const Json& entries = arguments[1];
  if (!shape.is_array() || shape.size() != 3 || !shape[1].is_number_integer() || entries.size() < 2)
    return std::nullopt;
  std::vector<Index> indices;
  for (const Json& entry : entries) {
    const std::optional<Index> index = index_of(entry);
    if (!index) return std::nullopt;
    indices.push_back(*index);
  }
  const auto rest = std::span(indices).subspan(2);
  if (!indices[0].takes_all() || indices[0].is_ellipsis || indices[1].is_ellipsis ||
      !std::ranges::all_of(rest, &Index::takes_all))
    return std::nullopt;
  return slice_of(indices[1], shape[1].get<std::int64_t>());
}

}  // namespace dptrain::formats
