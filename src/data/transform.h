#pragma once

// Transforms convert a source's array to the model's input. Random ones draw from Philox keyed by (seed, transform,
// epoch, sample), so results do not depend on batches, threads or replicas. A Pipeline is immutable; any thread. The
// frames of a clip [frames, H, W, C] are transformed like images, all with the same draws.
//
//   const Pipeline pipeline(transforms, /*evaluation=*/false);
//   Pipeline::Scratch scratch;
//   pipeline.write(view_of(array), {.seed = 1, .sample = 7, .epoch = 0}, scratch, shape, out);

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/typed.h"
#include "core/error.h"
#include "core/shape.h"
#include "data/images/pixel_finish.h"
#include "data/source.h"
#include "formats/preparation.h"
#include "kernels/pixel_program.h"

namespace dptrain::data {

class Mixing;

config::Family& transform_family();

/// One transform with its arguments. Immutable. `index`: position in the pipeline, part of the key of the draws.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual bool random() const { return false; }
  /// Output shape for an input shape (rank 0: unknown). Throws Error{kUsage}.
  virtual Shape output(const Shape& input) const = 0;
  /// Writes the result to `out` and reuses its memory. `in`, u8 or f32, must not overlap it.
  virtual void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const = 0;
  /// Writes the result with `finish` applied to `out`, floats of shape output(). Overrides save a pass over the pixels.
  /// `spare`: scratch.
  virtual void write(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, Array& spare,
                     float* out) const;
  /// The map of channels, if the transform does nothing else. The previous transform or the copy to the batch applies
  /// it.
  virtual std::optional<ChannelMap> channel_map() const { return std::nullopt; }
  /// How the transform mirrors the image, if it does nothing else.
  virtual std::optional<Mirror> mirror(const DrawKey& /*key*/, std::uint32_t /*index*/) const { return std::nullopt; }
  /// Whether the result has the same size for all inputs.
  virtual bool fixes_size() const { return false; }
  /// Whether the pixels of the result come from other positions of the image, so that apply_to_map() applies to labels.
  virtual bool moves_pixels() const { return false; }
  /// Moves the labels of pixels, u8 or f32 [H, W, 1], as apply() moves the pixels with the same key. Uses the nearest
  /// neighbor, and `fill` where apply() sets a constant outside of the image. Only if moves_pixels().
  virtual void apply_to_map(const ImageView& in, float fill, Array& out, const DrawKey& key, std::uint32_t index) const;
  /// The window of an image of this shape that becomes the whole result, which may exceed the image. Only of transforms
  /// that are not random.
  virtual Window window(const Shape& image) const { return {0, 0, image[0], image[1]}; }
  /// Whether the arguments suit bytes 0..255.
  virtual bool expects_pixels() const { return false; }
  /// Sets `op` to this transform for a device's program; false if it has no such form. The sizes of `op`, before and
  /// after, are initially those of the input.
  virtual bool write_op(std::int32_t /*channels*/, kernels::PixelOp& /*op*/) const { return false; }
  /// The transform in exported models (formats/preparation.h), unless it has a channel_map().
  virtual std::optional<formats::ImageStep> image_step() const { return std::nullopt; }
  /// `this` if the transform mixes samples, else null.
  virtual const Mixing* mixing() const { return nullptr; }
  /// Minimum size at which images may be decoded (Resizing's scaled_decode).
  virtual ReadHint hint() const { return {}; }
  /// The pixels that apply() and write() read of an image of this shape.
  virtual Window part(const Shape& image, const DrawKey&, std::uint32_t /*index*/) const {
    return {0, 0, image[0], image[1]};
  }
};
/// A scale of at most this, or a wider range of values, implies bytes 0..255.
inline constexpr double kLargestPixelScale = 1.0 / 32, kSmallestPixelRange = 128;

/// Creates a transform of transform_family().
std::unique_ptr<Transform> make_transform(const config::Typed& spec);
/// Whether a transform expects bytes 0..255. Synthetic then generates them (ModelSide::pixels).
bool expect_pixels(const std::vector<config::Typed>& transforms);

