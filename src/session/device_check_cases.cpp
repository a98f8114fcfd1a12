// What devices are checked with. Every layer that has an op stands here; a test says which one does not.

#include <utility>

#include "config/load.h"
#include "core/format.h"
#include "core/text.h"
#include "nn/activation.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/optimizer.h"
#include "session/device_check.h"

namespace dptrain::session {
namespace {

/// A step between `before` [7, 6, 4] (or `steps` [42, 4], `volume` [3, 7, 2, 4], `vector` [4], `before` and `beside`)
/// and the end of the network.
struct Branch {
  std::string name, arguments;
  std::string inputs = "before";
};

constexpr const char* kClasses = "{SparseCategoricalCrossentropy: {from_logits: true}}";

std::string config_of(const std::string& layers, const std::string& loss, const std::string& train,
                      const std::string& rest = "") {
  return fmt::format(
      "dptrain: 1\nmodel:\n  layers:\n{}data: {{train: {{Synthetic: {{samples: 16}}}}}}\n"
      "train: {{epochs: 1, batch_size: 8, loss: {}{}}}\n{}",
      layers, loss, train, rest);
}

std::string line(const std::string& step) { return "    - {" + step + "}\n"; }

/// Every step is a branch of its own between the same beginning and the same end. With an odd number of channels
/// kernels cannot take several values at a time.
std::string branches(const std::vector<Branch>& steps, int channels, int only) {
  const auto wanted = [&](std::size_t i) { return only < 0 || i == static_cast<std::size_t>(only); };
  const auto is_read = [&](const char* name) {
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (wanted(i) && steps[i].inputs.find(name) != std::string::npos) return true;
    return false;
  };
  std::string text =
      line("Input: {shape: [7, 6, 3], name: input}") +
      line(fmt::format("Conv2D: {{filters: {}, kernel_size: 1, name: before, inputs: input}}", channels));
  if (is_read("beside"))
    text += line(fmt::format("Conv2D: {{filters: {}, kernel_size: 1, name: beside, inputs: input}}", channels));
  if (is_read("steps"))
    text += line(fmt::format("Reshape: {{target_shape: [42, {}], name: steps, inputs: before}}", channels));
  if (is_read("volume"))
    text += line(fmt::format("Reshape: {{target_shape: [3, 7, 2, {}], name: volume, inputs: before}}", channels));
  if (is_read("vector")) text += line("GlobalAveragePooling2D: {name: vector, inputs: before}");
  std::string ends;
  int count = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!wanted(i)) continue;
    const Branch& step = steps[i];
    text += line(fmt::format("{}: {{{}{}name: x{}, inputs: [{}]}}", step.name, step.arguments,
                             step.arguments.empty() ? "" : ", ", i, step.inputs));
    text += line(fmt::format("Flatten: {{name: f{}, inputs: x{}}}", i, i));
    ends += fmt::format("{}f{}", ends.empty() ? "" : ", ", i);
    ++count;
  }
  if (count > 1) text += line(fmt::format("Concatenate: {{name: all, inputs: [{}]}}", ends));
  return text + line("Dense: {units: 3, name: after}");
}

DeviceCheck of_steps(std::vector<Branch> steps, int channels = 4) {
  DeviceCheck check;
  for (const Branch& step : steps) check.names.push_back(step.name + (channels == 4 ? "" : ", odd channels"));
  check.config = [steps = std::move(steps), channels](int only) {
    return config_of(branches(steps, channels, only), kClasses, ", optimizer: {SGD: {learning_rate: 0.05}}",
                     "parallel: {check_replicas: 1 steps}\n");
  };
  return check;
}

