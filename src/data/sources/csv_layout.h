#pragma once

// CsvLayout: columns of each input of a table, their encoders with fitted vocabularies and means, and classes of
// labels, as saved with the model. Source::fit() returns it as JSON.

#include <map>
#include <string>
#include <vector>

#include "data/sources/csv.h"

namespace dptrain::data {

struct CsvLayout {
  struct Column {
    std::string name;
    table::DateForm form{};
    config::Typed encoder;
    std::string fitted_state;  ///< Encoder::fitted_state() as text; "": not fitted yet
  };
  struct Label {
    std::string name;                  ///< name of the output; "" for the only one
    std::vector<std::string> columns;  ///< one column of words, or columns of numbers
    std::vector<std::string> classes;  ///< the words in the order of their classes; empty: numbers
    bool integers = false;             ///< one column of class numbers; `classes` are their names, if there are any
    config::Typed mask{};              ///< MaskSpec of a column of masks; `classes` are their names, if there are any
    table::ColumnType column_type() const {
      if (mask) return table::ColumnType::kText;
      return integers || classes.empty() ? table::ColumnType::kNumber : table::ColumnType::kCategory;
    }
  };
  table::Dialect dialect;                              ///< dialect of the training files
  std::map<std::string, table::NumberFormat> numbers;  ///< by column, if the format is not 1234.5
  std::vector<ColumnGroups::Group> inputs;
  std::vector<Column> columns;  ///< columns of all inputs, each once
  std::vector<Label> labels;

  const Column& column(const std::string& name) const;
  /// Whether a column of inputs or labels contains paths of files.
  bool has_file_columns() const;
  std::string text() const;
  /// Parses text(). Throws Error{kCheckpoint} for invalid text and for the text of another type of data set.
  static CsvLayout parse(const std::string& text);
};

/// Class names of a model: `stored` in its file, or those of each label in `fitted_state` if an older version wrote one
/// list for all labels.
ClassNames class_names_of_model(const std::string& fitted_state, const ClassNames& stored);

}  // namespace dptrain::data
