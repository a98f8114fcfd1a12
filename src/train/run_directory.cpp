#include "train/run_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "config/node.h"
#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "experiment/callback_type.h"
#include "experiment/objectives.h"
#include "experiment/run_files.h"
#include "train/line_file.h"
#include "train/reports.h"

namespace dptrain::train {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void cannot_write(const std::string& path, const std::string& reason) {
  throw Error(ErrorKind::kWrite,
              fmt::format("{}: cannot write: {}; choose another folder with --run-dir", path, reason));
}

/// The name as one path component.
std::string folder_name(const std::string& name) {
  std::string folder;
  for (const char c : name) folder += c == '/' || static_cast<unsigned char>(c) <= ' ' ? '-' : c;
  if (folder.empty() || folder.front() == '.') folder.insert(0, "run");
  return folder;
}

fs::path runs_of(const experiment::Experiment& experiment, const std::optional<std::string>& name) {
  return fs::path(experiment.config.run_dir.value) / folder_name(name.value_or(experiment.config.name));
}

std::vector<std::pair<int, fs::path>> numbered_runs(const fs::path& runs) {
  std::vector<std::pair<int, fs::path>> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs, ignored))
    if (const auto number = parse_number<int>(entry.path().filename().string()))
      found.emplace_back(*number, entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

void make_folders(const fs::path& path) {
  if (const std::error_code error = create_folders(path.string())) cannot_write(path.string(), error.message());
}

/// Creates and returns the first free folder from `number` on; mkdir() arbitrates between concurrent runs.
std::string make_numbered(const fs::path& runs, const std::string& prefix, int number) {
  for (;; ++number) {
    const std::string path = (runs / fmt::format("{}{:03}", prefix, number)).string();
    const bool made = mkdir(path.c_str(), 0777) == 0;
    if (made && sync_folder(runs.string())) return path;
    if (made || errno != EEXIST) cannot_write(path, std::strerror(errno));
  }
}

std::string make_next(const fs::path& runs) {
  make_folders(runs);
  const auto present = numbered_runs(runs);
  return make_numbered(runs, "", present.empty() ? 1 : present.back().first + 1);
}

/// The outputs of a model with several; otherwise empty.
std::vector<std::string> outputs_of(const experiment::Experiment& experiment) {
  const std::vector<std::string> names = experiment::output_names(experiment.graph);
  return names.size() > 1 ? names : std::vector<std::string>{};
}

void wipe(const fs::path& path, const std::vector<std::string>& outputs) {
  std::error_code ignored;
  for (const std::string& name : experiment::run_files(outputs)) fs::remove(path / name, ignored);
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored))
    if (experiment::is_run_file(target_of_temporary(entry.path().filename().string()), outputs))
      fs::remove(entry.path(), ignored);
  if (fs::is_symlink(path / "checkpoints", ignored)) return;  // its contents belong to another run
  std::vector<fs::path> gone;
  for (fs::recursive_directory_iterator entry(path / "checkpoints", ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    if (target_of_temporary(entry->path().filename().string()).ends_with(".h5") ||
        (entry.depth() == 0 && entry->path().extension() == ".h5"))
      gone.push_back(entry->path());
  for (const fs::path& file : gone) fs::remove(file, ignored);
}

/// Files and folders of the config's callbacks, below the run's folder.
std::vector<fs::path> logs_of(const experiment::Experiment& experiment) {
  std::vector<fs::path> logs;
  for (const std::string& name : experiment::callback_files(experiment.config))
    logs.push_back(fs::path(name).lexically_normal());
  return logs;
}

/// Whether the folder contains only files that a run writes before its first checkpoint, so that it can be removed.
bool killed_at_start(const fs::path& path, const experiment::Experiment& experiment) {
  const std::vector<fs::path> logs = logs_of(experiment);
  const std::vector<std::string> outputs = outputs_of(experiment);
  const auto lies_above = [](const fs::path& folder, const fs::path& file) {
    return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
  };
  const auto may_go = [&](const fs::directory_entry& entry) {
    const fs::path below = entry.path().lexically_relative(path);
    const std::string name = below.filename().string();
    const bool in_checkpoints = *below.begin() == "checkpoints";
    if (entry.is_directory() && !entry.is_symlink())
      return in_checkpoints || std::ranges::any_of(logs, [&](const fs::path& log) {
               return lies_above(below, log) || lies_above(log, below);
             });
    const std::string target = target_of_temporary(name);
    if (in_checkpoints) return !target.empty();
    if (std::ranges::any_of(logs, [&](const fs::path& log) { return lies_above(log, below); })) return true;
    const bool ours = experiment::is_run_file(name, outputs) || experiment::is_run_file(target, outputs) ||
                      name == experiment::kRunLock;
    return ours && !below.has_parent_path() && name != "result.json" && name != "model.h5";
  };
  std::error_code error;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (!may_go(*entry)) return false;
  return !error;
}

bool is_unused(const fs::path& path) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
    if (entry.path().filename() != experiment::kRunLock) return false;
  if (error) cannot_write(path.string(), error.message());
  return true;
}

std::string command_line(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(shell_quoted(word));
  return join(words, " ");
}

}  // namespace

RunDirectory::RunDirectory(const experiment::Experiment& experiment, const RunOptions& options,
                           const ClassNames& class_names) {
  choose(experiment, options);
  make_folders(fs::path(path_) / "checkpoints");
  describe(experiment, options, class_names);
}

