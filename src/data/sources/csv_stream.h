#pragma once

// CsvStream reads rows for prediction block by block from a file or stdin and encodes them with a model's fitted
// encoders. One thread.

#include <memory>
#include <string>
#include <vector>

#include "data/sources/csv.h"
#include "data/table/row_stream.h"

namespace dptrain::data {

class CsvStream {
 public:
  /// `spec`: the model's data set; `model.fitted_state`: from its checkpoint; `path` "-": stdin; `passthrough`: columns
  /// whose fields passthrough_field() returns. Throws Error{kData, kCheckpoint, kUsage}.
  CsvStream(const CSVSpec& spec, const ModelSide& model, const std::string& path,
            const table::PassthroughColumns& passthrough = {});
  ~CsvStream();

  /// 1 to `most` samples without labels; null at the end. If rows contain paths, the source has BadSamples without a
  /// limit.
  std::shared_ptr<const Source> next(std::int64_t most);
  /// Names of the passthrough columns.
  std::vector<std::string> passthrough() const;
  /// Field of column passthrough()[which] for a sample of the last next(), without quotes.
  std::string passthrough_field(std::int64_t sample, std::size_t which) const;
  /// Rows skipped since the last call (`on_error: skip`).
  std::vector<BadSample> take_bad_samples();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::data
