#pragma once

// Source: a set of samples that can be read by index from any thread. It knows files, not epochs, batches or replicas.
// Each type of data set (IDX, ImageFolder, Synthetic, Split, ...) has its files in sources/.

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

/// One decoded array: u8 or f32, row-major [H, W, C] or any shape. Owned by the worker that reads; reused between
/// samples.
struct Array {
  Shape shape;
  DType type = DType::kF32;  ///< kU8 or kF32
  std::vector<std::uint8_t> u8;
  std::vector<float> f32;
};

/// The same in memory that somebody else keeps.
struct ImageView {
  Shape shape;
  DType type = DType::kF32;  ///< kU8 or kF32
  const void* data = nullptr;

  const std::uint8_t* u8() const { return static_cast<const std::uint8_t*>(data); }
  const float* f32() const { return static_cast<const float*>(data); }
};

/// What the labels in a source are.
enum class LabelType { kNone, kClass /*an integer*/, kValues /*a row of floats*/ };

/// A rectangle of an image, in pixels; it may reach beyond the image where that is said.
struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};

/// What is drawn for a sample in an epoch depends on this alone.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint64_t sample = 0;  ///< index in the data set
  std::uint32_t epoch = 0;
};

/// What the reader may skip: images may come smaller, but in no axis below this. 0, 0: the whole size.
struct ReadHint {
  std::int64_t least_height = 0, least_width = 0;
  /// Of an image of this shape only these pixels are looked at, which lie inside it: the others may hold anything. Not
  /// set: all. Called, if at all, once for each image, by the thread that reads.
  std::function<Window(const Shape&)> part{};
  /// Of training: the sample as it is in that epoch, where Source::draws(). Not set: as it is in evaluation.
  std::optional<DrawKey> draw{};
};

