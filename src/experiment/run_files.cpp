#include "experiment/run_files.h"

#include <algorithm>
#include <filesystem>

namespace dptrain::experiment {
namespace fs = std::filesystem;

std::string evaluation_file(const std::string& stem, const std::string& output, const std::string& on,
                            const std::string& suffix) {
  return stem + (output.empty() ? "" : "-" + output) + (on.empty() ? "" : "-" + on) + suffix;
}

std::vector<std::string> run_files(const std::vector<std::string>& outputs) {
  std::vector<std::string> files{
      "config.yaml", "config.resolved.yaml", "command.txt",      "env.json",      "train.log",  "train.csv",
      "steps.csv",   "events.jsonl",         "result.json",      "model.h5",      "labels.txt", "log.csv",
      "curves.svg",  "trace.json",           "fault/fault.json", "fault/state.h5"};
  files.insert(files.end(), {kDataErrors, kReport});
  std::vector<std::string> of_outputs{""};
  of_outputs.insert(of_outputs.end(), outputs.begin(), outputs.end());
  for (const std::string& output : outputs) files.push_back(evaluation_file("labels", output, "", ".txt"));
  for (const char* const on : {"", "train", "validation"}) {
    files.push_back(evaluation_file("eval", "", on, ".json"));
    files.push_back(evaluation_file("gates", "", on, ".json"));
    for (const std::string& output : of_outputs) {
      files.push_back(evaluation_file("confusion", output, on, ".csv"));
      files.push_back(evaluation_file("answers", output, on, ".csv"));
      files.push_back(evaluation_file("predicted", output, on, ".csv"));
      for (const char* const picture : {"confusion", "scores", "worst", "predicted", "residuals"})
        files.push_back(evaluation_file(picture, output, on, ".svg"));
    }
  }
  return files;
}

bool is_run_file(const std::string& name, const std::vector<std::string>& outputs) {
  const std::vector<std::string> files = run_files(outputs);
  return std::ranges::find(files, name) != files.end();
}

bool is_taken_by_run(const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  return (is_run_file(path.string()) && path != "log.csv") || path == kRunLock || *path.begin() == "checkpoints";
}

}  // namespace dptrain::experiment
