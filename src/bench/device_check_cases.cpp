// Cases of the device check, from the examples in the definitions of layers, losses, metrics and optimizers.

#include <set>
#include <utility>

#include "bench/device_check.h"
#include "config/config_loader.h"
#include "core/format.h"
#include "core/text.h"
#include "nn/activations.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/optimizer.h"

namespace dptrain::bench {
namespace {

constexpr const char* kClasses = "{SparseCategoricalCrossentropy: {from_logits: true}}";

std::string config_of(const std::string& layers, const std::string& loss, const std::string& train,
                      const std::string& rest = "") {
  return fmt::format(
      "dptrain: 1\nmodel:\n  layers:\n{}data: {{train: {{Synthetic: {{samples: 16}}}}}}\n"
      "train: {{epochs: 1, batch_size: 8, loss: {}{}}}\n{}",
      layers, loss, train, rest);
}

std::string line(const std::string& step) { return "    - {" + step + "}\n"; }

std::string step_of(const std::string& type, const std::string& arguments, const std::string& rest) {
  return fmt::format("{}: {{{}{}{}}}", type, arguments, arguments.empty() ? "" : ", ", rest);
}

std::string list_of(const Shape& shape) {
  std::vector<std::string> extents;
  for (const std::int64_t n : shape.dims()) extents.push_back(std::to_string(n));
  return "[" + join(extents, ", ") + "]";
}

/// Layers before the branches, which make tensors with any channels, with 42 positions or without positions.
class Stem {
 public:
  /// The name of the `copy`-th tensor of this shape.
  std::string tensor(const Shape& shape, std::size_t copy) {
    const std::string name = fmt::format("t{}_{}", shape.str(), copy);
    if (!names_.insert(name).second) return name;
    const Shape image{7, 6, shape.back()};
    std::string step;
    if (shape == image)
      step = fmt::format("Conv2D: {{filters: {}, kernel_size: 1, inputs: input", shape.back());
    else if (shape.rank() == 1)
      step = fmt::format("GlobalAveragePooling2D: {{inputs: {}", tensor(image, copy));
    else
      step = fmt::format("Reshape: {{target_shape: {}, inputs: {}", list_of(shape), tensor(image, copy));
    text_ += line(fmt::format("{}, name: {}}}", step, name));
    return name;
  }
  const std::string& text() const { return text_; }

