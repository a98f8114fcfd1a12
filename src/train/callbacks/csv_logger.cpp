#include "train/callbacks/csv_logger.h"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/text.h"
#include "experiment/run_files.h"
#include "train/callback_def.h"
#include "train/line_file.h"

namespace dptrain::train {
namespace {

/// Keras's format: columns sorted and fixed at the first row, epochs from 0, missing values NA, CRLF line ends.
class CsvLog final : public RunSink {
 public:
  /// The callback owns `columns` and stores them in checkpoints; empty until the first row.
  CsvLog(std::string path, std::string separator, const std::vector<std::string>& columns)
      : path_(std::move(path)), separator_(std::move(separator)), columns_(columns), file_(path_) {}

  void cut(std::int64_t epochs, std::int64_t) override {
    if (epochs == 0) {
      std::error_code failed;  // then the first write reports it
      std::filesystem::remove(path_, failed);
      return;
    }
    LineFile::filter(
        path_, [&](const std::string& row) { return row.starts_with("epoch") || std::atoll(row.c_str()) < epochs; });
  }

  void epoch(const EpochReport& report) override {
    std::error_code failed;  // then the write reports it
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), failed);
    std::string row = std::to_string(report.epoch);
    for (const std::string& column : columns_) {
      const double* value = report.logs.find(column);
      row += separator_ + (value != nullptr ? shortest(*value) : "NA");
    }
    file_.append(row + "\r", "epoch" + separator_ + join(columns_, separator_) + "\r");
  }

  bool flush() override { return file_.flush(); }

 private:
  const std::string path_, separator_;
  const std::vector<std::string>& columns_;
  LineFile file_;
};

class CSVLogger final : public Callback {
 public:
  explicit CSVLogger(const CSVLoggerSpec& spec) : spec_(spec) {}

  std::string name() const override { return "CSVLogger"; }
  std::string subject() const override { return spec_.filename; }

  void train_begin(TrainingControl& control, bool resumed) override {
    const std::filesystem::path path = std::filesystem::path(control.run_directory()) / spec_.filename;
    file_ = control.sink_if_first(std::make_unique<CsvLog>(path.string(), spec_.separator, columns_));
    // Removes rows of epochs after the resumed state: they are written again.
    if (resumed || !spec_.append) file_->cut(resumed ? rows_ : 0, 0);
  }

  void epoch_end(TrainingControl&, EpochReport& report) override {
    if (columns_.empty()) choose_columns(report.logs);
    file_->epoch(report);
    rows_ = report.epoch + 1;
  }

  bool flush() override { return file_ == nullptr || file_->flush(); }

  nlohmann::json save() const override { return {{"columns", columns_}, {"rows", rows_}}; }
  void restore(const nlohmann::json& state) override {
    columns_ = state.value("columns", std::vector<std::string>());
    rows_ = state.value("rows", std::int64_t{0});
  }

 private:
  void choose_columns(const experiment::Logs& logs) {
    bool validated = false;
    for (const auto& [key, value] : logs.items()) {
      columns_.push_back(key);
      validated = validated || key.starts_with("val_");
    }
    std::sort(columns_.begin(), columns_.end());
    if (validated) return;
    const std::vector<std::string> train = columns_;
    for (const std::string& column : train) columns_.push_back("val_" + column);
  }

  const CSVLoggerSpec spec_;
  std::unique_ptr<RunSink> file_;
  std::vector<std::string> columns_;
  std::int64_t rows_ = 0;
};

void check_filename(const CSVLoggerSpec& spec, experiment::CallbackCheck& check) {
  if (!experiment::is_inside_folder(spec.filename))
    return check.error(fmt::format("filename '{}' must be a name below the run's folder", spec.filename));
  if (experiment::is_taken_by_run(spec.filename))
    check.error(fmt::format("filename '{}' is a file that the run writes itself; choose another", spec.filename));
}

const RegisteredCallback kCSVLogger =
    callback<CSVLoggerSpec>("CSVLogger")
        .doc("writes a row per epoch to a file in the run's folder")
        .positional(key("filename", &CSVLoggerSpec::filename).doc("file in the run's folder"))
        .key(key("separator", &CSVLoggerSpec::separator).doc("text between columns"))
        .key(key("append", &CSVLoggerSpec::append).doc("whether to continue the file instead of replacing it"))
        .check(check_filename)
        .files([](const CSVLoggerSpec& spec) { return std::vector{spec.filename}; })
        .runs<CSVLogger>();

}  // namespace
}  // namespace dptrain::train
