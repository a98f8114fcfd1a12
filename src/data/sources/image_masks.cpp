// Pictures and their masks as a Source. A mask has the path of its picture apart from the suffix. Stores file names;
// read() and read_label_map() open the files.

#include "data/sources/image_masks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/images/image_decoders.h"
#include "data/images/image_info.h"
#include "data/sources/class_folders.h"
#include "data/sources/file_list.h"
#include "data/sources/hash.h"
#include "data/sources/image_folder.h"

namespace dptrain::data {
namespace {

/// Number of evenly spread samples whose files' sizes and ends enter the fingerprint, in addition to all names.
constexpr std::int64_t kHashedSamples = 64;
constexpr std::size_t kListedFiles = 20;

/// "cats/1" of the file "photos/cats/1.jpg" below "photos".
std::string stem_below(const std::string& folder, const std::string& path) {
  std::string_view rest = std::string_view(path).substr(folder.size());
  while (rest.starts_with('/')) rest.remove_prefix(1);
  const std::size_t dot = rest.rfind('.'), slash = rest.rfind('/');
  const bool has_suffix = dot != std::string_view::npos && (slash == std::string_view::npos || dot > slash + 1);
  return std::string(has_suffix ? rest.substr(0, dot) : rest);
}

/// Collects file names for a message.
class NameList {
 public:
  void add(const std::string& name) {
    if (++count_ <= kListedFiles) names_.push_back(printable(name));
  }
  std::size_t count() const { return count_; }
  std::string text() const {
    const std::string more = count_ > kListedFiles ? fmt::format("\n  and {} more", count_ - kListedFiles) : "";
    return "\n  " + join(names_, "\n  ") + more;
  }

 private:
  std::vector<std::string> names_;
  std::size_t count_ = 0;
};

/// The files below a folder, by their stems.
struct StemFiles {
  std::string folder;
  FileList files{};
  std::unordered_map<std::string, std::int64_t> indices{};

  IgnoredFiles ignored_files{};

  /// Throws Error{kData} for equal stems and for a folder without files. `kind`: "picture".
  StemFiles(std::string from, const char* kind) : folder(std::move(from)) {
    files.add_folder(folder, [&](const char* name) { return ignored_files.accepts(name); });
    if (files.size() == 0) throw Error(ErrorKind::kData, fmt::format("{}: no files; expected {}s", folder, kind));
    NameList equal;
    for (std::int64_t i = 0; i < files.size(); ++i) {
      const std::string path = files.path(i);
      const auto [other, is_new] = indices.emplace(stem_below(folder, path), i);
      if (!is_new) equal.add(fmt::format("{} and {}", files.path(other->second), path));
    }
    if (equal.count() > 0)
      throw Error(
          ErrorKind::kData,
          fmt::format("{}: {} differ only in the suffix, so that the mask of a picture is not determined; keep "
                      "one of each{}",
                      folder, equal.count() == 1 ? "two files" : fmt::format("{} pairs of files", equal.count()),
                      equal.text()));
  }
};

/// Indices of the pictures' masks. Throws Error{kData} that lists files without a partner.
std::vector<std::int64_t> match_masks(const StemFiles& images, const StemFiles& masks) {
  std::vector<std::int64_t> mask_of;
  NameList without_mask, without_image;
  std::vector<bool> used(static_cast<std::size_t>(masks.files.size()), false);
  for (std::int64_t i = 0; i < images.files.size(); ++i) {
    const std::string path = images.files.path(i);
    const auto found = masks.indices.find(stem_below(images.folder, path));
    if (found == masks.indices.end()) {
      without_mask.add(path);
      continue;
    }
    mask_of.push_back(found->second);
    used[static_cast<std::size_t>(found->second)] = true;
  }
  for (std::size_t m = 0; m < used.size(); ++m)
    if (!used[m]) without_image.add(masks.files.path(static_cast<std::int64_t>(m)));
  if (without_mask.count() + without_image.count() == 0) return mask_of;
  std::string message;
  if (without_mask.count() > 0)
    message = fmt::format("{}: {} of {} pictures have no mask below {}; expected the same path with the suffix .png{}",
                          images.folder, without_mask.count(), images.files.size(), masks.folder, without_mask.text());
  if (without_image.count() > 0)
    message += fmt::format("{}{}: {} of {} masks have no picture below {}{}", message.empty() ? "" : "\n", masks.folder,
                           without_image.count(), masks.files.size(), images.folder, without_image.text());
  throw Error(ErrorKind::kData, message);
}

class ImageMasks final : public Source {
 public:
  ImageMasks(FileList images, FileList masks, std::vector<std::int64_t> mask_of, const ImageMasksSpec& spec)
      : images_(std::move(images)),
        masks_(std::move(masks)),
        mask_of_(std::move(mask_of)),
        reading_{.color_mode = spec.color_mode, .exif = spec.exif},
        mask_reading_(data::mask_reading(spec, spec.ignore_class)),
        class_names_(spec.classes.entries.empty() ? spec.class_names.first() : spec.classes.names()),
        bad_(std::make_shared<BadSamples>(spec.on_error, images_.size(), spec.images.value)) {
    set_fingerprint();
  }