void RunDirectory::choose(const experiment::Experiment& experiment, const RunOptions& options) {
  if (!options.directory) {
    path_ = make_next(runs_of(experiment, options.name));
    lock_ = RunLock(path_);
    return;
  }
  path_ = fs::path(*options.directory).lexically_normal().string();
  if (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  std::error_code error;
  if (fs::exists(path_, error) && !fs::is_directory(path_, error)) cannot_write(path_, "it is a file");
  const bool is_free_or_resumed = !fs::exists(path_, error) || is_unused(path_) || options.resuming_here;
  if (!is_free_or_resumed && !options.overwrite && !(options.restarting_here && killed_at_start(path_, experiment)))
    throw Error(ErrorKind::kUsage, fmt::format("--run-dir: {} is not empty; continue with --resume, replace its run "
                                               "with --overwrite, or choose another folder",
                                               path_));
  make_folders(path_);
  lock_ = RunLock(path_);
  if (!is_free_or_resumed) wipe(path_, outputs_of(experiment));
}

void RunDirectory::describe(const experiment::Experiment& experiment, const RunOptions& options,
                            const ClassNames& class_names) const {
  std::error_code error;
  const std::string resolved_config = config::to_yaml(resolved(experiment));
  const bool from_file = fs::is_regular_file(experiment.file, error) && fs::path(experiment.file).extension() != ".h5";
  const bool own_config = from_file && fs::equivalent(experiment.file, file("config.resolved.yaml"), error);
  if (!own_config || !fs::exists(file("config.yaml"), error))  // a resumed run keeps the user's config
    write_text(file("config.yaml"), from_file ? read_text(experiment.file) : resolved_config);
  write_text(file("config.resolved.yaml"), resolved_config);
  const std::string before = options.resuming_here ? read_text(file("command.txt")) : "";
  write_text(file("command.txt"), before + command_line(options.command) + "\n");
  if (!class_names.empty()) write_text(file("labels.txt"), join(class_names.first(), "\n") + "\n");
  for (const ClassNames::Entry& entry : class_names.entries())
    if (!entry.output.empty())
      write_text(file(experiment::evaluation_file("labels", entry.output, "", ".txt")), join(entry.names, "\n") + "\n");
}

std::string RunDirectory::checkpoint(const std::string& name) const {
  return (fs::path(path_) / "checkpoints" / name).string();
}
std::string RunDirectory::file(const std::string& name) const { return (fs::path(path_) / name).string(); }

void RunDirectory::write_json(const std::string& name, const nlohmann::json& value) const {
  if (is_here_) write_text(file(name), value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::string RunDirectory::experiment_folder(const experiment::Experiment& experiment) {
  return runs_of(experiment, std::nullopt).string();
}

std::string RunDirectory::next_sweep(const experiment::Experiment& experiment) {
  const fs::path runs = runs_of(experiment, std::nullopt);
  make_folders(runs);
  return make_numbered(runs, "sweep-", 1);
}

std::string RunDirectory::weights_of(const std::string& folder) {
  const fs::path run(folder);
  const auto result = nlohmann::json::parse(read_text((run / "result.json").string()), nullptr, false);
  const auto exit = result.is_object() ? result.find("exit") : result.end();
  const bool ended = exit != result.end() && exit->is_string() && is_completed(exit->get<std::string>());
  std::error_code ignored;
  for (const fs::path& file : {run / "checkpoints" / "best.h5", run / "model.h5", run / "checkpoints" / "last.h5"})
    if ((ended || file.filename() != "model.h5") && fs::exists(file, ignored)) return file.string();
  return "";
}

std::string RunDirectory::newest(const experiment::Experiment& experiment, const std::optional<std::string>& name) {
  const auto runs = numbered_runs(runs_of(experiment, name));
  std::error_code ignored;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run)
    if (fs::exists(run->second / "checkpoints" / "last.h5", ignored)) return run->second.string();
  return "";
}

namespace {

std::string owner_of(int file) {
  std::array<char, 128> text{};
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "another process";
}

/// "process 4711 on gauss".
std::string this_process() {
  std::array<char, 65> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) return fmt::format("process {}", getpid());
  return fmt::format("process {} on {}", getpid(), host.data());
}

}  // namespace

RunLock::RunLock(const std::string& directory) {
  const std::string path = (std::filesystem::path(directory) / experiment::kRunLock).string();
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file_ < 0) cannot_write(path, std::strerror(errno));
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int failure = errno;
    const std::string owner = owner_of(file_);
    close(std::exchange(file_, -1));
    if (failure == EWOULDBLOCK)
      throw Error(ErrorKind::kUsage,
                  fmt::format("--run-dir: {} trains into {} now; wait until it ends, stop it, or choose "
                              "another folder",
                              owner, directory));
    log::warn(fmt::format("{}: cannot lock: {}; make sure that no other process trains into {}", path,
                          std::strerror(failure), directory));
    return;
  }
  const std::string owner = this_process();
  if (ftruncate(file_, 0) != 0 || pwrite(file_, owner.data(), owner.size(), 0) < 0)
    log::warn(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));  // the lock is held nevertheless
}

RunLock::RunLock(RunLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

RunLock::~RunLock() {
  if (file_ >= 0) close(file_);
}

std::string exit_text(const std::string& exit) {
  if (exit == "early_stopping") return "stopped early: no further improvement";
  if (exit == "max_time") return "stopped: time limit reached";
  if (exit == "signal") return "stopped by a signal, state saved";
  if (exit == "diverged") return "training diverged";
  return exit.empty() ? "ended (no exit status recorded)" : exit;  // "completed", or a value of a later version
}

}  // namespace dptrain::train