void add_layers(std::vector<DeviceCheck>& all) {
  const std::string both = "before, beside";
  all.push_back(of_steps({{"Conv2D", "filters: 5, kernel_size: 3, activation: relu"},
                          {"Conv2DTranspose", "filters: 5, kernel_size: 3, strides: 2"},
                          {"DepthwiseConv2D", "kernel_size: 3, padding: same, depth_multiplier: 2"},
                          {"SeparableConv2D", "filters: 6, kernel_size: 3"},
                          {"Dense", "units: 9, activation: relu", "vector"}}));
  all.push_back(of_steps({{"MaxPooling2D", "pool_size: 3, strides: 2"},
                          {"AveragePooling2D", "pool_size: 2, padding: same"},
                          {"GlobalMaxPooling2D", ""},
                          {"GlobalAveragePooling2D", ""},
                          {"UpSampling2D", "size: 2, interpolation: bilinear"},
                          {"Resizing", "height: 5, width: 9"},
                          {"ZeroPadding2D", "padding: [[1, 2], [0, 3]]"},
                          {"Cropping2D", "cropping: 1"},
                          {"Permute", "dims: [3, 1, 2]"},
                          {"RepeatVector", "n: 5", "vector"}}));
  all.push_back(of_steps({{"Conv1D", "filters: 5, kernel_size: 3, padding: causal, activation: relu", "steps"},
                          {"Conv1DTranspose", "filters: 5, kernel_size: 3, strides: 2", "steps"},
                          {"DepthwiseConv1D", "kernel_size: 3, padding: same, depth_multiplier: 2", "steps"},
                          {"SeparableConv1D", "filters: 6, kernel_size: 3", "steps"},
                          {"MaxPooling1D", "pool_size: 3, strides: 2", "steps"},
                          {"AveragePooling1D", "padding: same", "steps"},
                          {"GlobalMaxPooling1D", "", "steps"},
                          {"ZeroPadding1D", "padding: [1, 2]", "steps"},
                          {"Cropping1D", "", "steps"},
                          {"UpSampling1D", "", "steps"},
                          {"SpatialDropout1D", "rate: 0.3", "steps"},
                          {"Dot", "axes: 1, normalize: true", "steps, steps"},
                          {"Dot", "axes: [2, 1]", "steps, vector"}}));
  all.push_back(
      of_steps({{"MultiHeadAttention", "num_heads: 2, key_dim: 3", "steps"},
                {"MultiHeadAttention", "num_heads: 2, key_dim: 3, value_dim: 5, dropout: 0.3", "steps, steps"},
                {"MultiHeadAttention", "num_heads: 3, key_dim: 8, use_causal_mask: true", "steps"},
                {"Attention", "use_scale: true, dropout: 0.3", "steps, steps"},
                {"Attention", "use_scale: true, score_mode: concat", "steps, steps"},
                {"AdditiveAttention", "use_causal_mask: true", "steps, steps"},
                {"PositionEmbedding", "sequence_length: 50", "steps"}}));
  all.push_back(of_steps({{"Conv3D", "filters: 5, kernel_size: 3, padding: same, activation: relu", "volume"},
                          {"Conv3D", "filters: 4, kernel_size: [2, 3, 1], strides: 2, groups: 2", "volume"},
                          {"Conv3DTranspose", "filters: 3, kernel_size: [2, 3, 3], strides: [1, 2, 2]", "volume"},
                          {"MaxPooling3D", "pool_size: [2, 3, 1], strides: 2, padding: same", "volume"},
                          {"AveragePooling3D", "", "volume"},
                          {"GlobalMaxPooling3D", "", "volume"},
                          {"GlobalAveragePooling3D", "", "volume"},
                          {"ZeroPadding3D", "padding: [[1, 0], [1, 2], [0, 3]]", "volume"},
                          {"Cropping3D", "cropping: [1, 2, 0]", "volume"},
                          {"UpSampling3D", "size: [2, 1, 3]", "volume"},
                          {"SpatialDropout3D", "rate: 0.3", "volume"}}));
  all.push_back(of_steps({{"Add", "", both},
                          {"Subtract", "", both},
                          {"Multiply", "", both},
                          {"Average", "", both},
                          {"Maximum", "", both},
                          {"Minimum", "", both},
                          {"CustomScaleLayer", "scale: 0.3", both},
                          {"Concatenate", "", both}}));
  all.push_back(of_steps({{"BatchNormalization", ""},
                          {"LayerNormalization", ""},
                          {"GroupNormalization", "groups: 2"},
                          {"LocalResponseNormalization", ""}}));
  all.push_back(of_steps({{"Dropout", "rate: 0.3"},
                          {"Dropout", "rate: 0.3, noise_shape: [null, 7, 1, 4]"},
                          {"StochasticDepth", "drop_path_rate: 0.3"},
                          {"SpatialDropout2D", "rate: 0.3"},
                          {"GaussianDropout", "rate: 0.3"},
                          {"GaussianNoise", "stddev: 0.1"},
                          {"Normalization", "mean: [0, 0.1, 0.2, 0.3], variance: [1, 2, 3, 4]"},
                          {"Normalization", "axis: -1"},
                          {"Rescaling", "scale: 0.5, offset: 0.1"},
                          {"Rescaling", "scale: [0.5, 1, 2, -1], offset: 0.1"},
                          {"LayerScale", "init_values: 0.5, projection_dim: 4"},
                          {"ReLU", "negative_slope: 0.1, max_value: 2"},
                          {"LeakyReLU", ""},
                          {"ELU", ""},
                          {"PReLU", "alpha_initializer: {Constant: 0.2}, shared_axes: [1, 2]"},
                          {"Softmax", ""}}));
  all.push_back(of_steps({{"Dropout", "rate: 0.3"},
                          {"SpatialDropout2D", "rate: 0.3"},
                          {"GaussianDropout", "rate: 0.3"},
                          {"GaussianNoise", "stddev: 0.1"},
                          {"Normalization", "mean: 0.1, variance: 2, invert: true"},
                          {"BatchNormalization", ""},
                          {"GroupNormalization", "groups: 5"},
                          {"LayerNormalization", ""},
                          {"LocalResponseNormalization", "beta: 0.5"},
                          {"PReLU", ""},
                          {"Permute", "dims: [2, 1, 3]"},
                          {"MaxPooling2D", "pool_size: 2"},
                          {"UpSampling2D", "size: 2"},
                          {"DepthwiseConv2D", "kernel_size: 3"},
                          {"Add", "", both},
                          {"Multiply", "", both},
                          {"Concatenate", "", both}},
                         5));
  std::vector<Branch> activations;
  for (const auto& [value, word] : config::EnumNames<nn::Activation>::names)
    activations.push_back({"Activation", fmt::format("activation: {}", word)});
  DeviceCheck check = of_steps(activations);
  for (std::size_t i = 0; i < activations.size(); ++i) check.names[i] = activations[i].arguments;
  all.push_back(std::move(check));
}