 private:
  std::set<std::string> names_;
  std::string text_ = line("Input: {shape: [7, 6, 3], name: input}");
};

struct Branch {
  std::string type;
  nn::LayerExample use;
};

/// Every branch has its own layer between common first and last layers.
std::string branches(const std::vector<Branch>& all, int only) {
  Stem stem;
  std::string steps;
  std::vector<std::string> ends;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (only >= 0 && i != static_cast<std::size_t>(only)) continue;
    std::vector<std::string> inputs;
    for (std::size_t k = 0; k < all[i].use.inputs.size(); ++k) inputs.push_back(stem.tensor(all[i].use.inputs[k], k));
    steps +=
        line(step_of(all[i].type, all[i].use.arguments, fmt::format("name: x{}, inputs: [{}]", i, join(inputs, ", "))));
    steps += line(fmt::format("Flatten: {{name: f{}, inputs: x{}}}", i, i));
    ends.push_back(fmt::format("f{}", i));
  }
  if (ends.size() > 1) steps += line(fmt::format("Concatenate: {{name: all, inputs: [{}]}}", join(ends, ", ")));
  return stem.text() + steps + line("Dense: {units: 3, name: after}");
}

constexpr const char* kSgd = ", optimizer: {SGD: {learning_rate: 0.05}}";

DeviceCheck check_of(std::vector<Branch> all) {
  DeviceCheck check;
  for (const Branch& branch : all)
    check.names.push_back(branch.type + (branch.use.inputs[0].back() % 2 != 0 ? ", odd channels" : ""));
  check.config = [all = std::move(all)](int only) {
    return config_of(branches(all, only), kClasses, kSgd, "parallel: {check_replicas: 1 steps}\n");
  };
  return check;
}

DeviceCheck one(const std::string& name, const std::string& text, DeviceCheck::Kind kind = DeviceCheck::Kind::kSteps) {
  DeviceCheck check;
  check.names = {name};
  check.config = [text](int) { return text; };
  check.kind = kind;
  return check;
}

config::Typed read_member(const config::Family& family, const std::string& text) {
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  config::Typed made = family.read(config::load_text(text, "check", "", diagnostics), reader);
  diagnostics.throw_if_errors();
  return made;
}

/// A layer in its own network over ids, or over steps that an Embedding makes of ids and masks. Layers that make a mask
/// themselves read a sequence in which some steps are all zero.
std::string sequence(const nn::LayerType& type, const nn::LayerExample& use) {
  const bool ids = type.input_type == DType::kI32;
  const config::Typed layer = read_member(nn::layer_family(), "{" + step_of(type.name, use.arguments, "") + "}");
  const Shape& shape = use.inputs[0];
  const std::vector<nn::TensorDef> inputs{{shape, type.input_type}};
  const bool steps = type.outputs(layer.spec(), inputs).front().shape.rank() == 2;
  std::string text;
  if (ids) {
    text = line(fmt::format("Input: {{shape: {}, dtype: int32, name: input}}", list_of(shape)));
  } else if (type.mask_rule(layer.spec(), {&shape, 1}) == nn::MaskRule::kProduces) {
    text = line(fmt::format("Input: {{shape: {}, name: input}}", list_of(shape))) +
           line("ReLU: {threshold: 1.0, name: zeros}");
  } else {
    text = line(fmt::format("Input: {{shape: [{}], dtype: int32, name: input}}", shape[0])) +
           line(fmt::format("Embedding: {{input_dim: 4, output_dim: {}, mask_zero: true, name: masked}}", shape[1]));
  }
  text += line(step_of(type.name, use.arguments, "name: x0"));
  if (steps) text += line("GlobalAveragePooling1D: {name: x1}");
  return config_of(text + line("Dense: {units: 3, name: after}"), kClasses, kSgd);
}

/// Every example of every layer. Examples with unmasked float inputs share networks of up to kTogether branches.
void add_layers(std::vector<DeviceCheck>& all) {
  constexpr std::size_t kTogether = 10;
  std::vector<Branch> together;
  const auto flush = [&] {
    if (!together.empty()) all.push_back(check_of(std::exchange(together, {})));
  };
  for (const config::TypeDef* def : nn::layer_family().types()) {
    const auto& type = static_cast<const nn::LayerType&>(*def);
    for (const nn::LayerExample& use : type.examples) {
      if (use.masked || type.input_type == DType::kI32) {
        const bool only = type.examples.size() == 1;
        all.push_back(one(only ? type.name : fmt::format("{}, {}", type.name, use.arguments), sequence(type, use)));
        continue;
      }
      together.push_back({type.name, use});
      if (together.size() == kTogether) flush();
    }
  }
  flush();
  std::vector<Branch> activations;
  for (const auto& [value, word] : config::EnumNames<nn::Activation>::names)
    activations.push_back({"Activation", {fmt::format("activation: {}", word), {{7, 6, 4}}}});
  DeviceCheck check = check_of(activations);
  for (std::size_t i = 0; i < activations.size(); ++i) check.names[i] = activations[i].use.arguments;
  all.push_back(std::move(check));
}

/// Common shapes: first convolutions with three channels, 1x1, 3x3, strides, dilation, groups, odd channels.
void add_convolutions(std::vector<DeviceCheck>& all) {
  const std::vector<std::pair<std::string, std::string>> shapes{
      {"convolution 3x3, 32 to 32", "filters: 32, kernel_size: 3, padding: same, inputs: wide"},
      {"convolution 1x1, 32 to 64", "filters: 64, kernel_size: 1, inputs: wide"},
      {"convolution 3x3 of 3", "filters: 16, kernel_size: 3, padding: same, inputs: input"},
      {"convolution 7x7 of 3, strides 2", "filters: 16, kernel_size: 7, strides: 2, padding: same, inputs: input"},
      {"convolution 3x3, strides 2", "filters: 32, kernel_size: 3, strides: 2, padding: same, inputs: wide"},
      {"convolution 3x3, dilation 2", "filters: 16, kernel_size: 3, dilation_rate: 2, padding: same, inputs: wide"},
      {"convolution 3x3, 4 groups", "filters: 32, kernel_size: 3, groups: 4, padding: same, inputs: wide"},
      {"convolution 5x3, odd", "filters: 7, kernel_size: [5, 3], use_bias: false, inputs: wide"}};
  struct Format {
    const char *name, *keys;
    double layers, loss;
  };
  for (const Format& format : {Format{"float32", "", 1e-4, 1e-4}, Format{"TF32", "", 2e-2, 5e-3},
                               Format{"bfloat16", ", dtype_policy: mixed_bfloat16", 1e-1, 2e-2},
                               Format{"float16", ", dtype_policy: mixed_float16", 3e-2, 5e-3}}) {
    DeviceCheck check;
    check.layers = format.layers, check.loss = format.loss, check.tf32 = std::string_view(format.name) == "TF32";
    for (const auto& [name, arguments] : shapes) check.names.push_back(fmt::format("{}, {}", name, format.name));
    check.config = [shapes, keys = std::string(format.keys)](int only) {
      std::string text = line("Input: {shape: [12, 10, 3], name: input}") +
                         line("Conv2D: {filters: 32, kernel_size: 1, name: wide, inputs: input}");
      std::string ends;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (only >= 0 && i != static_cast<std::size_t>(only)) continue;
        text += line(fmt::format("Conv2D: {{{}, name: x{}}}", shapes[i].second, i));
        text += line(fmt::format("GlobalAveragePooling2D: {{name: f{}, inputs: x{}}}", i, i));
        ends += fmt::format("{}f{}", ends.empty() ? "" : ", ", i);
      }
      if (only < 0) text += line(fmt::format("Concatenate: {{name: all, inputs: [{}]}}", ends));
      return config_of(text + line("Dense: {units: 3, name: after}"), kClasses, kSgd + keys);
    };
    all.push_back(std::move(check));
  }
}

