#include "bench/processes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "bench/report.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::bench {
namespace {

namespace fs = std::filesystem;

/// A temporary folder, removed by the destructor.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "dptrain-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw Error(ErrorKind::kWrite, fmt::format("{}: {}", name, std::strerror(errno)));
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  fs::path file(const char* name) const { return path_ / name; }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string tail(const std::string& text) {
  constexpr std::size_t kMax = 2000;
  return trim(text.size() > kMax ? text.substr(text.size() - kMax) : text);
}

/// Open MPI needs these settings to oversubscribe one machine; other launchers ignore them.
void allow_many_on_one_machine() {
  setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
  setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);
  setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 0);
  if (geteuid() != 0) return;
  for (const char* prefix : {"OMPI", "PRTE"}) {
    setenv(fmt::format("{}_ALLOW_RUN_AS_ROOT", prefix).c_str(), "1", 0);
    setenv(fmt::format("{}_ALLOW_RUN_AS_ROOT_CONFIRM", prefix).c_str(), "1", 0);
  }
}

/// Runs this executable in several processes with stdout and stderr in the folder. `what` names the run in messages.
void launch(std::int64_t processes, const std::vector<std::string>& words, const Scratch& scratch,
            const std::string& what) {
  std::error_code failed;
  const char* const named = std::getenv("DPTRAIN_MPIRUN");
  const std::string launcher = named == nullptr ? "mpirun" : named;
  std::string command = fmt::format("{} -n {} {}", launcher, processes,
                                    shell_quoted(fs::read_symlink("/proc/self/exe", failed).string()));
  for (const std::string& word : words) command += " " + shell_quoted(word);
  command += fmt::format(" > {0}/results 2> {0}/messages", shell_quoted(scratch.path()));
  allow_many_on_one_machine();
  const int status = std::system(command.c_str());
  const std::string last_output = tail(text_of(scratch.file("results")) + text_of(scratch.file("messages")));
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ErrorKind::kDevice);
  constexpr int kNotFound = 127;
  if (code == kNotFound)
    throw Error(ErrorKind::kDevice, fmt::format("{}: {}: install an MPI (openmpi-bin or mpich), or name its launcher "
                                                "in DPTRAIN_MPIRUN",
                                                what, last_output));
  if (code != 0) throw Error(static_cast<ErrorKind>(code), fmt::format("{}: {}", what, last_output));
}

}  // namespace

std::vector<BenchRow> bench_in_processes(std::int64_t processes, const std::vector<std::string>& words,
                                         const session::DeviceRequest& devices) {
  const Scratch scratch;
  std::vector<std::string> all = words;
  all.insert(all.end(), {"--output", scratch.path()});
  launch(processes, all, scratch, fmt::format("--sweep processes={}", processes));
  std::vector<BenchRow> rows = rows_of_json(text_of(scratch.file("bench.json")));
  for (BenchRow& row : rows) {
    row.devices = devices;
    row.devices.threads = row.threads;
  }
  return rows;
}

MessageLink measure_link_in_processes(int processes) {
  const Scratch scratch;
  launch(processes, {"devices", "--p2p", "--json"}, scratch, "--predict: measuring messages between processes");
  const nlohmann::json all = nlohmann::json::parse(text_of(scratch.file("results")), nullptr, false);
  if (!all.is_object() || !all.contains("messages"))
    throw Error(ErrorKind::kInternal, "dptrain devices --p2p --json of several processes names no messages");
  return {.bytes_per_second = all["messages"].value("bytes_per_second", 0.0),
          .latency = all["messages"].value("latency_seconds", 0.0),
          .slowdown = 1};
}

}  // namespace dptrain::bench