/// What a clip says of itself, or, of one that has been decoded, is.
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
  /// Shape of every sample, or nothing known (rank 0) where samples differ in size (image files before Resizing).
  virtual Shape input_shape(int input) const = 0;
  /// Whether all samples have one shape, be it known or not.
  virtual bool has_one_shape(int input) const { return input_shape(input).rank() > 0; }
  /// Where samples differ in size: the size that one of them says it has, without decoding it, or nothing where it does
  /// not say.
  virtual Shape peek_shape(std::int64_t /*index*/, int /*input*/ = 0) const { return {}; }
  /// Reads one sample's input. Any thread. Throws Error{kData} naming file and byte offset; SampleError where there is
  /// an account of bad samples.
  virtual void read(std::int64_t index, int input, Array& out, const ReadHint& hint = {}) const = 0;
  /// Decodes all of a sample of which read() gives only a part, a clip; nothing for one that read() gives whole. Throws
  /// as read() does.
  virtual std::optional<ClipInfo> inspect(std::int64_t /*index*/) const { return std::nullopt; }
  /// Whether read() gives a sample of each epoch (ReadHint::draw) otherwise: nothing of it can be kept.
  virtual bool draws() const { return false; }
  /// Whether read_exact() gives the input as numbers of that type: kI32, ids; kU8, a mask; kF32, what read() gives.
  virtual bool gives(int /*input*/, DType /*type*/) const { return false; }
  /// One sample's input, every number as it is stored, as many as the shape has elements; nothing goes through a float.
  /// Only where gives(); any thread; throws as read() does.
  virtual void read_exact(std::int64_t index, int input, DType type, void* out) const;
  /// This thread reads the sample soon: what lies in memory is asked for, so that reading need not wait for it.
  virtual void expect(std::int64_t /*index*/) const {}
  /// Where a sample lies in memory as read() would give it, for as long as the source lives: that memory. False:
  /// read().
  virtual bool view(std::int64_t /*index*/, int /*input*/, ImageView& /*out*/) const { return false; }
  /// Where samples that cannot be read are noted and, if the user allows it, left out; null: they are fatal.
  virtual std::shared_ptr<BadSamples> bad_samples() const { return nullptr; }
  /// Where samples lie as contiguous u8 or f32 rows in memory: that memory, else null. Lets the loader gather and
  /// convert in one pass. Sample `index` is row row(index): parts of a data set share the memory of the whole.
  virtual const std::uint8_t* u8_rows(int input) const { return static_cast<void>(input), nullptr; }
  virtual const float* f32_rows(int input) const { return static_cast<void>(input), nullptr; }
  virtual std::int64_t row(std::int64_t index) const { return index; }

  /// How many samples before one have numbers in common with it, as windows over a series do: what Split leaves out
  /// between two parts in order.
  virtual std::int64_t shared_before() const { return 0; }

  /// How many labels a sample has: one for each entry of `labels: {name: file}`.
  virtual int labels() const { return label_type() == LabelType::kNone ? 0 : 1; }
  /// Name as in the config; "" when there is one unnamed label, which serves every output of the model.
  virtual std::string label_name(int /*which*/) const { return ""; }
  virtual LabelType label_type(int which = 0) const = 0;
  virtual std::int64_t label_width(int which = 0) const = 0;  ///< kValues: floats per sample; kClass: 1
  virtual std::int64_t label_class(std::int64_t index, int which = 0) const = 0;       ///< kClass
  virtual void label_values(std::int64_t index, float* out, int which = 0) const = 0;  ///< kValues
  /// Where the values of all samples lie one row behind the other: those; else null. kValues.
  virtual const float* all_label_values(int /*which*/) const { return nullptr; }
  /// "labels.gz, item 17": for messages about a label. The file of an image.
  virtual std::string label_place(std::int64_t index, int which = 0) const = 0;
  /// The sample's index in the whole data set that a Split or `take` has selected from.
  virtual std::int64_t whole_index(std::int64_t index) const { return index; }
  /// Factors of the samples' losses (`sample_weight`); without them all are 1.
  virtual bool has_sample_weights() const { return false; }
  virtual float sample_weight(std::int64_t /*index*/) const { return 1; }

  /// What has to be known of the training data before samples can be made of rows, vocabularies and means, found in
  /// `samples` of this data set: JSON text, which goes with the model. "": nothing has to be. Throws Error{kData}.
  virtual std::string learn(const std::vector<std::int64_t>& /*samples*/) const { return ""; }
  /// The same samples as that text says they are made; null where learn() gives none. Before that, read() of a data set
  /// that learns must not be called, and shapes are unknown; labels and sizes are there. Throws Error{kData}.
  virtual std::shared_ptr<const Source> taught(const std::string& /*learned*/) const { return nullptr; }

  /// Names of the classes of a label; empty if they have none.
  virtual std::vector<std::string> class_names(int /*which*/ = 0) const { return {}; }
  /// Of a table: what each column of its inputs holds and how it becomes numbers, a line each. Else none.
  virtual std::vector<std::string> column_lines() const { return {}; }
  /// Of such a table's row: "age  39 -> 0.0271", a line for each column of the inputs.
  virtual std::vector<std::string> cell_lines(std::int64_t /*index*/) const { return {}; }
  /// Changes when the data do: sizes, shapes and a hash of file sizes and first and last bytes. For env.json and
  /// resume.
  virtual std::string fingerprint() const = 0;
  /// What a cache of its samples as read() gives them stands or falls with: every option of reading, and the size and
  /// time of change of every file.
  virtual std::string cache_key() const { return fingerprint(); }
};

/// Class names of all labels.
ClassNames class_names_of(const Source& source);

config::Family& dataset_family();

/// How a data set uses what was fitted to the data of a model (ModelSide::learned).
enum class FittedUse {
  kExact,             ///< eval, predict, export: all of it. Other labels in the config: Error{kUsage}.
  kResume,            ///< fit --resume: all of it. Other labels in the config: Error{kCheckpoint}.
  kInputs,            ///< fit --init-from: vocabularies and means. Labels follow the config and the data.
  kInputsIfPossible,  ///< fit with model.weights: as kInputs. If the data have other inputs, nothing is used.
};

/// The kind of labels that a loss requires.
enum class LabelUse {
  kAny,      ///< numbers or two classes, or there is no loss
  kClasses,  ///< a class, or a row of numbers
  kNumbers
};

