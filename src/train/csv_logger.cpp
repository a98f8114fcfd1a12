#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "train/callback.h"

namespace dptrain::train {
namespace {

/// Keras's format: columns sorted and fixed at the first row, epochs from 0, missing values NA, CRLF line ends.
class CsvLogger final : public Callback {
 public:
  explicit CsvLogger(const CSVLoggerSpec& spec) : spec_(spec) {}

  std::string name() const override { return "CSVLogger"; }

  void train_begin(Host& host, bool resumed) override {
    path_ = std::filesystem::path(host.run_directory()) / spec_.filename;
    if (!resumed && !spec_.append) std::filesystem::remove(path_);
    if (resumed) drop_rows();
  }

  void epoch_end(Host&, EpochReport& report) override {
    if (columns_.empty()) choose_columns(report.logs);
    const bool header = !std::filesystem::exists(path_) || std::filesystem::file_size(path_) == 0;
    std::ofstream file(path_, std::ios::app | std::ios::binary);
    if (header) file << "epoch" << spec_.separator << join(columns_, spec_.separator) << "\r\n";
    file << report.epoch;
    for (const std::string& column : columns_) {
      const double* value = report.logs.find(column);
      file << spec_.separator << (value != nullptr ? shortest(*value) : "NA");
    }
    file << "\r\n";
    file.flush();
    if (!file) throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write", path_.string()));
    rows_ = report.epoch + 1;
  }

  nlohmann::json save() const override { return {{"columns", columns_}, {"rows", rows_}}; }
  void restore(const nlohmann::json& state) override {
    columns_ = state.value("columns", std::vector<std::string>());
    rows_ = state.value("rows", std::int64_t{0});
  }

 private:
  void choose_columns(const Logs& logs) {
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

  /// Rows of epochs that the resumed state does not know yet are written again.
  void drop_rows() {
    std::ifstream in(path_, std::ios::binary);
    std::string kept, line;
    while (std::getline(in, line)) {
      const std::string epoch = line.substr(0, line.find(spec_.separator));
      if (epoch == "epoch" || std::atoll(epoch.c_str()) < rows_) kept += line + "\n";
    }
    in.close();
    if (!kept.empty()) std::ofstream(path_, std::ios::binary | std::ios::trunc) << kept;
  }

  const CSVLoggerSpec spec_;
  std::filesystem::path path_;
  std::vector<std::string> columns_;
  std::int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<Callback> make_csv_logger(const CSVLoggerSpec& spec) { return std::make_unique<CsvLogger>(spec); }

}  // namespace dptrain::train
