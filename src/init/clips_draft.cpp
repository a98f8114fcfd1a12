// init --from a folder of clips: finds classes, frames and a size, and drafts a network of 3-D convolutions.

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
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
  explicit ClipsDraft(const DraftRequest& request)
      : request_(request), roles_(roles_in(request.path)), source_(open_folder<data::VideoSpec>(request, roles_)) {
    measure();
  }

  Draft take() const {
    Draft draft;
    draft.findings.push_back(found_classes(below(request_.path, roles_.train), *source_, "clip"));
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
    return head_of(request_.name,
                   fmt::format("# Clips of {} classes in {}, by `dptrain init --from`: convolutions over frames and "
                               "pixels, from scratch.\n"
                               "# Where left and right do not matter, add `RandomFlip: horizontal` to the train "
                               "transforms.\n",
                               classes, printable(request_.reference)),
                   "#   dptrain fit {0}.yaml\n#   dptrain predict runs/{0}/001 --input CLIP.mp4\n") +
           conv_model({frames_, size_, size_, 3}) +
           fmt::format("    - Dense: {{name: classes, units: {}, activation: softmax}}\n\n", classes) +
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
           cosine_training(source_->size() < 1'000 ? 60 : 30, 16);
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
