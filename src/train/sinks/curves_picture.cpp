#include <chrono>
#include <filesystem>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "picture/file.h"
#include "train/curves.h"
#include "train/line_file.h"
#include "train/sinks/run_files.h"

namespace dptrain::train {
namespace {

/// Draws what stands in train.csv, so that it also has what the run wrote before it was resumed.
class CurvesPicture final : public RunSink {
 public:
  explicit CurvesPicture(std::string folder) : folder_(std::move(folder)) {}

  void epoch(const EpochReport&) override {
    stale_ = true;
    const auto now = std::chrono::steady_clock::now();
    if (now - drawn_ >= kLeastTime) draw();
    if (!stale_) drawn_ = now;
  }
  void end(const EndReport&) override {
    if (stale_) draw();
  }

 private:
  static constexpr std::chrono::seconds kLeastTime{
      2};  // between pictures: a run of short epochs has other things to do

  void draw() {
    try {
      if (LineFile::read((std::filesystem::path(folder_) / "train.csv").string()).size() < 2) return;  // no epoch
      const RunNames names = names_of_runs({folder_});
      const std::filesystem::path file = std::filesystem::path(folder_) / "curves.svg";
      picture::write(file.string(),
                     picture::draw(curves_chart(names.title, {read_run(folder_, names.runs.front())}, false)));
      stale_ = false;
    } catch (const std::exception& error) {
      if (!warned_) log::warn(fmt::format("curves.svg is not drawn; training goes on: {}", error.what()));
      warned_ = true;
    }
  }

  std::string folder_;
  std::chrono::steady_clock::time_point drawn_{};
  bool stale_ =
      true;  // also at first: a run that goes on only to find that it is done may have been killed while drawing
  bool warned_ = false;
};

}  // namespace

std::unique_ptr<RunSink> make_curves_picture(const std::string& folder) {
  return std::make_unique<CurvesPicture>(folder);
}

}  // namespace dptrain::train