/// What the model wants, for Synthetic and for checks.
struct ModelSide {
  std::vector<std::string> input_names;
  std::vector<Shape> input_shapes;
  /// Of each input: kF32 are floats, which transforms make; kI32 ids and kU8 masks come as they are stored. Shorter
  /// than the list of inputs: floats.
  std::vector<DType> input_types{};
  /// Ids of an input are below this; 0 or none: any.
  std::vector<std::int64_t> id_limits{};
  /// Of inputs of floats: the value that a layer takes steps of nothing else for padding. Shorter: none is.
  std::vector<std::optional<double>> paddings{};
  /// Those that the loss wants labels for; without a loss all.
  std::vector<std::string> output_names{};
  std::vector<Shape> outputs{};
  /// One for each of `outputs`: its loss is over classes at each of several positions, and Synthetic makes such labels.
  /// Empty: none is.
  std::vector<bool> class_maps{};
  /// One for each of `outputs`; empty: kAny.
  std::vector<LabelUse> label_uses{};
  /// Synthetic makes bytes 0..255, as image files hold, instead of floats around 0. See expect_pixels() in transform.h.
  bool pixels = false;
  /// Result of Source::learn() for the training data, from a checkpoint or the training set; "": none yet.
  std::string learned{};
  FittedUse fitted_use = FittedUse::kExact;
  /// Whether labels are fitted to data.train although inputs are not.
  bool fits_labels() const { return fitted_use == FittedUse::kInputs || fitted_use == FittedUse::kInputsIfPossible; }

  DType input_type(std::size_t i) const { return i < input_types.size() ? input_types[i] : DType::kF32; }
  std::int64_t id_limit(std::size_t i) const { return i < id_limits.size() ? id_limits[i] : 0; }
  std::optional<double> padding(std::size_t i) const { return i < paddings.size() ? paddings[i] : std::nullopt; }
  /// Whether data.transforms work on an input: on all of floats, or, where some of those are images or clips (three or
  /// four axes), on these alone.
  bool is_transformed(std::size_t i) const;
  /// Whether the samples of an input have lengths, up to the padding, which is 0 for ids.
  bool has_lengths(std::size_t i) const { return input_type(i) == DType::kI32 || padding(i).has_value(); }
  /// The kind for labels of that name; for "", the kind that all outputs have in common, else kAny.
  LabelUse label_use(const std::string& label) const;
  /// Number of classes of the output of that name, or of the only one; 0: unknown or none.
  std::int64_t classes_of(const std::string& label) const;
  /// Whether the model takes this input of a data set that has so many for ids.
  bool wants_ids(const std::string& input, std::size_t inputs) const;
};

enum class Role { kTrain, kValidation, kTest };

struct Sources {
  std::shared_ptr<const Source> train, validation, test;
  std::string learned{};  ///< from the training set, or as ModelSide had it
};
struct DatasetConfig {
  config::Typed train, validation, test;  ///< empty: absent
};
struct WantedRoles {
  bool train = true, validation = true, test = true;
};
/// What the data sets of these roles name and is not there: an error for each, at its place.
void find_missing(const DatasetConfig& datasets, const WantedRoles& wanted, config::Diagnostics& diagnostics);

/// Opens the data sets of the wanted roles that are present (null: absent), with the Splits of all roles applied: a
/// sample has the same role whoever asks. Data sets that learn do so from what Splits leave of data.train, which is
/// opened for that where `model` brings nothing learned. Throws Error{kData} or kUsage with places.
Sources open_sources(const DatasetConfig& datasets, const ModelSide& model, std::uint64_t seed,
                     const WantedRoles& wanted = {});
/// `--data synthetic`: Synthetic in place of every data set given (train always); a Synthetic stays as it is.
Sources synthetic_sources(const DatasetConfig& datasets, const ModelSide& model, std::uint64_t seed,
                          const WantedRoles& wanted = {});
/// Arguments that every data set takes.
struct DatasetCommon {
  std::optional<std::int64_t> take;  ///< number of samples, the first ones (all, where there are fewer)
  ClassNames class_names;
};

/// Whether a source's samples are files of their own, whose paths label_place() returns.
inline bool holds_files(const Source& source) { return source.bad_samples() != nullptr; }

}  // namespace dptrain::data
