#include "data/encoders/files.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "data/encoders/encoder_def.h"
#include "data/images/image_decoders.h"

namespace dptrain::data {
namespace {

class ImageColumn final : public FileEncoder {
 public:
  explicit ImageColumn(const ImageReading& reading) : reading_(reading) {}

  const char* what() const override { return "an image"; }
  Shape extents() const override { return {0, 0, channels_of(reading_.color_mode)}; }
  Shape peek(const std::string& path) const override { return peek_image_file(path, reading_); }
  void read(const std::string& path, const ReadHint& hint, Array& out) const override {
    read_image_file(path, reading_, hint, out);
  }
  std::string describe() const override {
    return fmt::format("images of {} channels, {}", channels_of(reading_.color_mode),
                       reading_.exif == Exif::kRotate ? "upright" : "as stored");
  }

 private:
  ImageReading reading_;
};

const RegisteredEncoder kImageColumn = encoder_def<ImageSpec, ImageColumn>(
    table::ColumnType::kText,
    config::Schema::of<ImageSpec>("Image")
        .doc("path -> image, read as by the data set `ImageFolder`; the column is an input by itself")
        .key(
            key("color_mode", static_cast<ColorMode ImageSpec::*>(&ImageReading::color_mode)).doc("1, 3 or 4 channels"))
        .key(key("exif", static_cast<Exif ImageSpec::*>(&ImageReading::exif))
                 .doc("rotate: turn photos upright by their EXIF orientation; ignore: as stored")));

class MaskColumn final : public FileEncoder {
 public:
  explicit MaskColumn(const MaskSpec& spec) : reading_(mask_reading(spec, spec.ignore_class)) {}

  const char* what() const override { return "a mask"; }
  Shape extents() const override { return {0, 0, 1}; }
  Shape peek(const std::string& path) const override { return peek_mask(path); }
  void read(const std::string& path, const ReadHint&, Array& out) const override { read_mask(path, reading_, out); }
  std::string describe() const override {
    return reading_.colors.empty() ? "masks of class numbers"
                                   : fmt::format("masks of {} colors", reading_.colors.size());
  }

 private:
  MaskReading reading_;
};

const RegisteredEncoder kMaskColumn = encoder_def<MaskSpec, MaskColumn>(
    table::ColumnType::kText,
    with_mask_keys<MaskSpec>(config::Schema::of<MaskSpec>("Mask").doc(
        "path -> class of each pixel, read as by the data set `ImageMasks`; the column is a label by itself")));

class VideoColumn final : public FileEncoder {
 public:
  explicit VideoColumn(const ClipReading& reading) : reading_(reading) {}

  const char* what() const override { return "a clip"; }
  Shape extents() const override { return reading_.extents(); }
  Shape peek(const std::string& path) const override { return peek_clip(clip_at(path), reading_); }
  void read(const std::string& path, const ReadHint& hint, Array& out) const override {
    read_clip(clip_at(path), reading_, hint, out);
  }
  std::optional<ClipInfo> inspect(const std::string& path) const override {
    return inspect_clip(clip_at(path), reading_);
  }
  bool draws() const override { return reading_.start == ClipStart::kRandom; }
  std::string describe() const override {
    return fmt::format("clips of {} frames, {} apart, {} channels", reading_.frames, reading_.stride,
                       reading_.extents().back());
  }

 private:
  static Clip clip_at(const std::string& path) {
    std::error_code ignored;
    return {path, std::filesystem::is_directory(path, ignored)};
  }

  ClipReading reading_;
};

const RegisteredEncoder kVideoColumn = encoder_def<ColumnVideoSpec, VideoColumn>(
    table::ColumnType::kText, with_clip_keys<ColumnVideoSpec>(config::Schema::of<ColumnVideoSpec>("Video").doc(
                                  "path -> clip, read as by the data set `Video`; the column is an input by itself")));

}  // namespace
}  // namespace dptrain::data