  std::int64_t size() const override { return images_.size(); }
  int inputs() const override { return 1; }
  std::string input_name(int) const override { return ""; }
  Shape input_shape(int) const override { return {}; }
  Shape peek_shape(std::int64_t index, int) const override { return peek_image_file(images_.path(index), reading_); }
  void read(std::int64_t index, int, Array& out, const ReadHint& hint) const override {
    read_image_file(images_.path(index), reading_, hint, out);
  }
  std::shared_ptr<BadSamples> bad_samples() const override { return bad_; }

  LabelType label_type(int) const override { return LabelType::kMap; }
  std::int64_t label_width(int) const override { return 0; }
  std::int64_t label_class(std::int64_t, int) const override { fail_label(); }
  void label_values(std::int64_t, float*, int) const override { fail_label(); }
  void read_label_map(std::int64_t index, Array& out, int) const override {
    read_mask(mask_path(index), mask_reading_, out);
  }
  Shape peek_label_map(std::int64_t index, int) const override { return peek_mask(mask_path(index)); }
  std::string label_map_place(std::int64_t index, int) const override { return mask_path(index); }
  /// The picture.
  std::string label_place(std::int64_t index, int) const override { return images_.path(index); }

  std::vector<std::string> class_names(int) const override { return class_names_; }
  std::string fingerprint() const override { return fingerprint_; }
  std::string cache_key() const override {
    std::uint64_t hash = masks_.hash(images_.hash(kHashStart));
    for (std::int64_t i = 0; i < size(); ++i) hash = hash_stamp(mask_path(i), hash_stamp(images_.path(i), hash));
    return fmt::format("{}, {}, files {:016x}", fingerprint_, reading_.exif == Exif::kRotate ? "upright" : "as stored",
                       hash);
  }

 private:
  std::string mask_path(std::int64_t index) const { return masks_.path(mask_of_[static_cast<std::size_t>(index)]); }
  [[noreturn]] static void fail_label() {
    throw Error(ErrorKind::kInternal, "a mask is neither one class nor a row of values");
  }

  void set_fingerprint() {
    std::uint64_t hash = masks_.hash(images_.hash(kHashStart));
    const std::int64_t hashed = std::min(size(), kHashedSamples);
    for (std::int64_t i = 0; i < hashed; ++i) {
      const std::int64_t index = i * size() / hashed;
      hash = hash_ends(mask_path(index), hash_ends(images_.path(index), hash));
    }
    for (const auto* list : {&mask_reading_.colors, &mask_reading_.ignored})
      for (const Rgb& color : *list) hash = hash_bytes(color.data(), color.size(), hash);
    hash = hash_number(mask_reading_.ignore_class, hash);
    fingerprint_ = fmt::format("masks:{}:{}:{}:{:016x}", size(), mask_reading_.colors.size(),
                               channels_of(reading_.color_mode), hash);
  }

