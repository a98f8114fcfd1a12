// init --from a folder of photos: finds classes and a size, and drafts a convolutional network with augmentation.

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
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
  explicit PhotosDraft(const DraftRequest& request)
      : request_(request),
        roles_(roles_in(request.path)),
        source_(open_folder<data::ImageFolderSpec>(request, roles_)) {
    measure();
  }

  Draft take() const {
    Draft draft;
    draft.findings.push_back(found_classes(below(request_.path, roles_.train), *source_, "photo"));
    draft.findings.push_back(fmt::format("  half of them are {} x {} pixels or larger; the network gets {} x {}",
                                         size_.height, size_.width, size_.side, size_.side));
    draft.yaml =
        head() + model() + data() + cosine_training(photo_epochs(source_->size()), photo_batch(source_->size()));
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
    return head_of(
        request_.name,
        fmt::format(
            "# Photos of {} classes in {}, by `dptrain init --from`: a network from scratch, with augmentation. "
            "Pre-trained\n"
            "# weights, which Keras downloads, do better on few photos: dptrain init flowers_vgg16 shows how.\n",
            source_->class_names().size(), printable(request_.reference)),
        "#   dptrain fit {0}.yaml\n#   dptrain predict runs/{0}/001 --input PHOTO.jpg\n");
  }

  std::string model() const {
    return conv_model({size_.side, size_.side, 3}) +
           fmt::format("    - Dense: {{name: classes, units: {}, activation: softmax}}\n\n",
                       source_->class_names().size());
  }

  std::string data() const {
    const auto set = [&](const char* role, const std::string& name) {
      return fmt::format("  {}:\n    ImageFolder: {{directory: {}, on_error: skip}}\n", role,
                         yaml_word(below(request_.reference, name)));
    };
    return sets_of_roles(roles_, set) + photo_transforms(size_.side);
  }

  const DraftRequest& request_;
  const Roles roles_;
  std::shared_ptr<const data::Source> source_;
  PhotoSize size_;
};

}  // namespace

Draft draft_photos(const DraftRequest& request) { return PhotosDraft(request).take(); }

}  // namespace dptrain::init
