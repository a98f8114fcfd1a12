#pragma once

// Tables: files of comma-separated values as a data set (csv.cpp has the keys, csv_source.cpp the Source).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/encoders/encoder.h"
#include "data/on_error.h"

namespace dptrain::data {

/// `age`, `[age, income]`, or {name: either of them}.
struct ColumnGroups {
  struct Group {
    std::string name;  ///< "" when one unnamed
    std::vector<std::string> columns;
    bool operator==(const Group&) const = default;
  };
  std::vector<Group> groups;
};

struct CSVSpec : DatasetCommon {
  std::vector<config::Path> files;  ///< a name may be a pattern with * and ?
  ColumnGroups inputs;              ///< columns of each model input; none: see read_csv()
  ColumnGroups labels;              ///< or {output name: columns}; may be empty
  std::optional<std::string> sample_weight;
  std::map<std::string, config::Of<encoder_family>> columns;  ///< encoders in place of the detected ones
  std::optional<std::string> separator;                       ///< one byte; absent: detected
  std::optional<bool> header;
  std::optional<std::string> decimal;    ///< "." or ","
  std::optional<std::string> thousands;  ///< one of , . ' and a space, or "none"
  std::optional<std::vector<std::string>> missing_values;
  bool missing_columns = false;  ///< files other than the training files may lack columns
  OnError on_error;
};

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct Value<data::ColumnGroups> {
  static bool read(const Node&, Reader&, data::ColumnGroups& out);
  static Node write(const data::ColumnGroups&);
  static Node schema();
};
}  // namespace dptrain::config
