#pragma once

// What is fitted to a table and saved with the model: the columns of each input, their encoders with vocabularies and
// means, and the classes of labels. As JSON it is the text of Source::learn().

#include <map>
#include <string>
#include <vector>

#include "data/sources/csv.h"

namespace dptrain::data {

struct CsvLearned {
  struct Column {
    std::string name;
    table::DateForm form{};
    config::Typed encoder;  ///< with its arguments
    std::string learned;    ///< Encoder::learned(), as text
  };
  struct Label {
    std::string name;                  ///< name of the output; "" for the only one
    std::vector<std::string> columns;  ///< one of words, or some of numbers
    std::vector<std::string> classes;  ///< the words in the order of their classes; empty: numbers
    bool integers = false;             ///< one column of class numbers; `classes` are their names, if there are any
    bool is_of_numbers() const { return integers || classes.empty(); }
  };
  table::Dialect dialect;                              ///< dialect of the training files
  std::map<std::string, table::NumberFormat> numbers;  ///< by column, where it is not 1234.5
  std::vector<ColumnGroups::Group> inputs;
  std::vector<Column> columns;  ///< those that the inputs name, each once
  std::vector<Label> labels;

  const Column& column(const std::string& name) const;
  /// Whether a column is of paths, whose files may turn out to be bad when they are read.
  bool names_files() const;
  std::string text() const;
  /// Throws Error{kCheckpoint} for a text that is none, and for one of another kind of data set.
  static CsvLearned of(const std::string& text);
};

/// Class names of a model: those that its file has (`stored`), or, if an older version wrote one list for all labels of
/// a table, each label's own.
ClassNames class_names_of_model(const std::string& learned, const ClassNames& stored);

}  // namespace dptrain::data
