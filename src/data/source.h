#pragma once

// Source: a set of samples that any thread can read by index, independent of epochs, batches and replicas. Each type of
// data set (IDX, ImageFolder, Synthetic, Split, ...) has its files in sources/.
//
//   const Sources sources = open_sources(datasets, model, seed);  // DatasetConfig, ModelSide
//   Array image;
//   sources.train->read(/*index=*/0, /*input=*/0, image);

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/typed.h"
#include "core/class_names.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "data/on_error.h"

namespace dptrain::config {
class Diagnostics;
}

namespace dptrain::data {

/// One decoded array, row-major [H, W, C] or any shape. Each reading thread owns one and reuses it between samples.
struct Array {
  Shape shape;
  DType type = DType::kF32;  ///< kU8 or kF32
  std::vector<std::uint8_t> u8;
  std::vector<float> f32;
};

/// A view of an array in memory that it does not own.
struct ImageView {
  Shape shape;
  DType type = DType::kF32;  ///< kU8 or kF32
  const void* data = nullptr;

  const std::uint8_t* u8() const { return static_cast<const std::uint8_t*>(data); }
  const float* f32() const { return static_cast<const float*>(data); }
};

enum class LabelType { kNone, kClass /*an integer*/, kValues /*a row of floats*/, kMap /*a class for each pixel*/ };

/// A rectangle in pixels, within the image unless a function allows more.
struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

/// Key of the random numbers of a sample in an epoch.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t sample = 0;  ///< index in the data set
  std::uint32_t epoch = 0;
};

/// Parts of an image that read() may omit.
struct ReadHint {
  /// The image may be read at a reduced size, but not below this size. 0, 0: the whole size.
  std::int64_t min_height = 0, min_width = 0;
  /// Returns the window of pixels that are used, within an image of the given shape. Other pixels may have any value.
  /// Not set: all pixels. The reading thread calls it at most once per image.
  std::function<Window(const Shape&)> part{};
  /// Training: selects the epoch's sample if Source::draws(). Not set: evaluation.
  std::optional<DrawKey> draw{};
};

/// Facts about a clip, from its header or from decoding.
struct ClipInfo {
  std::string format;  ///< "mp4 h264", "jpeg frames"
  std::int64_t frames = 0, height = 0, width = 0;
};

class Source {
 public:
  virtual ~Source() = default;

  virtual std::int64_t size() const = 0;

  virtual int inputs() const = 0;
  /// Name as in `inputs: {name: file}`; "" when there is one unnamed input.
  virtual std::string input_name(int input) const = 0;
  /// Shape of every sample; rank 0 (unknown) if sizes may differ, as of image files.
  virtual Shape input_shape(int input) const = 0;
  /// Whether all samples have the same shape, even if it is unknown.
  virtual bool has_one_shape(int input) const { return input_shape(input).rank() > 0; }
  /// Shape of one sample from its header if input_shape() is unknown; rank 0 if the header does not contain it.
  virtual Shape peek_shape(std::int64_t /*index*/, int /*input*/ = 0) const { return {}; }
  /// Reads one sample's input. Any thread. Throws Error{kData} with file and byte offset; SampleError if bad_samples()
  /// is not null.
  virtual void read(std::int64_t index, int input, Array& out, const ReadHint& hint = {}) const = 0;
  /// Decodes all frames of a clip, of which read() returns a part; nullopt for other samples. Throws as read().
  virtual std::optional<ClipInfo> inspect(std::int64_t /*index*/) const { return std::nullopt; }
  /// Whether read() depends on the epoch (ReadHint::draw), so that samples cannot be cached.
  virtual bool draws() const { return false; }
  /// Whether read_exact() supports the input as kI32 (ids), kU8 (masks) or kF32 (the values of read()).
  virtual bool can_read_exact(int /*input*/, DType /*type*/) const { return false; }
  /// Reads all elements of one sample's input without a conversion to float. Only if can_read_exact(). Any thread;
  /// throws as read().
  virtual void read_exact(std::int64_t index, int input, DType type, void* out) const;
  /// Prefetches a sample in memory that this thread reads soon.
  virtual void prefetch_sample(std::int64_t /*index*/) const {}
  /// Sets `out` to the sample in memory, valid as long as the source; false: use read().
  virtual bool view(std::int64_t /*index*/, int /*input*/, ImageView& /*out*/) const { return false; }
  /// Records samples that cannot be read, which `on_error: skip` omits; null: they are fatal.
  virtual std::shared_ptr<BadSamples> bad_samples() const { return nullptr; }
  /// All samples as contiguous u8 or f32 rows in memory, or null. Sample `index` is row row(index): parts of a data set
  /// share the memory of the whole.
  virtual const std::uint8_t* u8_rows(int input) const { return static_cast<void>(input), nullptr; }
  virtual const float* f32_rows(int input) const { return static_cast<void>(input), nullptr; }
  virtual std::int64_t row(std::int64_t index) const { return index; }

