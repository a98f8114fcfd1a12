// init --from a folder of photos and a folder of their masks: counts the classes and drafts a UNet.

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/sources/image_masks.h"
#include "init/draft.h"
#include "init/networks.h"

namespace dptrain::init {
namespace {

constexpr std::int64_t kSampledMasks = 2000;
constexpr std::int64_t kUnit = 32;      // UNet halves the size five times
constexpr std::int64_t kMaxSide = 256;  // longer photos are resized to this
constexpr std::int64_t kIgnored = 255;  // the usual value of pixels without a class
constexpr std::int64_t kFewPixels = 64 * 64, kSomePixels = 128 * 128;

struct MaskedPhotos {
  std::int64_t photos = 0, classes = 0;
  bool ignores = false;  ///< kIgnored occurs next to other classes
  bool binary = false;   ///< the values are 0 and 255
  Shape median{};        ///< height and width of the photos
};

/// The values of the masks and the sizes of the photos, of at most kSampledMasks samples.
MaskedPhotos measure(const data::Source& source, const std::string& path) {
  MaskedPhotos found{.photos = source.size()};
  std::array<bool, 256> occurs{};
  std::vector<std::int64_t> heights, widths;
  const std::int64_t step = std::max<std::int64_t>(1, source.size() / kSampledMasks);
  data::Array mask;
  for (std::int64_t i = 0; i < source.size(); i += step) {
    try {
      source.read_label_map(i, mask, 0);
    } catch (const data::SampleError& error) {
      log::warn(error.what());
      continue;
    }
    for (const std::uint8_t value : mask.u8) occurs[value] = true;
    heights.push_back(mask.shape[0]), widths.push_back(mask.shape[1]);
  }
  if (heights.empty()) throw Error(ErrorKind::kData, fmt::format("{}: no mask can be read", path));
  found.median = {middle_of(heights), middle_of(widths)};
  for (std::int64_t value = 0; value < kIgnored; ++value)
    if (occurs[static_cast<std::size_t>(value)]) found.classes = value + 1;
  found.binary = found.classes == 1 && occurs[kIgnored];
  found.ignores = occurs[kIgnored] && !found.binary;
  if (found.binary) found.classes = 2;
  if (found.classes < 2)
    throw Error(ErrorKind::kData,
                fmt::format("{}: the masks contain only the value {}; expected the numbers of at least "
                            "two classes",
                            path, found.classes == 1 ? 0 : kIgnored));
  return found;
}

/// A multiple of 32 near the photo's extent, which the longer side reduces to kMaxSide.
std::int64_t input_extent(std::int64_t extent, std::int64_t longer) {
  const double scale = std::min(1.0, static_cast<double>(kMaxSide) / static_cast<double>(longer));
  const double units = std::round(static_cast<double>(extent) * scale / static_cast<double>(kUnit));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(units)) * kUnit;
}

class MasksDraft {
 public:
  explicit MasksDraft(const DraftRequest& request) : request_(request), roles_(roles_in(request.path)) {
    const data::MaskFolders folders = folders_of(roles_.train);
    data::ImageMasksSpec spec;
    spec.images.value = folders.images;
    spec.masks.value = folders.masks;
    spec.on_error.skip = true;
    source_ = open_train(data::dataset_family().make(std::move(spec)));
    found_ = measure(*source_, folders.masks);
    const std::int64_t longer = std::max(found_.median[0], found_.median[1]);
    height_ = input_extent(found_.median[0], longer);
    width_ = input_extent(found_.median[1], longer);
  }

  Draft take() const {
    Draft draft;
    draft.findings.push_back(fmt::format("{}: {} with masks of {} classes{}", below(request_.path, roles_.train),
                                         counted(found_.photos, "photo"), found_.classes,
                                         found_.ignores  ? "; pixels of the value 255 do not count"
                                         : found_.binary ? ": black and white"
                                                         : ""));
    draft.findings.push_back(fmt::format("  half of them are {} x {} pixels or larger; the network gets {} x {}",
                                         found_.median[0], found_.median[1], height_, width_));
    draft.yaml = head() + model() + data() + training();
    return draft;
  }

