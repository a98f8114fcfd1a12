#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/text.h"
#include "train/callback.h"
#include "train/line_file.h"

namespace dptrain::train {
namespace {

/// Keras's format: columns sorted and fixed at the first row, epochs from 0, missing values NA, CRLF line ends.
class CsvLogger final : public Callback {
 public:
  explicit CsvLogger(const experiment::CSVLoggerSpec& spec) : spec_(spec) {}

  std::string name() const override { return "CSVLogger"; }
  std::string subject() const override { return spec_.filename; }

  void train_begin(Host& host, bool resumed) override {
    const std::string path = (std::filesystem::path(host.run_directory()) / spec_.filename).string();
    std::error_code failed;  // then the first line tells
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
    if (!resumed && !spec_.append) std::filesystem::remove(path);
    // Rows of epochs that the resumed state does not know yet are written again.
    if (resumed)
      LineFile::filter(
          path, [&](const std::string& row) { return row.starts_with("epoch") || std::atoll(row.c_str()) < rows_; });
    file_ = LineFile(path);
  }

  void epoch_end(Host&, EpochReport& report) override {
    if (columns_.empty()) choose_columns(report.logs);
    std::string row = std::to_string(report.epoch);
    for (const std::string& column : columns_) {
      const double* value = report.logs.find(column);
      row += spec_.separator + (value != nullptr ? shortest(*value) : "NA");
    }
    file_.append(row + "\r", "epoch" + spec_.separator + join(columns_, spec_.separator) + "\r");
    rows_ = report.epoch + 1;
  }

  bool flush() override { return file_.flush(); }

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

  const experiment::CSVLoggerSpec spec_;
  LineFile file_;
  std::vector<std::string> columns_;
  std::int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<Callback> make_csv_logger(const experiment::CSVLoggerSpec& spec) {
  return std::make_unique<CsvLogger>(spec);
}

}  // namespace dptrain::train
