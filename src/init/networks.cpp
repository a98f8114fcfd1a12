#include "init/networks.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/text.h"

namespace dptrain::init {
namespace {

bool is_clip_shape(const Shape& shape) { return shape.rank() == 4; }

}  // namespace

Sizes sizes_for(std::int64_t rows) {
  Sizes sizes{.batch = 16, .epochs = 300, .patience = 30, .layers = {64, 32}, .dropout = 0.1};
  while (sizes.batch < 1024 && sizes.batch * 200 < rows) sizes.batch *= 2;
  if (rows >= 5'000) sizes = {sizes.batch, 100, 10, {128, 64}, 0.1};
  if (rows >= 100'000) sizes = {sizes.batch, 30, 4, {256, 128}, 0.1};
  if (rows >= 2'000'000) sizes = {sizes.batch, 10, 2, {256, 128}, 0.0};
  return sizes;
}

std::string training_of(const Sizes& sizes, bool classes) {
  return fmt::format(
      "train:\n"
      "  epochs: {}\n"
      "  batch_size: {}\n"
      "  optimizer:\n"
      "    AdamW: {{learning_rate: 1e-3, weight_decay: 1e-4}}\n"
      "  loss: {}\n"
      "  metrics: [{}]\n\n"
      "callbacks:\n"
      "  - ModelCheckpoint: {{monitor: val_loss, save_best_only: true}}\n"
      "  - ReduceLROnPlateau: {{monitor: val_loss, factor: 0.5, patience: {}, min_delta: 0}}\n"
      "  - EarlyStopping: {{monitor: val_loss, patience: {}, restore_best_weights: true}}\n",
      sizes.epochs, sizes.batch, classes ? "categorical_crossentropy" : "mean_squared_error",
      classes ? "accuracy" : "mean_absolute_error, root_mean_squared_error",
      std::max<std::int64_t>(1, sizes.patience / 3), sizes.patience);
}

std::int64_t middle_of(std::vector<std::int64_t> sizes) {
  const auto middle = sizes.begin() + std::ssize(sizes) / 2;
  std::ranges::nth_element(sizes, middle);
  return *middle;
}

std::string yaml_shape(const Shape& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape.dims()) sizes.push_back(std::to_string(size));
  return "[" + join(sizes, ", ") + "]";
}

std::string head_of(const std::string& name, const std::string& about, const std::string& commands) {
  return about + "#\n" + fmt::vformat(commands + "dptrain: 1\nname: {0}\nseed: 0\n\n", fmt::make_format_args(name));
}

std::string cosine_training(std::int64_t epochs, std::int64_t batch) {
  return fmt::format(
      "train:\n"
      "  epochs: {0}\n"
      "  batch_size: {1}\n"
      "  optimizer:\n"
      "    Adam:\n"
      "      learning_rate: {{CosineDecay: {{initial_learning_rate: 2e-3, decay_steps: {0} epochs}}}}\n"
      "  loss: categorical_crossentropy\n"
      "  metrics: [accuracy]\n\n"
      "callbacks:\n"
      "  - ModelCheckpoint: {{monitor: val_accuracy, save_best_only: true}}\n"
      "  - EarlyStopping: {{monitor: val_accuracy, patience: {2}, restore_best_weights: true}}\n",
      epochs, batch, epochs / 3);
}

std::string conv_block(const Shape& input) {
  const char* const axes = is_clip_shape(input) ? "3D" : "2D";
  return fmt::format(
      "  blocks:\n"
      "    stage:\n"
      "      params: {{filters: required{}}}\n"
      "      layers:\n"
      "        - Conv{}: {{name: conv, filters: $filters, kernel_size: 3, padding: same, use_bias: false, "
      "kernel_initializer: he_normal}}\n"
      "        - BatchNormalization: {{name: bn, momentum: 0.9}}\n"
      "        - Activation: relu\n"
      "        - MaxPooling{}: {{name: pool, pool_size: {}}}\n",
      is_clip_shape(input) ? ", pool: required" : "", axes, axes, is_clip_shape(input) ? "$pool" : "2");
}

std::string conv_stages(const Shape& input, const std::string& name) {
  constexpr std::int64_t kSmall = 64, kMaxFilters = 256;
  const bool clips = is_clip_shape(input);
  const std::string prefix = name.empty() ? "" : name + "_";
  std::int64_t frames = clips ? input[0] : 1, side = std::min(input[input.rank() - 3], input[input.rank() - 2]);
  std::int64_t filters = clips || side > kSmall ? 16 : 32;
  std::string text;
  for (int stage = 1; side >= 4 && filters <= kMaxFilters; side /= 2, filters *= 2, ++stage) {
    const bool halves_time = frames >= 4 && stage > 1;
    const char* const pool = !clips ? "" : halves_time ? ", pool: 2" : ", pool: [1, 2, 2]";
    if (halves_time) frames /= 2;
    text += fmt::format("    - stage: {{name: {}stage{}, filters: {}{}}}\n", prefix, stage, filters, pool);
  }
  return text + fmt::format("    - GlobalAveragePooling{}{}\n", clips ? "3D" : "2D",
                            name.empty() ? "" : fmt::format(": {{name: {}}}", name));
}

std::string conv_model(const Shape& input) {
  return "model:\n" + conv_block(input) + "  layers:\n    - Input: {shape: " + yaml_shape(input) + "}\n" +
         conv_stages(input, "") + "    - Dropout: 0.2\n";
}

std::string rescaled_end(const data::Source& train, const std::string& target) {
  double sum = 0, squares = 0, shift = 0;
  for (std::int64_t i = 0; i < train.size(); ++i) {
    float value = 0;
    if (train.label_type() == data::LabelType::kClass)
      value = static_cast<float>(train.label_class(i));
    else
      train.label_values(i, &value);
    if (i == 0) shift = static_cast<double>(value);
    const double distance = static_cast<double>(value) - shift;
    sum += distance, squares += distance * distance;
  }
  const auto count = static_cast<double>(train.size());
  const double variance = std::max(squares / count - (sum / count) * (sum / count), 1e-12);
  return fmt::format(
      "    - Rescaling: {{scale: {:.6g}, offset: {:.6g}}}   # deviation and mean of {}: the layers above stay near 0 "
      "and "
      "1\n\n",
      std::sqrt(variance), shift + sum / count, printable(target));
}

namespace {

constexpr std::int64_t kSmallPhoto = 64;   // photos up to this size keep their size
constexpr std::int64_t kUsualPhoto = 128;  // others are resized to this

}  // namespace

PhotoSize photo_size(const std::vector<Shape>& shapes) {
  std::vector<std::int64_t> heights, widths;
  for (const Shape& shape : shapes) heights.push_back(shape[0]), widths.push_back(shape[1]);
  PhotoSize size{.height = middle_of(heights), .width = middle_of(widths), .side = kUsualPhoto};
  const std::int64_t larger = std::max(size.height, size.width);
  if (larger <= kSmallPhoto) size.side = (larger + 7) / 8 * 8;
  return size;
}

std::string photo_transforms(std::int64_t side) {
  std::string text = "  transforms:\n    train:\n";
  if (side > kSmallPhoto)
    text += fmt::format("      - RandomResizedCrop: {{height: {}, width: {}, scale: [0.5, 1.0]}}\n", side, side);
  else
    text += fmt::format(
        "      - Resizing: {{height: {}, width: {}}}\n      - RandomTranslation: {{height_factor: 0.1, width_factor: "
        "0.1}}\n",
        side, side);
  text +=
      "      - RandomFlip: horizontal\n"
      "      - Rescaling: {scale: 1/127.5, offset: -1}\n"
      "    eval:\n";
  return text + fmt::format("      - Resizing: {{height: {}, width: {}}}\n", side, side) +
         "      - Rescaling: {scale: 1/127.5, offset: -1}\n\n";
}

std::int64_t photo_epochs(std::int64_t photos) { return photos < 5'000 ? 60 : photos < 50'000 ? 40 : 20; }
std::int64_t photo_batch(std::int64_t photos) { return photos < 50'000 ? 32 : 128; }

}  // namespace dptrain::init
