#pragma once

// `dptrain data scan`: the contents of a data set, and every sample that cannot be read. Main thread; reads on many.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/data_sets.h"
#include "data/on_error.h"

namespace dptrain::cli {

struct DataScan {
  std::int64_t samples = 0;
  std::vector<std::string> columns{};                           ///< data::Source::column_lines() of a table
  std::vector<std::pair<std::string, std::int64_t>> classes{};  ///< in order of the labels; empty: no classes
  std::map<std::string, std::int64_t> formats{},
      color_modes{};                              ///< files per format and mode; unrecognised files are in neither
  std::vector<std::int64_t> heights{}, widths{};  ///< of readable samples, sorted
  std::int64_t sizes = 0;                         ///< number of different sizes
  std::vector<std::int64_t> frames{};             ///< of readable clips, sorted
  std::vector<std::string> misnamed{};            ///< "a.jpg: png"
  std::vector<data::BadSample> damaged{};         ///< in order of the data set
};

DataScan scan(const data::Source& source);

std::string scan_report(const std::string& name, const DataScan& scan);

}  // namespace dptrain::cli