class Pipeline {
 public:
  /// Buffers of one thread, reused between samples.
  struct Scratch {
    Array even, odd, frame;
  };

  Pipeline() = default;
  /// Throws Error{kUsage} at the transform's mark for a random transform in evaluation.
  Pipeline(const std::vector<config::Typed>& transforms, bool evaluation);

  /// Shape of the result; rank 0: unknown. Throws Error{kUsage} at the mark of a transform that does not fit the shape.
  Shape output(const Shape& input) const;
  /// Runs all transforms and writes the result to `out`. Throws Error{kData} if its shape is not `expected`. Trailing
  /// transforms that only map channels or mirror are merged into the one before them.
  void write(const ImageView& in, const DrawKey& key, Scratch& scratch, const Shape& expected, float* out) const;
  /// As write(), in place: `image` becomes f32.
  void apply(Array& image, Array& spare, const DrawKey& key) const;
  /// Runs all transforms in place, without a final conversion: u8 stays u8 unless a transform produces floats.
  void run(Array& image, Array& spare, const DrawKey& key) const;
  /// As above, from `in` to `out`.
  void run(const ImageView& in, Scratch& scratch, Array& out, const DrawKey& key) const;

  /// Applies the transforms that move pixels to the labels of an image's pixels, u8 or f32 [H, W, 1], with the draws of
  /// the image. Outside of the image the label is `fill`.
  void run_on_map(const ImageView& in, float fill, Scratch& scratch, Array& out, const DrawKey& key) const;
  /// Part of an image that the result covers, as fractions of the image: {top, left, height, width}. Only of pipelines
  /// that are not random.
  std::array<double, 4> covered(const Shape& image) const;

  /// Splits the pipeline before each transform that mixes samples. Draws are unchanged.
  struct Part;
  std::vector<Part> parts() const;
  /// Throws Error{kUsage} if samples of several sizes would be mixed.
  void check_mixing(bool sizes_differ) const;
  /// Throws Error{kUsage} if pixels move after samples are mixed, which label maps cannot follow.
  void check_maps() const;
  bool mixes() const;
  /// Whether label maps change with the images.
  bool moves_pixels() const;
  /// Throws Error{kUsage} at the first transform that moves pixels: the labels of `output` do not follow.
  void check_fixed_labels(const std::string& output) const;

  bool empty() const { return steps_.empty(); }
  /// Whether the pipeline is for training, in which sources draw (ReadHint::draw).
  bool training() const { return training_; }
  bool random() const;
  /// The composition of all transforms if they only map channels, so that a copy applies them; else nullopt.
  std::optional<ChannelMap> only_map() const;
  /// Transform::hint() and part() of the first transform.
  ReadHint hint() const;
  Window part(const Shape& image, const DrawKey& key) const;
  /// Whether the result has the same size for all inputs.
  bool fixes_size() const;
  /// Splits off the first transforms, which are not random, without trailing maps of channels. Running both parts in
  /// order equals running all; draws are unchanged.
  std::pair<Pipeline, Pipeline> split() const;
  /// Type and arguments of all transforms, for fingerprints.
  std::string text() const;

 private:
  struct Step {
    std::shared_ptr<const Transform> transform;
    config::Mark mark;
    std::string name;  ///< "RandomCrop"
    std::string text;
    std::uint32_t index = 0;
    bool folds = false;  ///< only maps channels or mirrors

    Error error(ErrorKind kind, const std::string& message) const;
  };

  std::size_t unfolded() const;
  Finish finish_after(std::size_t count, const DrawKey& key) const;
  void write_image(const ImageView& in, const DrawKey& key, Scratch& scratch, float* out) const;
  void run_image(const ImageView& in, Scratch& scratch, Array& out, const DrawKey& key) const;

  std::vector<Step> steps_;
  bool training_ = false;
};

/// A transform that mixes samples, and the transforms up to the next one.
struct Pipeline::Part {
  std::shared_ptr<const Transform> mixer;  ///< null in the first part
  std::uint32_t index = 0;                 ///< index of the mixer in the whole pipeline
  Pipeline rest;                           ///< transforms after the mixer
};

}  // namespace dptrain::data
