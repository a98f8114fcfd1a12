// Clips as a Source: video files and folders of frames, in class folders or without labels. Stores paths; read()
// decodes only the frames that it returns.

#include "data/sources/video.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/images/image_decoders.h"
#include "data/sources/class_folders.h"
#include "data/sources/hash.h"
#include "data/video/clip.h"
#include "data/video/clip_list.h"

namespace dptrain::data {
namespace {

class Clips final : public ClassSource {
 public:
  /// `root`: common folder, for the fingerprint and messages.
  Clips(ClipList clips, ClassSamples classes, const VideoSpec& spec, const std::string& root)
      : ClassSource(std::move(classes), std::make_shared<BadSamples>(spec.on_error, clips.size(), root)),
        clips_(std::move(clips)),
        spec_(spec) {
    set_fingerprint("clips", channels_of(spec.color_mode), clips_.hash(root));
    if (clips_.has_files()) require_clip_files();
  }

  std::int64_t size() const override { return clips_.size(); }
  Shape input_shape(int) const override { return spec_.image_size.empty() ? Shape() : spec_.extents(); }
  Shape peek_shape(std::int64_t index, int) const override { return peek_clip(clips_[index], spec_); }
  void read(std::int64_t index, int, Array& out, const ReadHint& hint) const override {
    read_clip(clips_[index], spec_, hint, out);
  }
  std::optional<ClipInfo> inspect(std::int64_t index) const override { return inspect_clip(clips_[index], spec_); }
  bool draws() const override { return spec_.start == ClipStart::kRandom; }
  std::string label_place(std::int64_t index, int) const override { return clips_[index].path; }
  std::string cache_key() const override {
    return fmt::format("{}, {} frames, stride {}, {}x{}, interpolation {}, start {}, short {}, {}, files {:016x}",
                       fingerprint(), spec_.frames, spec_.stride, spec_.extents()[1], spec_.extents()[2],
                       static_cast<int>(spec_.interpolation), static_cast<int>(spec_.start),
                       static_cast<int>(spec_.short_clips), spec_.exif == Exif::kRotate ? "upright" : "as stored",
                       clips_.stamp());
  }

 private:
  ClipList clips_;
  VideoSpec spec_;
};

/// Throws Error{kUsage} if the model requires other frames or channels, which no transform changes.
void check_model(const VideoSpec& spec, const ModelSide& model) {
  check_channels(spec.color_mode, "clips", 4, model);
  if (model.input_shapes.size() != 1 || model.input_shapes[0].rank() == 0) return;
  const Shape& wanted = model.input_shapes[0];
  if (wanted.rank() != 4)
    throw Error(ErrorKind::kUsage, fmt::format("samples are clips of frames x height x width x channels, the model's "
                                               "input is {}; give the Input a shape of four axes",
                                               wanted.str()));
  if (wanted[0] != spec.frames)
    throw Error(ErrorKind::kUsage, fmt::format("clips have {}, the model expects {}; write frames: {}",
                                               counted(spec.frames, "frame"), wanted[0], wanted[0]));
}

std::shared_ptr<const Source> open_video(const VideoSpec& spec, const ModelSide& model, Role) {
  const std::string& directory = spec.directory.value;
  std::vector<std::string> classes =
      class_folders(directory, spec.class_names.first(), {.what = "clips", .example = "1.mp4, or .../cats/1/0001.jpg"});
  check_model(spec, model);
  compare_with_model(directory, classes.size(), model);
  ClipList clips;
  IgnoredFiles ignored_files;
  ClassSamples samples =
      class_samples(directory, std::move(classes), "clip", "clip", ignored_files, [&](const std::string& folder) {
        clips.add_folder(folder, ignored_files);
        return clips.size();
      });
  return std::make_shared<Clips>(std::move(clips), std::move(samples), spec, directory);
}

}  // namespace

std::shared_ptr<const Source> open_clips(const std::vector<std::string>& paths, const VideoSpec& options) {
  ClipList clips;
  IgnoredFiles ignored_files;
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path, ignored)) throw Error(ErrorKind::kData, path + ": no such file or folder");
    const bool folder = std::filesystem::is_directory(path, ignored);
    if (!folder || is_frame_folder(path))
      clips.add_clip(path, folder);
    else
      clips.add_folder(path, ignored_files);
  }
  ignored_files.log_warning(join(paths, ", "), "clip");
  if (clips.size() == 0) throw Error(ErrorKind::kData, join(paths, ", ") + ": no clips found");
  const std::string root = paths.size() == 1 ? paths.front() : "the clips";
  return std::make_shared<Clips>(std::move(clips), ClassSamples{}, options, root);
}

namespace {

/// Without a spec, clips have the frames, size and channels of the model's input.
PredictSource predict_video(const VideoSpec* spec, const PredictFiles& files, const ModelSide& model) {
  VideoSpec options;
  if (spec != nullptr) {
    options = *spec;
  } else {
    const Shape& input = model.input_shapes.front();
    options.frames = input[0];
    options.image_size = {input[1], input[2]};
    options.color_mode = color_of_input(model);
  }
  options.on_error = files.policy(options.on_error);
  return whole_source(open_clips(files.paths, options), "file");
}

std::shared_ptr<const Source> open_clip_folder(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored) || !has_clip_files(path)) return nullptr;
  return open_folder_as<VideoSpec>(path, open_clips);
}

const RegisteredDataset kVideoSet =
    dataset_def<VideoSpec>(
        with_clip_keys<VideoSpec>(
            config::Schema::of<VideoSpec>("Video")
                .doc("clips, one sub-folder per class; a sample is [frames, height, width, channels]")
                .positional(key("directory", &VideoSpec::directory)
                                .required()
                                .doc("one sub-folder of clips per class: files, or folders of frames")))
            .key(key("on_error", &VideoSpec::on_error)
                     .doc("clips that cannot be read: fail, skip, or skip at most a number or a share of the clips, as "
                          "{skip: 10} or {skip: 0.1%}")),
        open_video, [](const VideoSpec& spec) { return std::vector{spec.directory}; })
        .open_path(open_clip_folder)
        .predict(predict_video,
                 {.fits = [](const ModelSide& model) { return model.input_shapes.front().rank() == 4; }});

}  // namespace

}  // namespace dptrain::data
