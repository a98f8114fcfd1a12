#include "core/format.h"
#include "train/line_file.h"
#include "train/sinks/run_files.h"

namespace dptrain::train {
namespace {

constexpr const char* kStepHeader = "step,epoch,loss,lr,examples_per_second,step_ms,data_wait_ms,comm_exposed_ms";

class StepTable final : public RunSink {
 public:
  explicit StepTable(const std::string& path) : path_(path), file_(path) {}

  void cut(std::int64_t, std::int64_t steps) override {
    LineFile::filter(path_, [&](const std::string& row) { return leading_number(row) <= steps; });
  }

  void step(const IntervalReport& report) override {
    file_.append(fmt::format("{},{},{:.9g},{:.9g},{:.9g},{:.6g},{:.6g},{:.6g}", report.last.step, report.last.epoch + 1,
                             report.loss, report.last.learning_rate, report.examples_per_second, report.step_ms,
                             report.data_wait_ms, report.comm_exposed_ms),
                 kStepHeader);
  }

  bool flush() override { return file_.flush(); }

 private:
  std::string path_;
  LineFile file_;
};

}  // namespace

std::unique_ptr<RunSink> make_step_table(const std::string& path) { return std::make_unique<StepTable>(path); }

}  // namespace dptrain::train
