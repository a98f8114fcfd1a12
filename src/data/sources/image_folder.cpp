// Image files as a Source, in class folders or without labels. Stores file names; read() opens the file.

#include "data/sources/image_folder.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/images/image_decoders.h"
#include "data/sources/class_folders.h"
#include "data/sources/file_list.h"
#include "data/sources/hash.h"
#include "data/sources/image_masks.h"
#include "data/video/clip_list.h"

namespace dptrain::data {
namespace {

/// Number of evenly spread files whose size and ends enter the fingerprint, in addition to the names of all.
constexpr std::int64_t kHashedFiles = 64;

std::uint64_t hash_of_files(const FileList& files) {
  std::uint64_t hash = files.hash(kHashStart);
  const std::int64_t hashed = std::min(files.size(), kHashedFiles);
  for (std::int64_t i = 0; i < hashed; ++i) hash = hash_ends(files.path(i * files.size() / hashed), hash);
  return hash;
}

class ImageFiles final : public ClassSource {
 public:
  ImageFiles(FileList files, ClassSamples classes, const ImageFolderSpec& spec, const std::string& place)
      : ClassSource(std::move(classes), std::make_shared<BadSamples>(spec.on_error, files.size(), place)),
        files_(std::move(files)),
        reading_{.color_mode = spec.color_mode, .exif = spec.exif} {
    set_fingerprint("images", channels_of(spec.color_mode), hash_of_files(files_));
  }

  std::int64_t size() const override { return files_.size(); }
  Shape input_shape(int) const override { return {}; }
  Shape peek_shape(std::int64_t index, int) const override { return peek_image_file(files_.path(index), reading_); }
  void read(std::int64_t index, int, Array& out, const ReadHint& hint) const override {
    read_image_file(files_.path(index), reading_, hint, out);
  }
  std::string label_place(std::int64_t index, int) const override { return files_.path(index); }
  std::string cache_key() const override {
    std::uint64_t hash = files_.hash(kHashStart);
    for (std::int64_t i = 0; i < files_.size(); ++i) hash = hash_stamp(files_.path(i), hash);
    return fmt::format("{}, {}, files {:016x}", fingerprint(), reading_.exif == Exif::kRotate ? "upright" : "as stored",
                       hash);
  }

 private:
  FileList files_;
  ImageReading reading_;
};

std::shared_ptr<const Source> open_image_folder(const ImageFolderSpec& spec, const ModelSide& model, Role) {
  const std::string& directory = spec.directory.value;
  std::vector<std::string> classes =
      class_folders(directory, spec.class_names.first(), {.what = "images", .example = "1.jpg"});
  check_channels(spec.color_mode, "images", 3, model);
  compare_with_model(directory, classes.size(), model);
  FileList files;
  IgnoredFiles ignored_files;
  ClassSamples samples =
      class_samples(directory, std::move(classes), "file", "image", ignored_files, [&](const std::string& folder) {
        files.add_folder(folder, [&](const char* file) { return ignored_files.accepts(file); });
        return files.size();
      });
  return std::make_shared<ImageFiles>(std::move(files), std::move(samples), spec, directory);
}

}  // namespace

std::shared_ptr<const Source> open_images(const std::vector<std::string>& paths, const ImageFolderSpec& options) {
  FileList files;
  IgnoredFiles ignored_files;
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (!std::filesystem::exists(path, ignored)) throw Error(ErrorKind::kData, path + ": no such file or folder");
    if (std::filesystem::is_directory(path, ignored))
      files.add_folder(path, [&](const char* file) { return ignored_files.accepts(file); });
    else
      files.add_file(path);
  }
  ignored_files.log_warning(join(paths, ", "), "image");
  if (files.size() == 0) throw Error(ErrorKind::kData, join(paths, ", ") + ": no files there");
  return std::make_shared<ImageFiles>(std::move(files), ClassSamples{}, options,
                                      paths.size() == 1 ? paths.front() : "the files");
}

namespace {

/// Without a spec, images have the channels of the model's input.
PredictSource predict_images(const ImageFolderSpec* spec, const PredictFiles& files, const ModelSide& model) {
  ImageFolderSpec options = spec != nullptr ? *spec : ImageFolderSpec{};
  if (spec == nullptr) options.color_mode = color_of_input(model);
  options.on_error = files.policy(options.on_error);
  return whole_source(open_images(files.paths, options), "file");
}

/// Opens any folder that contains neither clips nor masks.
std::shared_ptr<const Source> open_folder(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored) || has_clip_files(path)) return nullptr;
  if (find_mask_folders(path)) return nullptr;
  return open_folder_as<ImageFolderSpec>(path, open_images);
}

const RegisteredDataset kImageFolderSet =
    dataset_def<ImageFolderSpec>(
        config::Schema::of<ImageFolderSpec>("ImageFolder")
            .doc("image files, one sub-folder per class")
            .positional(key("directory", &ImageFolderSpec::directory).required().doc("one sub-folder per class"))
            .key(key("color_mode", &ImageFolderSpec::color_mode).doc("1, 3 or 4 channels"))
            .key(key("exif", &ImageFolderSpec::exif)
                     .doc("rotate: turn photos upright by their EXIF orientation; ignore: as stored"))
            .key(key("on_error", &ImageFolderSpec::on_error)
                     .doc("files that cannot be read: fail, skip, or skip at most a number or a share of the files, as "
                          "{skip: 10} or {skip: 0.1%}")),
        open_image_folder, [](const ImageFolderSpec& spec) { return std::vector{spec.directory}; })
        .open_path(open_folder)
        .predict(predict_images,
                 {.fits = [](const ModelSide& model) { return model.input_shapes.front().rank() != 4; }});

}  // namespace

}  // namespace dptrain::data
