#pragma once

// Transforms: from a source's array to the model's input. Random ones draw from Philox keyed by (seed, transform,
// epoch, sample), so what a sample looks like in an epoch does not depend on batches, threads or replicas. A Pipeline
// is immutable and shared by all loader threads. A sample of four axes [frames, H, W, C] is a clip: each of its frames
// goes through the transforms as an image does, all with the same draws.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/typed.h"
#include "core/error.h"
#include "core/shape.h"
#include "data/images/finish.h"
#include "data/source.h"
#include "formats/preparation.h"
#include "kernels/pixel_program.h"

namespace dptrain::data {

class Mixing;

config::Family& transform_family();

/// One transform bound to its spec. Immutable. `index` is the place in the pipeline: part of the key of the draws.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual bool random() const { return false; }
  /// Output shape for an input shape (rank 0: unknown). Throws Error{kUsage}.
  virtual Shape output(const Shape& input) const = 0;
  /// `out` becomes the result, its memory is used again; `in`, u8 or f32, lies elsewhere.
  virtual void apply(const ImageView& in, Array& out, const DrawKey& key, std::uint32_t index) const = 0;
  /// Writes the result, finished, to `out`, as many floats as output() says. Overridden where that saves a pass over
  /// the pixels. `spare` may be used.
  virtual void write(const ImageView& in, const DrawKey& key, std::uint32_t index, const Finish& finish, Array& spare,
                     float* out) const;
  /// Where a transform does no more than this, the transform before it, or the copy into the batch, does it as well.
  virtual std::optional<ChannelMap> channel_map() const { return std::nullopt; }
  /// How the transform mirrors the image, if it does nothing else.
  virtual std::optional<Mirror> mirror(const DrawKey& /*key*/, std::uint32_t /*index*/) const { return std::nullopt; }
  /// The result has one size, whatever comes in.
  virtual bool fixes_size() const { return false; }
  /// Whether objects may change their position relative to the image, so that a label for each position no longer fits.
  virtual bool moves_pixels() const { return false; }
  /// Made for bytes 0..255, by its arguments.
  virtual bool expects_pixels() const { return false; }
  /// Writes the transform as an operation of a device's program, whose sizes in and out are set to those of what comes
  /// in; false where it has no such form.
  virtual bool write_op(std::int32_t /*channels*/, kernels::PixelOp& /*op*/) const { return false; }
  /// What it is in files of other programs (formats/preparation.h); where it maps channels, channel_map() says it.
  virtual std::optional<formats::ImageStep> image_step() const { return std::nullopt; }
  /// This, where the transform mixes a sample with another one.
  virtual const Mixing* mixing() const { return nullptr; }
  /// How small an image may be that comes in without a change that the user has not allowed.
  virtual ReadHint hint() const { return {}; }
  /// All that apply() and write() look at of an image of this shape.
  virtual Window part(const Shape& image, const DrawKey&, std::uint32_t /*index*/) const {
    return {0, 0, image[0], image[1]};
  }
};
/// A scale as small as this makes sense for bytes 0..255 only, and so does a range of values as wide.
inline constexpr double kLargestPixelScale = 1.0 / 32, kSmallestPixelRange = 128;

/// A transform of transform_family().
std::unique_ptr<Transform> make_transform(const config::Typed& spec);
/// Whether the transforms are written for bytes 0..255: Synthetic then makes such (ModelSide::pixels).
bool expect_pixels(const std::vector<config::Typed>& transforms);

class Pipeline {
 public:
  /// What a thread reuses from sample to sample.
  struct Scratch {
    Array even, odd, frame;
  };

  Pipeline() = default;
  /// Throws Error{kUsage} at the transform's mark for random ones in evaluation.
  Pipeline(const std::vector<config::Typed>& transforms, bool evaluation);

  /// Throws Error{kUsage} at the mark of the transform that the shape does not fit.
  Shape output(const Shape& input) const;
  /// Runs all; writes the result, of `wanted` elements, to `out`. Throws Error{kData} when its shape is another. The
  /// last transforms that only map channels or mirror happen while the one before them writes.
  void write(const ImageView& in, const DrawKey& key, Scratch& scratch, const Shape& wanted, float* out) const;
  /// The same; the result is f32 in `image`.
  void apply(Array& image, Array& spare, const DrawKey& key) const;
  /// Runs all without a conversion at the end: u8 stays u8 where no transform makes floats of it.
  void run(Array& image, Array& spare, const DrawKey& key) const;
  /// The same, from memory that somebody else keeps; `out` becomes the result.
  void run(const ImageView& in, Scratch& scratch, Array& out, const DrawKey& key) const;

  /// The pipeline in front of the first transform that mixes samples, that transform's step, and so on: one part more
  /// than there are such transforms. The draws stay what they are.
  struct Part;
  std::vector<Part> parts() const;
  /// Throws Error{kUsage} where samples of several sizes would be mixed.
  void check_mixing(bool sizes_differ) const;
  bool mixes() const;

  bool empty() const { return steps_.empty(); }
  /// Made for training: sources that draw do so.
  bool training() const { return training_; }
  bool random() const;
  /// All transforms together where they only map channels: the work is a copy. Nothing otherwise.
  std::optional<ChannelMap> only_map() const;
  /// Of the first transform.
  ReadHint hint() const;
  /// Of the first transform: what it looks at of an image of this shape.
  Window part(const Shape& image, const DrawKey& key) const;
  /// The result has one size, whatever comes in.
  bool fixes_size() const;
  /// What is the same in every epoch, up to the last transform that does more than map channels; and the rest, whose
  /// draws stay what they were. Running one after the other is running all.
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
    bool folds = false;  ///< maps channels or mirrors, and no more

    Error error(ErrorKind kind, const std::string& message) const;
  };

  std::size_t unfolded() const;
  Finish finish_after(std::size_t count, const DrawKey& key) const;
  void write_image(const ImageView& in, const DrawKey& key, Scratch& scratch, float* out) const;
  void run_image(const ImageView& in, Scratch& scratch, Array& out, const DrawKey& key) const;

  std::vector<Step> steps_;
  bool training_ = false;
};

/// Begins with a transform that mixes samples; the first part does not.
struct Pipeline::Part {
  std::shared_ptr<const Transform> mixer;  ///< null: the first part
  std::uint32_t index = 0;                 ///< of the mixer in the whole pipeline
  Pipeline rest;                           ///< what comes after it
};

}  // namespace dptrain::data
