// init --from a folder of photos: finds classes and a size, and drafts a convolutional network with augmentation.

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/sources/file_list.h"
#include "data/sources/image_folder.h"
#include "init/draft.h"
#include "init/networks.h"

namespace dptrain::init {
namespace {

constexpr std::int64_t kSampledPhotos = 200;

class PhotosDraft {
 public:
  explicit PhotosDraft(const DraftRequest& request) : request_(request), roles_(roles_in(request.path)) {
    data::ImageFolderSpec spec;
    spec.directory.value = below(request.path, roles_.train);
    spec.on_error.skip = true;
    source_ = open_train(data::dataset_family().make(spec));
    measure();
  }

  Draft take() const {
    Draft draft;
    draft.findings.push_back(
        fmt::format("{}: {} of {}: {}", below(request_.path, roles_.train), counted(source_->size(), "photo"),
                    counted(source_->class_names().size(), "class"), some_names(source_->class_names())));
    draft.findings.push_back(fmt::format("  half of them are {} x {} pixels or larger; the network gets {} x {}",
                                         size_.height, size_.width, size_.side, size_.side));
    draft.yaml = head() + model() + data() + training();
    return draft;
  }

 private:
  void measure() {
    std::vector<Shape> shapes;
    const std::int64_t step = std::max<std::int64_t>(1, source_->size() / kSampledPhotos);
    for (std::int64_t i = 0; i < source_->size(); i += step)
      if (const Shape shape = source_->peek_shape(i); shape.rank() >= 2) shapes.push_back(shape);
    if (shapes.empty())
      throw Error(ErrorKind::kData, fmt::format("{}: the size of no photo can be read", request_.path));
    size_ = photo_size(shapes);
  }

  std::string head() const {
    return fmt::format(
        "# Photos of {} classes in {}, by `dptrain init --from`: a network from scratch, with augmentation. "
        "Pre-trained\n"
        "# weights, which Keras downloads, do better on few photos: dptrain init flowers_vgg16 shows how.\n"
        "#\n"
        "#   dptrain fit {}.yaml\n"
        "#   dptrain predict runs/{}/001 --input PHOTO.jpg\n"
        "dptrain: 1\n"
        "name: {}\n"
        "seed: 0\n\n",
        source_->class_names().size(), printable(request_.reference), request_.name, request_.name, request_.name);
  }

  std::string model() const {
    const Shape input{size_.side, size_.side, 3};
    return "model:\n" + conv_block(input) + "  layers:\n    - Input: {shape: " + yaml_shape(input) + "}\n" +
           conv_stages(input, "") +
           fmt::format("    - Dropout: 0.2\n    - Dense: {{name: classes, units: {}, activation: softmax}}\n\n",
                       source_->class_names().size());
  }

  std::string data() const {
    const auto set = [&](const char* role, const std::string& name) {
      return fmt::format("  {}:\n    ImageFolder: {{directory: {}, on_error: skip}}\n", role,
                         yaml_word(below(request_.reference, name)));
    };
    return sets_of_roles(roles_, set) + photo_transforms(size_.side);
  }

  std::string training() const {
    const std::int64_t epochs = photo_epochs(source_->size());
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
        epochs, photo_batch(source_->size()), epochs, epochs / 3);
  }

  const DraftRequest& request_;
  const Roles roles_;
  std::shared_ptr<const data::Source> source_;
  PhotoSize size_;
};

}  // namespace

Draft draft_photos(const DraftRequest& request) { return PhotosDraft(request).take(); }

}  // namespace dptrain::init
