#pragma once

// Encoders: a table's column as numbers for a model, with the names and the arithmetic of Keras's preprocessing layers.
// An encoder learns from the training rows once; what it has learned is JSON and travels with the model.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/family.h"
#include "config/value.h"
#include "data/source.h"
#include "export/preparation.h"
#include "table/table.h"

namespace dptrain::data {

/// What is to be known of a column of numbers before it is normalised.
struct NumberSums {
  std::int64_t present = 0, missing = 0;
  double mean = 0;
  double variance = 0;  ///< of the population, as Keras's Normalization: the mean of squared distances from the mean
};

/// A column of the training rows, as its encoder learns from it. One method is there, as the encoder reads.
class TrainingColumn {
 public:
  virtual ~TrainingColumn() = default;
  virtual std::int64_t rows() const = 0;
  /// Block by block; missing ones are NaN. kNumber; kDate: minutes since 1970-01-01, UTC.
  virtual void numbers(const std::function<void(std::span<const double>)>& take) const = 0;
  /// Of numbers(), where that is known already.
  virtual std::optional<NumberSums> sums() const { return std::nullopt; }
  /// Words that occur and how often, in the order of the file. kCategory.
  struct Word {
    std::string_view text;
    std::int64_t count = 0;
  };
  virtual std::vector<Word> words() const = 0;
  virtual std::int64_t missing_words() const = 0;
  /// Row by row. kText.
  virtual void texts(const std::function<void(std::string_view)>& take) const = 0;
  /// So many threads may read a part each, in any order; the parts together are texts().
  virtual int text_parts() const { return 1; }
  virtual void texts_of(int /*part*/, const std::function<void(std::string_view)>& take) const { texts(take); }
};

/// Immutable; any thread.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual table::ColumnType reads() const = 0;
  /// What a cell becomes in an input of floats; 0: it cannot stand there.
  virtual std::int64_t floats() const = 0;
  /// What a cell becomes in an input of ids, for Embedding; 0: it cannot stand there.
  virtual std::int64_t ids() const { return 0; }
  /// Ids are below this.
  virtual std::int64_t id_limit() const { return 0; }
  /// "mean 38.6, deviation 13.6"; "14 words and 1 for unknown ones"
  virtual std::string describe() const = 0;
  virtual nlohmann::json learned() const = 0;
  /// What it is in files of other programs, under the column's name; nothing where they cannot say it.
  virtual std::optional<exporting::PreparedColumn> prepared(const std::string& /*column*/) const {
    return std::nullopt;
  }
};

/// (x - mean) / deviation; a missing x is `fill`, NaN where it is refused.
struct LinearMap {
  double mean = 0, deviation = 1, fill = 0;
};

/// kNumber and kDate.
class NumberEncoder : public Encoder {
 public:
  /// Where encode() is nothing else: whoever has many cells maps them without a call for each.
  virtual std::optional<LinearMap> linear() const { return std::nullopt; }
  /// floats() numbers; `number` may be NaN, a missing one. Throws Error{kData} where those are refused.
  virtual void encode(double number, float* out) const = 0;
  /// ids() ids. Only where there are some.
  virtual void encode_ids(double number, std::int32_t* out) const;
};

/// kCategory: every word has an index, and what a cell becomes follows from that alone.
class WordEncoder : public Encoder {
 public:
  /// Throws Error{kData} where a word that was not learned, or a missing one, is refused.
  virtual std::int32_t index(std::string_view word) const = 0;
  virtual std::int32_t missing_index() const = 0;
  /// Whether the index stands for words that were not learned: they are counted.
  virtual bool is_unknown(std::int32_t index) const = 0;

  /// In an input of floats one-hot, floats() numbers; in one of ids the index.
  void encode(std::int32_t index, float* out) const;
  std::int64_t ids() const final { return 1; }
  std::int64_t id_limit() const final { return floats(); }
};

/// kText.
class TextEncoder : public Encoder {
 public:
  virtual void encode(std::string_view text, float* out) const = 0;
  virtual void encode_ids(std::string_view text, std::int32_t* out) const = 0;
};

/// kText: a cell names a file, from which an image or a clip is read. Stands alone in an input, and learns nothing.
class FileEncoder : public Encoder {
 public:
  table::ColumnType reads() const final { return table::ColumnType::kText; }
  std::int64_t floats() const final { return 0; }
  nlohmann::json learned() const final;
  /// "an image": what the file holds.
  virtual const char* what() const = 0;
  /// Of a sample, as [H, W, C] or [frames, H, W, C]; extents that differ from file to file are 0.
  virtual Shape extents() const = 0;
  /// What the file says it has, without decoding it; nothing where it does not say or cannot be read.
  virtual Shape peek(const std::string& path) const = 0;
  /// Throws SampleError that names the file.
  virtual void read(const std::string& path, const ReadHint& hint, Array& out) const = 0;
  /// As Source::inspect().
  virtual std::optional<ClipInfo> inspect(const std::string& /*path*/) const { return std::nullopt; }
  /// As Source::draws().
  virtual bool draws() const { return false; }
};

config::Family& encoder_family();

/// Throws Error{kData} where the column holds nothing to learn from, or what is refused.
std::unique_ptr<const Encoder> learn(const config::Typed& spec, const TrainingColumn& column);
/// From what Encoder::learned() gave. Throws Error{kCheckpoint} for what is none of it.
std::unique_ptr<const Encoder> restore(const config::Typed& spec, const nlohmann::json& learned);
/// Which columns it reads.
table::ColumnType column_type_of(const config::Typed& spec);
/// Whether it is a FileEncoder.
bool reads_files(const config::Typed& spec);
/// The encoder of a column of which the config says nothing.
config::Typed default_encoder(table::ColumnType type);

/// A column that the model does not see.
struct IgnoreSpec {};

// What stands for a cell that holds nothing: `missing: mean | most_frequent | error | NUMBER` of a column of numbers,
// `missing: category | most_frequent | error` of one of words.

enum class MissingNumber { kMean, kMostFrequent, kError };

struct MissingNumberRule {
  MissingNumber rule = MissingNumber::kMean;
  std::optional<double> number{};  ///< before the rule
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