/// As networks have them: the first one's three channels, 1x1, 3x3, strides, dilation, groups, odd channels.
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
      return config_of(text + line("Dense: {units: 3, name: after}"), kClasses,
                       ", optimizer: {SGD: {learning_rate: 0.05}}" + keys);
    };
    all.push_back(std::move(check));
  }
}

std::string small_network(int outputs, const std::string& last = "") {
  return line("Input: [6, 5, 3]") + line("Conv2D: {filters: 4, kernel_size: 3, activation: relu}") +
         line("BatchNormalization: {}") + line("Flatten: {}") +
         line(fmt::format("Dense: {{units: {}{}}}", outputs, last));
}

/// One network by itself.
DeviceCheck one(const std::string& name, const std::string& text, DeviceCheck::Kind kind = DeviceCheck::Kind::kSteps) {
  DeviceCheck check;
  check.names = {name};
  check.config = [text](int) { return text; };
  check.kind = kind;
  return check;
}

/// Layers of masked steps, which stand in a network of their own: some ids are 0, some steps nothing but zeros.
void add_sequences(std::vector<DeviceCheck>& all) {
  const std::string ids = line("Input: {shape: [9], dtype: int32, name: input}") +
                          line("Embedding: {input_dim: 4, output_dim: 5, mask_zero: true, name: x0}");
  const std::string steps = line("Input: {shape: [9, 5], name: input}") + line("ReLU: {threshold: 1.0, name: zeros}") +
                            line("Masking: {mask_value: 0, name: x0}");
  const std::string end = line("GlobalAveragePooling1D: {name: x1}") + line("Dense: {units: 3, name: after}");
  const std::string train = ", optimizer: {SGD: {learning_rate: 0.05}}";
  all.push_back(one("Embedding", config_of(ids + end, kClasses, train)));
  all.push_back(one("Masking", config_of(steps + end, kClasses, train)));
  for (const std::string cell : {"LSTM", "GRU", "SimpleRNN"}) {
    const std::string first =
        line(fmt::format("{}: {{units: 6, return_sequences: true, dropout: 0.2, name: x1}}", cell));
    const std::string dropping = line(fmt::format("{}: {{units: 6, recurrent_dropout: 0.2, name: x1}}", cell));
    const std::string last = line(fmt::format("{}: {{units: 5, go_backwards: true, name: x2}}", cell));
    const std::string after = line("Dense: {units: 3, name: after}");
    all.push_back(one(cell, config_of(steps + first + last + after, kClasses, train)));
    all.push_back(one(cell + ", recurrent_dropout", config_of(ids + dropping + after, kClasses, train)));
  }
  const std::string both = line("Bidirectional: {layer: {LSTM: {units: 4, return_sequences: true}}, name: x1}") +
                           line("Bidirectional: {layer: {GRU: 5}, merge_mode: mul, name: x2}") +
                           line("Dense: {units: 3, name: after}");
  all.push_back(one("Bidirectional", config_of(steps + both, kClasses, train)));
  const std::string frames = line("Input: {shape: [9, 5], name: input}") +
                             line("Reshape: {target_shape: [3, 3, 5, 1], name: x0}") +
                             line("ConvLSTM2D: {filters: 3, kernel_size: 2, padding: same, dropout: 0.2, name: x1}") +
                             line("Flatten: {name: x2}") + line("Dense: {units: 3, name: after}");
  all.push_back(one("ConvLSTM2D", config_of(frames, kClasses, train)));
  const std::string each = line("TimeDistributed: {layer: {Dense: {units: 4, activation: relu}}, name: x1}") +
                           line("TimeDistributed: {layer: {Dropout: 0.2}, name: x2}") +
                           line("GRU: {units: 5, name: x3}") + line("Dense: {units: 3, name: after}");
  all.push_back(one("TimeDistributed", config_of(steps + each, kClasses, train)));
  all.push_back(
      one("GlobalAveragePooling1D", config_of(line("Input: {shape: [9, 5], name: input}") + end, kClasses, train)));
}