std::string small_network(int outputs, const std::string& last = "") {
  return line("Input: [6, 5, 3]") + line("Conv2D: {filters: 4, kernel_size: 3, activation: relu}") +
         line("BatchNormalization: {}") + line("Flatten: {}") +
         line(fmt::format("Dense: {{units: {}{}}}", outputs, last));
}

/// Every loss of the family: over four classes, on one probability, or on four values between 0 and 1.
void add_losses(std::vector<DeviceCheck>& all) {
  for (const config::TypeDef* def : nn::loss_family().types()) {
    const auto& loss = static_cast<const nn::LossType&>(*def);
    const std::string arguments = loss.fuses ? "from_logits: true" : loss.example;
    const char* const metrics = loss.reads == nn::Reads::kClasses ? "accuracy, {SparseTopKCategoricalAccuracy: {k: 2}}"
                                : loss.reads == nn::Reads::kProbabilities ? "accuracy"
                                                                          : "mae, mse";
    all.push_back(one(loss.name, config_of(small_network(loss.reads == nn::Reads::kProbabilities ? 1 : 4,
                                                         loss.fuses ? "" : ", activation: sigmoid"),
                                           fmt::format("{{{}: {{{}}}}}", loss.name, arguments),
                                           fmt::format(", metrics: [{}]", metrics))));
  }
  std::string penalized = small_network(4, ", kernel_regularizer: {L1L2: {l1: 0.01, l2: 0.02}}");
  penalized.replace(penalized.find("BatchNormalization: {}"), 22, "BatchNormalization: {trainable: false}");
  all.push_back(one("regularizers, a frozen BatchNormalization", config_of(penalized, kClasses, kSgd)));
  all.push_back(one("Softmax and crossentropy", config_of(small_network(4, ", activation: softmax"),
                                                          "SparseCategoricalCrossentropy", ", metrics: [accuracy]")));
}

/// Whether the metric accepts four classes with class numbers as labels.
bool fits_classes(const nn::MetricType& type, const std::string& text) {
  const config::Typed metric = read_member(nn::metric_family(), text);
  return type.mismatch(metric.spec(), {.name = "'x'", .output = Shape{4}}).empty();
}