  /// Number of preceding samples that share numbers with a sample, as windows over a series do. An ordered Split omits
  /// as many between its parts.
  virtual std::int64_t shared_before() const { return 0; }

  /// Number of labels of a sample: one per entry of `labels: {name: file}`.
  virtual int labels() const { return label_type() == LabelType::kNone ? 0 : 1; }
  /// Name as in the config; "" when there is one unnamed label, which serves every output of the model.
  virtual std::string label_name(int /*which*/) const { return ""; }
  virtual LabelType label_type(int which = 0) const = 0;
  virtual std::int64_t label_width(int which = 0) const = 0;  ///< kValues: floats per sample; kClass: 1; kMap: 0
  virtual std::int64_t label_class(std::int64_t index, int which = 0) const = 0;       ///< kClass
  virtual void label_values(std::int64_t index, float* out, int which = 0) const = 0;  ///< kValues
  /// kValues: the values of all samples as contiguous rows in memory, or null.
  virtual const float* all_label_values(int /*which*/) const { return nullptr; }
  /// kMap: reads the class numbers of the pixels of the sample's image, u8 or f32 [H, W, 1]. Any thread; throws as
  /// read().
  virtual void read_label_map(std::int64_t index, Array& out, int which = 0) const;
  /// kMap: the shape [H, W, 1] from the file's header; rank 0 if unknown.
  virtual Shape peek_label_map(std::int64_t /*index*/, int /*which*/ = 0) const { return {}; }
  /// kMap: the path of the label's file, for messages. Default: label_place().
  virtual std::string label_map_place(std::int64_t index, int which = 0) const { return label_place(index, which); }
  /// For messages about a label: "labels.gz, item 17", or the path of the sample's file.
  virtual std::string label_place(std::int64_t index, int which = 0) const = 0;
  /// The sample's index in the whole data set, before Split and `take`.
  virtual std::int64_t whole_index(std::int64_t index) const { return index; }
  /// Factors of the samples' losses (`sample_weight`); 1 without them.
  virtual bool has_sample_weights() const { return false; }
  virtual float sample_weight(std::int64_t /*index*/) const { return 1; }

  /// Fits vocabularies and means to `samples` and returns them as JSON, which is saved with the model. "": nothing to
  /// fit. Throws Error{kData}.
  virtual std::string fit(const std::vector<std::int64_t>& /*samples*/) const { return ""; }
  /// Returns the samples encoded with the result of fit(); null if nothing is fitted. Before, a source that must be
  /// fitted has labels and a size, but shapes are unknown and read() must not be called. Throws Error{kData}.
  virtual std::shared_ptr<const Source> fitted_source(const std::string& /*fitted_state*/) const { return nullptr; }

  /// Names of the classes of a label; empty if they have none.
  virtual std::vector<std::string> class_names(int /*which*/ = 0) const { return {}; }
  /// Tables and texts: a line per input column with its contents and encoding. Else empty.
  virtual std::vector<std::string> column_lines() const { return {}; }
  /// Tables and texts: the encoding of one sample, "age  39 -> 0.0271", a line per input column.
  virtual std::vector<std::string> cell_lines(std::int64_t /*index*/) const { return {}; }
  /// Detects changed data, for env.json and resume: sizes, shapes and a hash of file sizes, first and last bytes.
  virtual std::string fingerprint() const = 0;
  /// Key of a cache of the results of read(): all options of reading, sizes and modification times of all files.
  virtual std::string cache_key() const { return fingerprint(); }
};

/// Class names of all labels.
ClassNames class_names_of(const Source& source);

config::Family& dataset_family();

/// How a data set uses the fitted state of a model (ModelSide::fitted_state).
enum class FittedUse {
  kExact,             ///< eval, predict, export: all of it. Other labels in the config: Error{kUsage}.
  kResume,            ///< fit --resume: all of it. Other labels in the config: Error{kCheckpoint}.
  kInputs,            ///< fit --init-from: vocabularies and means. Labels follow the config and the data.
  kInputsIfPossible,  ///< fit with model.weights: as kInputs. If the data have other inputs, nothing is used.
};

/// The kind of labels that a loss requires.
enum class LabelUse {
  kAny,      ///< numbers or two classes, or no loss
  kClasses,  ///< a class, or a row of numbers
  kNumbers
};

