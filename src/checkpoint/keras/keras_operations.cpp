#include "checkpoint/keras/keras_operations.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "checkpoint/keras/keras_json.h"

namespace dptrain::checkpoint {
namespace {

using Json = nlohmann::json;

/// scale x + offset.
struct Line {
  double scale = 1, offset = 0;
};

/// Of an operation on a tensor and a number, and of the negative of a tensor.
std::optional<Line> line_of(const std::string& operation, const Json& arguments) {
  if (!arguments.is_array()) return std::nullopt;
  if (operation == "Negative" && arguments.size() == 1) return Line{-1, 0};
  if (arguments.size() != 2) return std::nullopt;
  const bool number_first = arguments[0].is_number();
  if (number_first == arguments[1].is_number() || !arguments[number_first ? 1 : 0].is_object()) return std::nullopt;
  const double number = arguments[number_first ? 0 : 1].get<double>();
  if (operation == "Add") return Line{1, number};
  if (operation == "Multiply") return Line{number, 0};
  if (operation == "Subtract") return number_first ? Line{-1, number} : Line{1, -number};
  if ((operation == "Divide" || operation == "TrueDivide") && !number_first && number != 0) return Line{1 / number, 0};
  return std::nullopt;
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

/// One entry of an index: i, or a range of which both ends may be missing. Nothing: neither, or with a step.
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

/// Nothing: the slice is empty, or there is no such step.
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
  if (const std::optional<Line> line = line_of(class_name, arguments)) {
    class_name = "Rescaling";
    config = {{"scale", line->scale}, {"offset", line->offset}};
  } else if (const char* activation = activation_of(class_name, config)) {
    class_name = "Activation";
    config = {{"activation", activation}};
  } else if (class_name == "Elu") {
    class_name = "ELU";
  } else if (class_name == "LeakyRelu") {
    class_name = "LeakyReLU";
  }
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

}  // namespace dptrain::checkpoint