/// Every loss of the family: over four classes, of one probability, or of four values between 0 and 1.
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
  all.push_back(one("regularizers, a frozen BatchNormalization",
                    config_of(penalized, kClasses, ", optimizer: {SGD: {learning_rate: 0.05}}")));
  all.push_back(one("Softmax and crossentropy", config_of(small_network(4, ", activation: softmax"),
                                                          "SparseCategoricalCrossentropy", ", metrics: [accuracy]")));
}

/// Whether the metric can be measured on four classes with labels that are class numbers.
bool fits_classes(const nn::MetricType& type, const std::string& text) {
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const config::Typed metric = nn::metric_family().read(config::load_text(text, "metric", "", diagnostics), reader);
  diagnostics.throw_if_errors();
  return type.misfit(metric.spec(), {.name = "'x'", .output = Shape{4}}).empty();
}

/// All metrics of the family: on four classes those that take class numbers, the others on a value.
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

/// Every optimizer of the family: with its defaults, as it says that it varies, and with what all of them have, one of
/// these after the other.
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
  pieces.replace(pieces.find("BatchNormalization"), 18, "LayerNormalization");  // moments are a micro-batch's own
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
  add_sequences(all);
  add_convolutions(all);
  add_losses(all);
  add_metrics(all);
  add_optimizers(all);
  add_ways_to_run(all);
  return all;
}

}  // namespace dptrain::session