/// A model's inputs, outputs and fitted state, as far as data sets need them. Lists per input may be shorter than
/// input_names.
struct ModelSide {
  std::vector<std::string> input_names;
  std::vector<Shape> input_shapes;
  /// Per input: kF32 (default), which transforms produce, or kI32 ids and kU8 masks, which are copied unchanged.
  std::vector<DType> input_types{};
  /// Per input: ids are below this; 0 (default): any.
  std::vector<std::int64_t> id_limits{};
  /// Per input of floats: a step with only this value is padding for a layer. Default: no padding.
  std::vector<std::optional<double>> paddings{};
  /// Names and shapes of the outputs that the loss requires labels for; without a loss, of all outputs.
  std::vector<std::string> output_names{};
  std::vector<Shape> outputs{};
  /// Per output: whether its loss is over classes at each of several positions. Synthetic generates such labels. Empty:
  /// none.
  std::vector<bool> class_maps{};
  /// Per output; empty: kAny.
  std::vector<LabelUse> label_uses{};
  /// Synthetic generates bytes 0..255 instead of floats around 0. See expect_pixels() in transform.h.
  bool pixels = false;
  /// Result of Source::fit() for the training data, from a checkpoint or the training set; "": none yet.
  std::string fitted_state{};
  FittedUse fitted_use = FittedUse::kExact;
  /// Whether labels are fitted to data.train although inputs are not.
  bool fits_labels() const { return fitted_use == FittedUse::kInputs || fitted_use == FittedUse::kInputsIfPossible; }

  DType input_type(std::size_t i) const { return i < input_types.size() ? input_types[i] : DType::kF32; }
  std::int64_t id_limit(std::size_t i) const { return i < id_limits.size() ? id_limits[i] : 0; }
  std::optional<double> padding(std::size_t i) const { return i < paddings.size() ? paddings[i] : std::nullopt; }
  /// Whether data.transforms apply to an input: to images and clips (floats of three or more axes), or to all inputs of
  /// floats if there are no images.
  bool is_transformed(std::size_t i) const;
  /// Whether samples of an input have lengths without padding. The padding of ids is 0.
  bool has_lengths(std::size_t i) const { return input_type(i) == DType::kI32 || padding(i).has_value(); }
  /// The kind of labels of that name. For "": the kind that all outputs have in common, else kAny.
  LabelUse label_use(const std::string& label) const;
  /// Number of classes of the output of that name, or of the only one; 0: unknown or none.
  std::int64_t classes_of(const std::string& label) const;
  /// Whether the model reads the named input, of a data set with `inputs` inputs, as ids.
  bool is_id_input(const std::string& input, std::size_t inputs) const;
};

enum class Role { kTrain, kValidation, kTest };

struct Sources {
  std::shared_ptr<const Source> train, validation, test;
  std::string fitted_state{};  ///< from the training set, or as ModelSide had it
};
struct DatasetConfig {
  config::Typed train, validation, test;  ///< may be empty
};
struct RoleSelection {
  bool train = true, validation = true, test = true;
};
/// Adds an error with its place for each missing file or folder of the selected data sets.
void find_missing(const DatasetConfig& datasets, const RoleSelection& selection, config::Diagnostics& diagnostics);

/// Opens the data sets of the selected roles (null: absent) and applies the Splits of all roles, so that a sample's
/// role does not depend on `selection`. Data sets that must be fitted use `model.fitted_state`, or if it is empty are
/// fitted to the samples of data.train outside the Splits. Throws Error{kData} or kUsage with places.
Sources open_sources(const DatasetConfig& datasets, const ModelSide& model, std::uint64_t seed,
                     const RoleSelection& selection = {});
/// `--data synthetic`: uses Synthetic for data.train and every other data set that is present. Keeps a Synthetic as is.
Sources synthetic_sources(const DatasetConfig& datasets, const ModelSide& model, std::uint64_t seed,
                          const RoleSelection& selection = {});
/// Arguments of every data set.
struct DatasetCommon {
  std::optional<std::int64_t> take;  ///< number of samples from the beginning, or all if there are fewer
  ClassNames class_names;
  std::optional<std::int64_t> ignore_class;  ///< label of positions that losses and metrics leave out
  std::optional<std::int64_t> fill_label;    ///< of positions outside of the image; default: ignore_class, else 0
};

/// Whether each sample is a file, whose path label_place() returns.
inline bool holds_files(const Source& source) { return source.bad_samples() != nullptr; }

}  // namespace dptrain::data
