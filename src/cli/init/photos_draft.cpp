// init --from a folder of photos: classes, a size, a network from scratch with augmentation.

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/init/draft.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/file_list.h"
#include "data/sources/image_folder.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kPhotosLookedAt = 200;
constexpr std::int64_t kSmall = 64;   // photos up to this size are trained on as they are
constexpr std::int64_t kUsual = 128;  // others are brought to this

std::optional<std::string> sub_folder(const std::string& path, const std::vector<const char*>& names) {
  std::error_code ignored;
  for (const char* const name : names)
    if (fs::is_directory(fs::path(path) / name, ignored)) return name;
  return std::nullopt;
}

class PhotosDraft {
 public:
  explicit PhotosDraft(const DraftRequest& request) : request_(request) {
    train_ = sub_folder(request.path, {"train", "training"});
    if (train_) {
      validation_ = sub_folder(request.path, {"val", "validation", "valid"});
      test_ = sub_folder(request.path, {"test", "testing"});
    }
    data::ImageFolderSpec spec;
    spec.directory.value = folder(request.path, train_);
    spec.on_error.skip = true;
    data::DatasetConfig only;
    only.train = data::dataset_family().make(spec);
    source_ = data::open_sources(only, {}, 0).train;
    measure();
  }

  Draft take() const {
    Draft draft;
    draft.said.push_back(fmt::format("{}: {} photos of {} classes: {}", folder(request_.path, train_),
                                     with_commas(source_->size()), source_->class_names().size(), classes()));
    draft.said.push_back(fmt::format("  half of them are {} x {} pixels or larger; the network gets {} x {}",
                                     middle_.first, middle_.second, size_, size_));
    draft.yaml = head() + model() + data() + training();
    return draft;
  }

 private:
  static std::string folder(const std::string& path, const std::optional<std::string>& below) {
    return below ? (fs::path(path) / *below).lexically_normal().string() : path;
  }
  std::string classes() const {
    std::vector<std::string> names = source_->class_names();
    for (std::string& name : names) name = printable(name);
    if (names.size() <= 12) return join(names, ", ");
    names.resize(10);
    return join(names, ", ") + ", ...";
  }

  void measure() {
    std::vector<std::int64_t> heights, widths;
    const std::int64_t step = std::max<std::int64_t>(1, source_->size() / kPhotosLookedAt);
    for (std::int64_t i = 0; i < source_->size(); i += step) {
      const Shape shape = source_->peek_shape(i);
      if (shape.rank() < 2) continue;
      heights.push_back(shape[0]), widths.push_back(shape[1]);
    }
    if (heights.empty()) throw Error(ErrorKind::kData, fmt::format("{}: no photo says its size", request_.path));
    const auto middle = [](std::vector<std::int64_t>& sizes) {
      std::ranges::nth_element(sizes, sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2));
      return sizes[sizes.size() / 2];
    };
    middle_ = {middle(heights), middle(widths)};
    const std::int64_t larger = std::max(middle_.first, middle_.second);
    size_ = larger <= kSmall ? (larger + 7) / 8 * 8 : kUsual;
  }

  std::string head() const {
    return fmt::format(
        "# Photos of {} classes in {}, by `dptrain init --from`: a network from scratch, with augmentation. "
        "Pre-trained\n"
        "# weights do better on few photos: dptrain init flowers_vgg16 shows how.\n"
        "#\n"
        "#   dptrain fit {}.yaml\n"
        "#   dptrain predict runs/{}/001 --input PHOTO.jpg\n"
        "dptrain: 1\n"
        "name: {}\n"
        "seed: 0\n\n",
        source_->class_names().size(), printable(request_.reference), request_.name, request_.name, request_.name);
  }

  std::string model() const {
    std::string text =
        "model:\n"
        "  blocks:\n"
        "    stage:\n"
        "      params: {filters: required}\n"
        "      layers:\n"
        "        - Conv2D: {name: conv, filters: $filters, kernel_size: 3, padding: same, use_bias: false, "
        "kernel_initializer: he_normal}\n"
        "        - BatchNormalization: {name: bn, momentum: 0.9}\n"
        "        - Activation: relu\n"
        "        - MaxPooling2D: {name: pool, pool_size: 2}\n"
        "  layers:\n";
    text += fmt::format("    - Input: {{shape: [{}, {}, 3]}}\n", size_, size_);
    std::int64_t filters = size_ > kSmall ? 16 : 32;
    int stage = 0;
    for (std::int64_t left = size_; left >= 8 && filters <= 256; left /= 2, filters *= 2)
      text += fmt::format("    - stage: {{name: stage{}, filters: {}}}\n", ++stage, filters);
    text += "    - GlobalAveragePooling2D\n    - Dropout: 0.2\n";
    return text + fmt::format("    - Dense: {{name: classes, units: {}, activation: softmax}}\n\n",
                              source_->class_names().size());
  }

  std::string data() const {
    const auto set = [&](const char* role, const std::string& below) {
      return fmt::format("  {}:\n    ImageFolder: {{directory: {}, on_error: skip}}\n", role,
                         yaml_word((fs::path(request_.reference) / below).lexically_normal().string()));
    };
    std::string text = "data:\n" + set("train", train_.value_or(""));
    if (validation_)
      text += set("validation", *validation_);
    else
      text += "  validation:\n    Split: {fraction: 0.15, stratified: true}\n";
    if (test_) text += set("test", *test_);
    text += "  transforms:\n    train:\n";
    if (size_ > kSmall)
      text += fmt::format("      - RandomResizedCrop: {{height: {}, width: {}, scale: [0.5, 1.0]}}\n", size_, size_);
    else
      text += fmt::format(
          "      - Resizing: {{height: {}, width: {}}}\n      - RandomTranslation: {{height_factor: 0.1, width_factor: "
          "0.1}}\n",
          size_, size_);
    text +=
        "      - RandomFlip: horizontal\n"
        "      - Rescaling: {scale: 1/127.5, offset: -1}\n"
        "    eval:\n";
    return text + fmt::format("      - Resizing: {{height: {}, width: {}}}\n", size_, size_) +
           "      - Rescaling: {scale: 1/127.5, offset: -1}\n\n";
  }

  std::string training() const {
    const std::int64_t epochs = source_->size() < 5'000 ? 60 : source_->size() < 50'000 ? 40 : 20;
    return fmt::format(
        "train:\n"
        "  epochs: {}\n"
        "  batch_size: {}\n"
        "  optimizer:\n"
        "    Adam:\n"
        "      learning_rate: {{CosineDecay: {{initial_learning_rate: 2e-3, decay_steps: {} epochs}}}}\n"
        "  loss: categorical_crossentropy\n"
        "  metrics: [accuracy]\n\n"
        "callbacks:\n"
        "  - ModelCheckpoint: {{monitor: val_accuracy, save_best_only: true}}\n"
        "  - EarlyStopping: {{monitor: val_accuracy, patience: {}, restore_best_weights: true}}\n",
        epochs, source_->size() < 50'000 ? 32 : 128, epochs, epochs / 3);
  }

  const DraftRequest& request_;
  std::optional<std::string> train_, validation_, test_;
  std::shared_ptr<const data::Source> source_;
  std::pair<std::int64_t, std::int64_t> middle_;
  std::int64_t size_ = 0;
};

}  // namespace

Draft draft_photos(const DraftRequest& request) { return PhotosDraft(request).take(); }

}  // namespace dptrain::cli
