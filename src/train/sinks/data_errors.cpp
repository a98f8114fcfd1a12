#include <set>
#include <vector>

#include "core/text.h"
#include "train/line_file.h"
#include "train/sinks/run_files.h"

namespace dptrain::train {
namespace {

class DataErrors final : public RunSink {
 public:
  explicit DataErrors(const std::string& path) : path_(path), file_(path) {
    for (const std::string& row : LineFile::read(path)) known_.insert(row);
  }

  /// Files that could not be read are no matter of a state: only a torn line goes.
  void cut(std::int64_t, std::int64_t) override {
    LineFile::filter(path_, [](const std::string&) { return true; });
  }

  void bad_sample(const data::BadSample& bad) override {
    const std::string byte = bad.byte < 0 ? "" : std::to_string(bad.byte);
    const std::string row = join(std::vector{csv_field(bad.file), byte, csv_field(bad.words)}, ",");
    if (known_.insert(row).second) file_.append(row, "file,byte,message");
  }

  bool flush() override { return file_.flush(); }

 private:
  std::string path_;
  LineFile file_;
  std::set<std::string> known_;
};

}  // namespace

std::unique_ptr<RunSink> make_data_errors(const std::string& path) { return std::make_unique<DataErrors>(path); }

}  // namespace dptrain::train