/// All metrics of the family: on four classes if they accept class numbers, otherwise on one value.
void add_metrics(std::vector<DeviceCheck>& all) {
  std::vector<std::string> of_classes, of_values;
  DeviceCheck classes, values;
  for (const config::TypeDef* def : nn::metric_family().types()) {
    const auto& type = static_cast<const nn::MetricType&>(*def);
    const std::string text = fmt::format("{{{}: {{{}}}}}", type.name, type.example_arguments);
    const bool fits = fits_classes(type, text);
    (fits ? of_classes : of_values).push_back(text);
    (fits ? classes : values).names.push_back(type.name);
  }
  const auto config = [](const std::string& network, const char* loss, const std::vector<std::string>& metrics) {
    return [=](int only) {
      const std::string list = only < 0 ? join(metrics, ", ") : metrics[static_cast<std::size_t>(only)];
      return config_of(network, loss, ", metrics: [" + list + "]");
    };
  };
  classes.config = config(small_network(4, ", activation: softmax"), "SparseCategoricalCrossentropy", of_classes);
  values.config = config(small_network(1), "MeanSquaredError", of_values);
  all.push_back(std::move(classes));
  all.push_back(std::move(values));
}

/// Every optimizer of the family: with its defaults, with its variants, and with the common options, one at a time.
void add_optimizers(std::vector<DeviceCheck>& all) {
  const std::vector<std::string> common{"weight_decay: 0.01", "clipnorm: 0.5", "use_ema: true", "global_clipnorm: 0.7",
                                        "clipvalue: 0.1"};
  std::vector<std::pair<std::string, std::string>> optimizers;
  for (const config::TypeDef* def : nn::optimizer_family().types()) {
    optimizers.emplace_back(def->name, "");
    for (const std::string& variant : static_cast<const nn::OptimizerType*>(def)->variants)
      optimizers.emplace_back(def->name, variant);
    optimizers.emplace_back(def->name, common[optimizers.size() % common.size()]);
  }
  for (const auto& [name, arguments] : optimizers) {
    const std::string rest = arguments.empty() ? "" : ", " + arguments;
    DeviceCheck check = one(name + rest,
                            config_of(small_network(4), kClasses,
                                      fmt::format(", optimizer: {{{}: {{learning_rate: 0.01{}}}}}", name, rest)),
                            DeviceCheck::Kind::kTraining);
    check.layers = 2e-3;
    all.push_back(std::move(check));
  }
}

void add_ways_to_run(std::vector<DeviceCheck>& all) {
  const std::string adam = ", optimizer: {Adam: {learning_rate: 0.01}}";
  std::string pieces = config_of(small_network(4), kClasses, ", accumulate_steps: 2");
  pieces.replace(pieces.find("BatchNormalization"), 18, "LayerNormalization");  // uses statistics of the micro-batch
  all.push_back(one("micro-batches", pieces));
  all.push_back(
      one("recorded steps, float32", config_of(small_network(4), kClasses, adam), DeviceCheck::Kind::kRecorded));
  all.push_back(one("recorded steps, bfloat16",
                    config_of(small_network(4), kClasses, adam + ", dtype_policy: mixed_bfloat16"),
                    DeviceCheck::Kind::kRecorded));
  std::string text = config_of(small_network(4), kClasses, adam);
  text.replace(
      text.find("data: {"), 7,
      "data: {transforms: {train: [{Rescaling: 0.00392}, {Normalization: {mean: [0.5, 0.4, 0.3], variance: [0.1, 0.2, "
      "0.3]}}, {RandomFlip: horizontal}], eval: [{Rescaling: 0.00392}]}, ");
  all.push_back(one("batches made on the device", text, DeviceCheck::Kind::kInput));
  text = config_of(small_network(4), kClasses, adam);
  text.replace(
      text.find("data: {"), 7,
      "data: {transforms: {train: [{RandomCrop: {height: 6, width: 5, padding: 2}}, {RandomBrightness: {factor: 0.1, "
      "value_range: [0, 1]}}, {RandomContrast: {factor: 0.2, value_range: [0, 1]}}, PerImageStandardization], "
      "eval: [PerImageStandardization]}, ");
  all.push_back(one("batches with random transforms", text, DeviceCheck::Kind::kInput));
}

}  // namespace

std::vector<DeviceCheck> device_checks() {
  std::vector<DeviceCheck> all;
  add_layers(all);
  add_convolutions(all);
  add_losses(all);
  add_metrics(all);
  add_optimizers(all);
  add_ways_to_run(all);
  return all;
}

}  // namespace dptrain::bench