  FileList images_, masks_;
  std::vector<std::int64_t> mask_of_;  ///< index in masks_ of each picture's mask
  ImageReading reading_;
  MaskReading mask_reading_;
  std::vector<std::string> class_names_;
  std::shared_ptr<BadSamples> bad_;
  std::string fingerprint_;
};

/// Throws Error{kUsage} for more classes than the model has outputs for each pixel. Fewer are a warning.
void compare_classes(const ImageMasksSpec& spec, const ModelSide& model) {
  const auto classes = static_cast<std::int64_t>(spec.classes.entries.size());
  if (classes == 0 || model.outputs.size() != 1 || model.outputs.front().rank() != 3) return;
  const std::int64_t outputs = model.outputs.front().back();
  if (outputs == 1 || classes == outputs) return;
  const std::string message = fmt::format("classes lists {}, but the model has {} for each pixel",
                                          counted(classes, "color"), counted(outputs, "output"));
  if (classes > outputs) throw Error(ErrorKind::kUsage, message);
  log::warn(message);
}

std::string check_image_masks(const ImageMasksSpec& spec) {
  if (!spec.classes.entries.empty() && !spec.class_names.empty())
    return "classes has the names of the classes; remove class_names";
  return check_mask_colors(spec, spec.ignore_class);
}

std::shared_ptr<const Source> open_image_masks(const ImageMasksSpec& spec, const ModelSide& model, Role) {
  check_channels(spec.color_mode, "images", 3, model);
  compare_classes(spec, model);
  StemFiles images(spec.images.value, "picture"), masks(spec.masks.value, "mask");
  images.ignored_files.log_warning(images.folder, "image");
  masks.ignored_files.log_warning(masks.folder, "image");
  std::vector<std::int64_t> mask_of = match_masks(images, masks);
  return std::make_shared<ImageMasks>(std::move(images.files), std::move(masks.files), std::move(mask_of), spec);
}

/// Reads pictures without masks.
PredictSource predict_image_masks(const ImageMasksSpec* spec, const PredictFiles& files, const ModelSide& model) {
  if (kind_of_file(files.paths.front()).use == FileKind::Use::kArrays) return open_by_format(files, model);
  ImageFolderSpec options;
  options.color_mode = spec->color_mode;
  options.exif = spec->exif;
  options.on_error = files.policy(spec->on_error);
  return whole_source(open_images(files.paths, options), "file");
}

/// Whether all files are PNG files, and some of them indexed or gray with at most 8 bits.
bool has_class_numbers(const StemFiles& found) {
  constexpr std::int64_t kCheckedFiles = 16;
  const std::int64_t size = found.files.size(), checked = std::min(size, kCheckedFiles);
  for (std::int64_t i = 0; i < size; ++i)
    if (format_of_name(found.files.path(i)) != "png") return false;
  for (std::int64_t i = 0; i < checked; ++i) {
    const std::string path = found.files.path(i * size / checked);
    std::array<std::uint8_t, 33> header{};  // signature and IHDR
    std::ifstream file(path, std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(header.data()), header.size())) return false;
    try {
      const ImageInfo info = image_info(header);
      if (info.bits > 8 || (info.color_mode != "gray" && info.color_mode != "palette")) return false;
    } catch (const ImageError&) {
      return false;
    }
  }
  return true;
}

bool has_name_of_masks(const std::string& folder) {
  static constexpr std::array kNames{"mask", "label", "annotation", "segmentation", "gt", "ground"};
  std::string name = folder;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::any_of(kNames, [&](const char* begin) { return name.starts_with(begin); });
}

std::shared_ptr<const Source> open_mask_folders(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return nullptr;
  const std::optional<MaskFolders> folders = find_mask_folders(path);
  if (!folders) return nullptr;
  ImageMasksSpec spec;
  spec.images.value = folders->images;
  spec.masks.value = folders->masks;
  spec.on_error.skip = true;
  return open_sources({.train = config::Of<dataset_family>(spec), .validation = {}, .test = {}}, {}, 0).train;
}

const RegisteredDataset kImageMasksSet =
    dataset_def<ImageMasksSpec>(
        with_mask_keys<ImageMasksSpec>(
            config::Schema::of<ImageMasksSpec>("ImageMasks")
                .doc("pictures and masks: PNG files with the class of each pixel")
                .key(key("images", &ImageMasksSpec::images).required().doc("folder of pictures, with any sub-folders"))
                .key(key("masks", &ImageMasksSpec::masks)
                         .required()
                         .doc("folder of masks; a mask has the path of its picture, with the suffix .png"))
                .key(key("color_mode", &ImageMasksSpec::color_mode).doc("pictures: 1, 3 or 4 channels"))
                .key(key("exif", &ImageMasksSpec::exif)
                         .doc("rotate: turn photos upright by their EXIF orientation, as their masks must be; ignore: "
                              "as stored"))
                .key(key("on_error", &ImageMasksSpec::on_error)
                         .doc("samples whose picture or mask cannot be read: fail, skip, or skip at most a number or a "
                              "share, as {skip: 10} or {skip: 0.1%}")))
            .rule<ImageMasksSpec>(check_image_masks),
        open_image_masks,
        [](const ImageMasksSpec& spec) {
          return std::vector{spec.images, spec.masks};
        })
        .open_path(open_mask_folders)
        .predict(predict_image_masks);

}  // namespace

std::optional<MaskFolders> find_mask_folders(const std::string& folder) {
  std::int64_t files = 0;
  const std::vector<std::string> names = sub_folders(folder, files);
  if (names.size() != 2 || files > 0) return std::nullopt;
  const auto path = [&](const std::string& name) { return (std::filesystem::path(folder) / name).string(); };
  try {
    const StemFiles first(path(names[0]), "file"), second(path(names[1]), "file");
    if (first.indices.size() != second.indices.size() ||
        !std::ranges::all_of(first.indices, [&](const auto& one) { return second.indices.contains(one.first); }))
      return std::nullopt;
    const bool first_fits = has_class_numbers(first), second_fits = has_class_numbers(second);
    const bool swapped = first_fits && (!second_fits || has_name_of_masks(names[0]));
    if (!swapped && !(second_fits && (!first_fits || has_name_of_masks(names[1])))) return std::nullopt;
    return swapped ? MaskFolders{second.folder, first.folder} : MaskFolders{first.folder, second.folder};
  } catch (const Error&) {  // the data set of the folder reports the error
    return std::nullopt;
  }
}

}  // namespace dptrain::data
