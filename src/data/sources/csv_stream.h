#pragma once

// CsvStream: rows for prediction, block by block from a file or from stdin, made into samples as a model has learned
// it. One thread.

#include <memory>
#include <string>
#include <vector>

#include "data/sources/csv.h"
#include "data/table/row_stream.h"

namespace dptrain::data {

class CsvStream {
 public:
  /// `spec` as the model's data set has it, `model.learned` from its checkpoint; "-" is stdin. Throws Error{kData,
  /// kCheckpoint, kUsage}.
  /// `kept`: columns whose fields stay at hand as they stand in the file, be they of use to the model or not.
  CsvStream(const CSVSpec& spec, const ModelSide& model, const std::string& path, const table::KeptColumns& kept = {});
  ~CsvStream();

  /// The next samples, at most `most`, without labels; null at the end. Where rows name files, samples have an account
  /// of those that cannot be read, without a limit. A block may come without a sample, where all of
  /// its rows were left out.
  std::shared_ptr<const Source> next(std::int64_t most);
  /// The names of the columns that are kept, in their order.
  std::vector<std::string> kept() const;
  /// The field of the kept column number `which`, without quotes, of a sample of those that next() gave last.
  std::string kept_field(std::int64_t sample, std::size_t which) const;
  /// Rows left out so far (`on_error: skip`), each with its place and why.
  std::vector<BadSample> take_bad();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::data
