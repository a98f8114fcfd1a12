#pragma once

// Encoders convert a column of a table to numbers for a model, with the names and the arithmetic of Keras's
// preprocessing layers. An encoder is fitted once to the training rows. Its state is JSON, stored with the model.
//
//   const auto encoder = fit(spec, column);                    // training
//   const auto same = restore(spec, encoder->fitted_state());  // from a checkpoint

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/typed.h"
#include "data/source.h"
#include "data/table/table.h"
#include "formats/preparation.h"

namespace dptrain::data {

/// Statistics of a column of numbers, for its normalization.
struct NumberSums {
  std::int64_t present = 0, missing = 0;
  double mean = 0;
  double variance = 0;  ///< population variance, as in Keras's Normalization
};

/// A column of the training rows, to which an encoder is fitted. Only the methods for its column type may be called.
class TrainingColumn {
 public:
  virtual ~TrainingColumn() = default;
  virtual std::int64_t rows() const = 0;
  /// kNumber and kDate (minutes since 1970-01-01 UTC): calls `take` block by block. Missing numbers are NaN.
  virtual void numbers(const std::function<void(std::span<const double>)>& take) const = 0;
  /// Statistics of numbers(), if they are already computed.
  virtual std::optional<NumberSums> sums() const { return std::nullopt; }
  /// kCategory: each word that occurs, with its count, in the order of the file.
  struct Word {
    std::string_view text;
    std::int64_t count = 0;
  };
  virtual std::vector<Word> words() const = 0;
  virtual std::int64_t missing_words() const = 0;
  /// kText: calls `take` for each row.
  virtual void texts(const std::function<void(std::string_view)>& take) const = 0;
  /// Number of parts that threads can read concurrently with texts_of(). All parts together are texts().
  virtual int text_parts() const { return 1; }
  virtual void texts_of(int /*part*/, const std::function<void(std::string_view)>& take) const { texts(take); }
};

/// A fitted encoder. Immutable; any thread.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual table::ColumnType reads() const = 0;
  /// Number of floats per cell; 0 if the column cannot be in an input of floats.
  virtual std::int64_t floats() const = 0;
  /// Number of ids per cell, for Embedding; 0 if the column cannot be in an input of ids.
  virtual std::int64_t ids() const { return 0; }
  /// Upper bound of the ids, exclusive.
  virtual std::int64_t id_limit() const { return 0; }
  /// "mean 38.6, deviation 13.6"; "14 words and 1 for unknown words"
  virtual std::string describe() const = 0;
  /// {} if nothing is fitted.
  virtual nlohmann::json fitted_state() const;
  /// The encoder in an exported model, under the column's name; nullopt if export does not support it.
  virtual std::optional<formats::PreparedColumn> prepared(const std::string& /*column*/) const { return std::nullopt; }
};

/// (x - mean) / deviation. `fill` replaces a missing x; NaN: a missing x is an error.
struct LinearMap {
  double mean = 0, deviation = 1, fill = 0;
};

/// kNumber and kDate.
class NumberEncoder : public Encoder {
 public:
  table::ColumnType reads() const override { return table::ColumnType::kNumber; }
  /// The map that encode() applies, if it is linear. Callers can then map many cells without a virtual call for each.
  virtual std::optional<LinearMap> linear() const { return std::nullopt; }
  /// Writes floats() numbers. NaN is a missing `number`. Throws Error{kData} for a number that the encoder rejects.
  virtual void encode(double number, float* out) const = 0;
  /// Writes ids() ids. Only for ids() > 0.
  virtual void encode_ids(double number, std::int32_t* out) const;
};

/// kCategory: maps each word to an index, which alone determines the encoded cell.
class WordEncoder : public Encoder {
 public:
  table::ColumnType reads() const final { return table::ColumnType::kCategory; }
  /// Throws Error{kData} if the encoder rejects words outside its vocabulary, or missing ones.
  virtual std::int32_t index(std::string_view word) const = 0;
  virtual std::int32_t missing_index() const = 0;
  /// Whether the index is one for words outside the vocabulary.
  virtual bool is_unknown(std::int32_t index) const = 0;

