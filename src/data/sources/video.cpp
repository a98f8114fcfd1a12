// Clips as a Source: files of videos and folders of frames, in class folders or without labels. Holds names; a clip is
// read when its sample is, and of it only the frames that are wanted.

#include "data/sources/video.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/random.h"
#include "core/text.h"
#include "data/images/image_decoders.h"
#include "data/sources/class_folders.h"
#include "data/sources/hash.h"
#include "data/video/clip_file.h"
#include "data/video/clip_list.h"
#include "data/video/frame_folder.h"

namespace dptrain::data {
namespace {

class Clips final : public ClassSource {
 public:
  /// `root`: the folder of all.
  Clips(ClipList clips, ClassSamples classes, const VideoSpec& spec, const std::string& root)
      : ClassSource(std::move(classes), std::make_shared<BadSamples>(spec.on_error, clips.size(), root)),
        clips_(std::move(clips)),
        spec_(spec) {
    options_.color = spec.color_mode;
    options_.rotate = spec.exif == Exif::kRotate;
    options_.interpolation = spec.interpolation;
    if (!spec.image_size.empty()) options_.height = spec.image_size[0], options_.width = spec.image_size[1];
    set_fingerprint("clips", channels_of(spec.color_mode), clips_.hash(root));
    if (clips_.has_files()) need_clip_files();
  }

  std::int64_t size() const override { return clips_.size(); }
  Shape input_shape(int) const override {
    return options_.resizes() ? shape_of(options_.height, options_.width) : Shape();
  }
  Shape peek_shape(std::int64_t index) const override {
    if (options_.resizes()) return input_shape(0);
    const Clip& clip = clips_[index];
    try {
      const ClipInfo info = clip.frames ? peek_frame_folder(clip.path) : peek_clip_file(clip.path);
      return shape_of(info.height, info.width);
    } catch (const Error&) {  // told when the sample is read
      return {};
    }
  }

  void read(std::int64_t index, int, Array& out, const ReadHint& hint) const override {
    const auto pick = [&](std::int64_t count) { return pick_frames(spec_, count, hint.draw); };
    as_sample(index, [&](const Clip& clip) {
      if (clip.frames)
        read_frame_folder(clip.path, pick, options_, hint, out);
      else
        read_clip_file(clip.path, pick, options_, out);
    });
  }
  std::optional<ClipInfo> inspect(std::int64_t index) const override {
    ClipInfo info;
    as_sample(index, [&](const Clip& clip) {
      info = clip.frames ? check_frame_folder(clip.path) : check_clip_file(clip.path);
      pick_frames(spec_, info.frames, std::nullopt);  // may be too short
    });
    return info;
  }
  bool draws() const override { return spec_.start == ClipStart::kRandom; }
  std::string label_place(std::int64_t index, int) const override { return clips_[index].path; }
  std::string cache_key() const override {
    return fmt::format("{}, {} frames, stride {}, {}x{}, interpolation {}, start {}, short {}, {}, files {:016x}",
                       fingerprint(), spec_.frames, spec_.stride, options_.height, options_.width,
                       static_cast<int>(spec_.interpolation), static_cast<int>(spec_.start),
                       static_cast<int>(spec_.short_clips), options_.rotate ? "upright" : "as stored", clips_.stamp());
  }

 private:
  Shape shape_of(std::int64_t height, std::int64_t width) const {
    return {spec_.frames, height, width, channels_of(spec_.color_mode)};
  }
  template <class F>
  void as_sample(std::int64_t index, const F& f) const {
    const Clip& clip = clips_[index];
    try {
      f(clip);
    } catch (const ClipError& error) {
      throw SampleError({.file = clip.path, .byte = error.byte(), .words = error.words()});
    } catch (const ImageError& error) {
      throw SampleError({.file = clip.path, .byte = error.byte(), .words = error.words()});
    }
  }