 private:
  /// Throws Error{kData} if a role has no such folders.
  data::MaskFolders folders_of(const std::string& role) const {
    const std::string path = below(request_.path, role);
    if (const auto folders = data::find_mask_folders(path)) return *folders;
    throw Error(ErrorKind::kData,
                fmt::format("{}: expected a folder of photos and a folder of masks with the same names, as in {}", path,
                            below(request_.path, roles_.train)));
  }

  std::string head() const {
    return head_of(request_.name,
                   fmt::format("# A class for each pixel of the photos in {}, by `dptrain init --from`: a UNet from "
                               "scratch. With few photos,\n"
                               "# published weights of the encoder do better: docs/guide/segmentation.md.\n",
                               printable(request_.reference)),
                   "#   dptrain fit {0}.yaml\n#   dptrain predict runs/{0}/001 --input PHOTOS --output masks/\n");
  }

  std::string model() const {
    return fmt::format(
        "model:\n  layers:\n    - UNet: {{backbone: EfficientNetV2B0, input_shape: {}, classes: {}}}\n\n",
        yaml_shape({height_, width_, 3}), found_.classes);
  }

  std::string data() const {
    const auto set = [&](const char* role, const std::string& name) {
      const std::string root = below(request_.path, name);
      const data::MaskFolders folders = folders_of(name);
      const auto written = [&](const std::string& path) {
        const std::string inner = std::filesystem::path(path).lexically_relative(root).string();
        return yaml_word(below(below(request_.reference, name), inner));
      };
      return fmt::format("  {}:\n    ImageMasks:\n      images: {}\n      masks: {}\n{}      on_error: skip\n", role,
                         written(folders.images), written(folders.masks), classes());
    };
    std::string text = "data:\n" + set("train", roles_.train);
    text += roles_.validation.empty() ? "  validation: {Split: 0.15}\n" : set("validation", roles_.validation);
    if (!roles_.test.empty()) text += set("test", roles_.test);
    const std::string resizing = fmt::format("      - Resizing: {{height: {}, width: {}}}\n", height_, width_);
    return text + "  transforms:\n    train:\n" + resizing + "      - RandomFlip: horizontal\n    eval:\n" + resizing +
           "\n";
  }

  /// Keys of the data set about the values of masks.
  std::string classes() const {
    if (found_.binary) return "      classes: {background: \"#000000\", object: \"#ffffff\"}\n";
    return found_.ignores ? fmt::format("      ignore_class: {}\n", kIgnored) : "";
  }

  std::string training() const {
    const std::int64_t pixels = height_ * width_;
    const std::int64_t usual = pixels <= kFewPixels ? 32 : pixels <= kSomePixels ? 16 : 8;
    const std::int64_t batch = std::clamp<std::int64_t>(found_.photos / 10, 2, usual);
    const std::int64_t epochs = photo_epochs(found_.photos);
    return fmt::format(
        "train:\n"
        "  epochs: {0}\n"
        "  batch_size: {1}\n"
        "  optimizer:\n"
        "    Adam:\n"
        "      learning_rate: {{CosineDecay: {{initial_learning_rate: 1e-3, decay_steps: {0} epochs}}}}\n"
        "  loss: sparse_categorical_crossentropy\n"
        "  metrics: [accuracy, {{MeanIoU: {{num_classes: {2}}}}}]\n\n"
        "callbacks:\n"
        "  - ModelCheckpoint: {{monitor: val_mean_io_u, save_best_only: true}}\n"
        "  - EarlyStopping: {{monitor: val_mean_io_u, patience: {3}, restore_best_weights: true}}\n",
        epochs, batch, found_.classes, epochs / 3);
  }

  const DraftRequest& request_;
  const Roles roles_;
  std::shared_ptr<const data::Source> source_;
  MaskedPhotos found_;
  std::int64_t height_ = 0, width_ = 0;  ///< of the network's input
};

}  // namespace

bool has_masks(const std::string& folder) {
  return data::find_mask_folders(below(folder, roles_in(folder).train)).has_value();
}

Draft draft_masks(const DraftRequest& request) { return MasksDraft(request).take(); }

}  // namespace dptrain::init