  /// Writes the one-hot vector of `index`, floats() numbers. An input of ids takes the index itself.
  void encode(std::int32_t index, float* out) const;
  std::int64_t ids() const final { return 1; }
  std::int64_t id_limit() const final { return floats(); }
};

/// kText.
class TextEncoder : public Encoder {
 public:
  table::ColumnType reads() const final { return table::ColumnType::kText; }
  virtual void encode(std::string_view text, float* out) const = 0;
  virtual void encode_ids(std::string_view text, std::int32_t* out) const = 0;
};

/// kText: a cell names a file of an image or a clip. Such a column is the only one of its input. Nothing is fitted.
class FileEncoder : public Encoder {
 public:
  table::ColumnType reads() const final { return table::ColumnType::kText; }
  std::int64_t floats() const final { return 0; }
  /// Content of the file, for messages: "an image".
  virtual const char* what() const = 0;
  /// Shape of a sample, [H, W, C] or [frames, H, W, C]. Extents that vary between files are 0.
  virtual Shape extents() const = 0;
  /// Shape from the file's header, without decoding; empty if it is unknown or the file cannot be read.
  virtual Shape peek(const std::string& path) const = 0;
  /// Throws SampleError with the path.
  virtual void read(const std::string& path, const ReadHint& hint, Array& out) const = 0;
  /// As Source::inspect().
  virtual std::optional<ClipInfo> inspect(const std::string& /*path*/) const { return std::nullopt; }
  /// As Source::draws().
  virtual bool draws() const { return false; }
};

config::Family& encoder_family();

/// Fits an encoder. Throws Error{kData} for a rejected value, or if an encoder that requires values finds none.
std::unique_ptr<const Encoder> fit(const config::Typed& spec, const TrainingColumn& column);
/// Restores an encoder from Encoder::fitted_state(). Throws Error{kCheckpoint} for JSON of another form.
std::unique_ptr<const Encoder> restore(const config::Typed& spec, const nlohmann::json& fitted_state);
/// Type of the columns that the encoder reads.
table::ColumnType column_type_of(const config::Typed& spec);
/// Whether it is a FileEncoder.
bool reads_files(const config::Typed& spec);
/// The encoder of a column that the config does not list.
config::Typed default_encoder(table::ColumnType type);

/// A column that the model does not use.
struct IgnoreSpec {};

// Value of an empty cell: `missing: mean | most_frequent | error | NUMBER` for a column of numbers,
// `missing: category | most_frequent | error` for a column of words.

enum class MissingNumber { kMean, kMostFrequent, kError };

struct MissingNumberRule {
  MissingNumber rule = MissingNumber::kMean;
  std::optional<double> number{};  ///< takes precedence over the rule
  bool operator==(const MissingNumberRule&) const = default;
};

enum class MissingWord { kCategory, kMostFrequent, kError };

}  // namespace dptrain::data

namespace dptrain::config {

template <>
struct EnumNames<data::MissingNumber> {
  static constexpr std::array names{std::pair{data::MissingNumber::kMean, "mean"},
                                    std::pair{data::MissingNumber::kMostFrequent, "most_frequent"},
                                    std::pair{data::MissingNumber::kError, "error"}};
};
template <>
struct EnumNames<data::MissingWord> {
  static constexpr std::array names{std::pair{data::MissingWord::kCategory, "category"},
                                    std::pair{data::MissingWord::kMostFrequent, "most_frequent"},
                                    std::pair{data::MissingWord::kError, "error"}};
};
template <>
struct Value<data::MissingNumberRule> {
  static bool read(const Node& node, Reader& reader, data::MissingNumberRule& out);
  static Node write(const data::MissingNumberRule& value);
  static Node schema();
};

}  // namespace dptrain::config
