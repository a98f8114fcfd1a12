// init --from a folder of clips: finds classes, frames and a size, and drafts a network of 3-D convolutions.

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/sources/video.h"
#include "init/draft.h"
#include "init/networks.h"

namespace dptrain::init {
namespace {

constexpr std::int64_t kSampledClips = 20;  // all of their frames are decoded
constexpr std::int64_t kFewFrames = 8, kFrames = 16, kLargestStride = 4;
constexpr std::int64_t kSmallClips = 64, kUsualClips = 96;  // clips up to kSmallClips pixels keep their size

class ClipsDraft {
 public:
  explicit ClipsDraft(const DraftRequest& request) : request_(request), roles_(roles_in(request.path)) {
    data::VideoSpec spec;
    spec.directory.value = below(request.path, roles_.train);
    spec.on_error.skip = true;
    source_ = open_train(data::dataset_family().make(spec));
    measure();
  }

  Draft take() const {
    Draft draft;
    draft.findings.push_back(
        fmt::format("{}: {} of {}: {}", below(request_.path, roles_.train), counted(source_->size(), "clip"),
                    counted(source_->class_names().size(), "class"), some_names(source_->class_names())));
    draft.findings.push_back(fmt::format(
        "  half of them have {} frames of {} x {} pixels or more; the network gets {} "
        "frames{} of {} x {}",
        length_, height_, width_, frames_, stride_ > 1 ? fmt::format(", each {}th,", stride_) : "", size_, size_));
    draft.yaml = text();
    return draft;
  }

 private:
  void measure() {
    std::vector<std::int64_t> lengths, heights, widths;
    const std::int64_t step = std::max<std::int64_t>(1, source_->size() / kSampledClips);
    for (std::int64_t i = 0; i < source_->size(); i += step) try {
        const auto clip = source_->inspect(i);
        if (!clip) continue;
        lengths.push_back(clip->frames), heights.push_back(clip->height), widths.push_back(clip->width);
      } catch (const data::SampleError&) {  // fit skips it, too
      }
    if (lengths.empty()) throw Error(ErrorKind::kData, fmt::format("{}: no clip can be read", request_.path));
    length_ = middle_of(lengths), height_ = middle_of(heights), width_ = middle_of(widths);
    const std::int64_t larger = std::max(height_, width_);
    size_ = larger <= kSmallClips ? (larger + 7) / 8 * 8 : kUsualClips;
    frames_ = length_ >= kFrames ? kFrames : length_ >= kFewFrames ? kFewFrames : std::max<std::int64_t>(length_, 2);
    stride_ = std::clamp<std::int64_t>(length_ / frames_, 1, kLargestStride);
  }

  std::string text() const {
    const auto classes = source_->class_names().size();
    // Random crops of slightly larger frames, at another position for each clip and epoch.
    const std::int64_t whole = size_ * 9 / 8;
    const auto set = [&](const char* role, const std::string& name) {
      return fmt::format(
          "  {}:\n    Video: {{directory: {}, frames: {}, stride: {}, image_size: [{}, {}], on_error: "
          "skip}}\n",
          role, yaml_word(below(request_.reference, name)), frames_, stride_, whole, whole);
    };
    const Shape input{frames_, size_, size_, 3};
    const std::int64_t epochs = source_->size() < 1'000 ? 60 : 30;
    return fmt::format(
               "# Clips of {} classes in {}, by `dptrain init --from`: convolutions over frames and pixels, from "
               "scratch.\n"
               "# Where left and right do not matter, add `RandomFlip: horizontal` to the train transforms.\n"
               "#\n"
               "#   dptrain fit {}.yaml\n"
               "#   dptrain predict runs/{}/001 --input CLIP.mp4\n"
               "dptrain: 1\n"
               "name: {}\n"
               "seed: 0\n\n",
               classes, printable(request_.reference), request_.name, request_.name, request_.name) +
           "model:\n" + conv_block(input) + "  layers:\n    - Input: {shape: " + yaml_shape(input) + "}\n" +
           conv_stages(input, "") +
           fmt::format("    - Dropout: 0.2\n    - Dense: {{name: classes, units: {}, activation: softmax}}\n\n",
                       classes) +
           sets_of_roles(roles_, set) +
           fmt::format(
               "  transforms:                          # one draw for all frames of a clip\n"
               "    train:\n"
               "      - RandomCrop: {{height: {0}, width: {0}}}\n"
               "      - RandomBrightness: 0.1\n"
               "      - Rescaling: {{scale: 1/127.5, offset: -1}}\n"
               "    eval:\n"
               "      - CenterCrop: {{height: {0}, width: {0}}}\n"
               "      - Rescaling: {{scale: 1/127.5, offset: -1}}\n\n",
               size_) +
           fmt::format(
               "train:\n"
               "  epochs: {0}\n"
               "  batch_size: 16\n"
               "  optimizer:\n"
               "    Adam:\n"
               "      learning_rate: {{CosineDecay: {{initial_learning_rate: 2e-3, decay_steps: {0} epochs}}}}\n"
               "  loss: categorical_crossentropy\n"
               "  metrics: [accuracy]\n\n"
               "callbacks:\n"
               "  - ModelCheckpoint: {{monitor: val_accuracy, save_best_only: true}}\n"
               "  - EarlyStopping: {{monitor: val_accuracy, patience: {1}, restore_best_weights: true}}\n",
               epochs, epochs / 3);
  }

  const DraftRequest& request_;
  const Roles roles_;
  std::shared_ptr<const data::Source> source_;
  std::int64_t length_ = 0, height_ = 0, width_ = 0;  ///< medians
  std::int64_t frames_ = 0, stride_ = 1, size_ = 0;
};

}  // namespace

Draft draft_clips(const DraftRequest& request) { return ClipsDraft(request).take(); }

}  // namespace dptrain::init
