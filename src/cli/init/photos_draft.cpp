// init --from a folder of photos: classes, a size, a network from scratch with augmentation.

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/init/draft.h"
#include "cli/init/networks.h"
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

class PhotosDraft {
 public:
  explicit PhotosDraft(const DraftRequest& request) : request_(request), roles_(roles_in(request.path)) {
    data::ImageFolderSpec spec;
    spec.directory.value = below(request.path, roles_.train);
    spec.on_error.skip = true;
    data::DatasetConfig only;
    only.train = data::dataset_family().make(spec);
    source_ = data::open_sources(only, {}, 0).train;
    measure();
  }

  Draft take() const {
    Draft draft;
    draft.said.push_back(fmt::format("{}: {} photos of {} classes: {}", below(request_.path, roles_.train),
                                     with_commas(source_->size()), source_->class_names().size(),
                                     some_names(source_->class_names())));
    draft.said.push_back(fmt::format("  half of them are {} x {} pixels or larger; the network gets {} x {}",
                                     middle_.first, middle_.second, size_, size_));
    draft.yaml = head() + model() + data() + training();
    return draft;
  }

 private:
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
    return convolutions({size_, size_, 3}) +
           fmt::format("    - Dense: {{name: classes, units: {}, activation: softmax}}\n\n",
                       source_->class_names().size());
  }

  std::string data() const {
    const auto set = [&](const char* role, const std::string& name) {
      return fmt::format("  {}:\n    ImageFolder: {{directory: {}, on_error: skip}}\n", role,
                         yaml_word(below(request_.reference, name)));
    };
    std::string text = sets_of_roles(roles_, set);
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
  const Roles roles_;
  std::shared_ptr<const data::Source> source_;
  std::pair<std::int64_t, std::int64_t> middle_;
  std::int64_t size_ = 0;
};

}  // namespace

Draft draft_photos(const DraftRequest& request) { return PhotosDraft(request).take(); }

}  // namespace dptrain::cli