  ClipList clips_;
  VideoSpec spec_;
  FrameOptions options_;
};

/// The number of frames and the size do not change on the way, so a model that wants others shows at once.
void check_model(const VideoSpec& spec, const ModelSide& model) {
  check_channels(spec.color_mode, "clips", 4, model);
  if (model.input_shapes.size() != 1 || model.input_shapes[0].rank() == 0) return;
  const Shape& wanted = model.input_shapes[0];
  if (wanted.rank() != 4)
    throw Error(ErrorKind::kUsage, fmt::format("samples are clips of frames x height x width x channels, the model's "
                                               "input is {}; give the Input a shape of four axes",
                                               wanted.str()));
  if (wanted[0] != spec.frames)
    throw Error(ErrorKind::kUsage, fmt::format("clips have {} frames, the model wants {}; write frames: {}",
                                               spec.frames, wanted[0], wanted[0]));
}

std::shared_ptr<const Source> open_video(const VideoSpec& spec, const ModelSide& model, Role) {
  const std::string& directory = spec.directory.value;
  std::vector<std::string> classes =
      class_folders(directory, spec.class_names, {.what = "clips", .example = "1.mp4, or .../cats/1/0001.jpg"});
  check_model(spec, model);
  compare_with_model(directory, classes.size(), model);
  ClipList clips;
  Strays strays;
  ClassSamples samples =
      class_samples(directory, std::move(classes), "clip", "clip", strays, [&](const std::string& folder) {
        clips.add_folder(folder, strays);
        return clips.size();
      });
  return std::make_shared<Clips>(std::move(clips), std::move(samples), spec, directory);
}

}  // namespace

std::vector<std::int64_t> pick_frames(const VideoSpec& spec, std::int64_t count, const std::optional<DrawKey>& draw) {
  const std::int64_t span = (spec.frames - 1) * spec.stride + 1, room = std::max<std::int64_t>(0, count - span);
  if (count < span && spec.short_clips == ShortClips::kFail)
    throw ClipError(fmt::format("has {} frames; {} of them, {} apart, want {}", with_commas(count), spec.frames,
                                spec.stride, with_commas(span)));
  std::int64_t first = 0;
  if (spec.start == ClipStart::kRandom && draw) {
    RandomStream stream(draw->seed, static_cast<std::uint32_t>(Purpose::kClip), draw->sample, draw->epoch);
    first = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(room) + 1));
  } else if (spec.start != ClipStart::kFirst) {
    first = room / 2;
  }
  std::vector<std::int64_t> picks(static_cast<std::size_t>(spec.frames));
  for (std::int64_t i = 0; i < spec.frames; ++i)
    picks[static_cast<std::size_t>(i)] = std::min(first + i * spec.stride, count - 1);
  return picks;
}

std::shared_ptr<const Source> open_clips(const std::vector<std::string>& paths, const VideoSpec& options) {
  ClipList clips;
  Strays strays;
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path, ignored)) throw Error(ErrorKind::kData, path + ": no such file or folder");
    const bool folder = std::filesystem::is_directory(path, ignored);
    if (!folder || is_frame_folder(path))
      clips.add_clip(path, folder);
    else
      clips.add_folder(path, strays);
  }
  strays.tell(join(paths, ", "), "clip");
  if (clips.size() == 0) throw Error(ErrorKind::kData, join(paths, ", ") + ": no clips there");
  const std::string root = paths.size() == 1 ? paths.front() : "the clips";
  return std::make_shared<Clips>(std::move(clips), ClassSamples{}, options, root);
}

namespace {

std::string check_size(const std::vector<std::int64_t>& size) {
  return size.empty() || size.size() == 2 ? "" : "must be [height, width]";
}

const RegisteredDataset kVideoSet = dataset_def<VideoSpec>(
    config::Schema::of<VideoSpec>("Video")
        .positional(key("directory", &VideoSpec::directory).required().doc("one sub-folder of clips per class"))
        .key(key("frames", &VideoSpec::frames).at_least(1).at_most(65536).doc("of a sample"))
        .key(key("stride", &VideoSpec::stride).at_least(1).at_most(65536).doc("from one frame to the next"))
        .key(key("image_size", &VideoSpec::image_size)
                 .at_least(1)
                 .at_most(65536)
                 .check(check_size)
                 .doc("[height, width] to which frames are resized as they are decoded; absent: as they are"))
        .key(key("interpolation", &VideoSpec::interpolation).doc("of image_size"))
        .key(key("color_mode", &VideoSpec::color_mode).doc("1, 3 or 4 channels"))
        .key(key("exif", &VideoSpec::exif).doc("turn frames upright as the file says, or not"))
        .key(key("start", &VideoSpec::start).doc("of training clips: random draws anew in every epoch"))
        .key(key("short_clips", &VideoSpec::short_clips)
                 .doc("of clips with too few frames: repeat the last one, or fail"))
        .key(key("on_error", &VideoSpec::on_error).doc("fail, skip, or {skip: LIMIT}: a number or part of clips")),
    open_video, [](const VideoSpec& spec) { return std::vector{spec.directory}; });

}  // namespace

}  // namespace dptrain::data
