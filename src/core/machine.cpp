#include "core/machine.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "core/text.h"

namespace dptrain::machine {
namespace fs = std::filesystem;
namespace {

std::optional<std::string> first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

/// Empty for "max" (no limit) and for invalid text.
std::optional<double> number(const std::string& text) {
  std::istringstream in(text);
  double value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

std::optional<double> number_in(const fs::path& path) {
  const auto line = first_line(path);
  return line ? number(*line) : std::nullopt;
}

/// Value of a name in lines of "name value"; 0 if it is missing.
double entry_in(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  double value = 0;
  while (file >> word >> value)
    if (word == name) return value;
  return 0;
}

/// Folders of the process's group of a controller, and of its parents. Empty controller: version 2.
std::vector<fs::path> groups(const SystemPaths& places, const std::string& controller) {
  std::vector<fs::path> found;
  std::ifstream file(fs::path(places.proc) / "self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/docker/ab12", "0::/user.slice"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::vector<std::string> names = split(controllers, ',');
    if (std::ranges::find(names, controller) == names.end()) continue;
    fs::path root = places.cgroup;
    if (!controller.empty()) root /= fs::exists(root / controllers) ? controllers : controller;
    // In a container the path may be the one outside; the root is then the group itself.
    fs::path inside = fs::path(line.substr(second + 1)).relative_path();
    for (;; inside = inside.parent_path()) {
      found.push_back(root / inside);
      if (inside.empty()) break;
    }
  }
  return found;
}

void lower(double& least, std::optional<double> value) {
  if (value && *value > 0 && (least == 0 || *value < least)) least = *value;
}

void limit_by(Memory& memory, std::optional<double> limit, std::optional<double> used, double cached) {
  if (!limit || !used || *limit >= static_cast<double>(memory.total)) return;
  memory.total = static_cast<std::uint64_t>(*limit);
  const double left = std::max(0.0, *limit - std::max(0.0, *used - cached));
  memory.available = std::min(memory.available, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(left)));
}

/// "48K", "2M".
std::uint64_t cache_bytes(const std::string& text) {
  std::istringstream in(text);
  std::uint64_t value = 0;
  char unit = ' ';
  if (!(in >> value)) return 0;
  in >> unit;
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : unit == 'G' ? value << 30 : value;
}

std::vector<Cache> caches_of_library(const SystemPaths& places) {
  std::vector<Cache> found;
  const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  for (int level = 1; level <= 3; ++level)
    if (const long bytes = sysconf(names[level - 1]); bytes > 0)
      found.push_back({level, static_cast<std::uint64_t>(bytes), level < 3 ? cpus(places) : 1});
  return found;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  return cpus;
}

std::vector<Cache> caches(const SystemPaths& places) {
  // Per level: the total size and the identities of its caches. CPUs that share a cache have equal `shared_cpu_list`.
  std::map<int, std::set<std::string>> instances;
  std::map<int, std::uint64_t> bytes;
  for (const int cpu : allowed_cpus()) {
    const fs::path folder = fs::path(places.cpu) / ("cpu" + std::to_string(cpu)) / "cache";
    for (int index = 0; fs::exists(folder / ("index" + std::to_string(index))); ++index) {
      const fs::path cache = folder / ("index" + std::to_string(index));
      const auto level = number_in(cache / "level");
      const std::uint64_t size = cache_bytes(first_line(cache / "size").value_or(""));
      if (!level || size == 0 || first_line(cache / "type").value_or("") == "Instruction") continue;
      const int n = static_cast<int>(*level);
      if (instances[n].insert(first_line(cache / "shared_cpu_list").value_or(std::to_string(cpu))).second)
        bytes[n] += size;
    }
  }
  std::vector<Cache> found;
  for (const auto& [level, sharers] : instances)
    found.push_back({level, bytes[level] / sharers.size(), static_cast<int>(sharers.size())});
  return found.empty() ? caches_of_library(places) : found;
}

double cpu_quota(const SystemPaths& places) {
  double least = 0;
  for (const fs::path& group : groups(places, ""))
    if (const auto line = first_line(group / "cpu.max")) {  // "50000 100000", "max 100000"
      const std::vector<std::string> words = split(*line, ' ');
      const auto quota = number(words.front()), period = number(words.back());
      if (words.size() == 2 && quota && period && *period > 0) lower(least, *quota / *period);
    }
  for (const fs::path& group : groups(places, "cpu")) {
    const auto quota = number_in(group / "cpu.cfs_quota_us"), period = number_in(group / "cpu.cfs_period_us");
    if (quota && period && *period > 0) lower(least, *quota / *period);  // -1: none
  }
  return least;
}

int cpus(const SystemPaths& places) {
  int allowed = static_cast<int>(allowed_cpus().size());
  if (allowed == 0) allowed = static_cast<int>(std::thread::hardware_concurrency());
  const double quota = cpu_quota(places);
  if (quota > 0) allowed = std::min(allowed, static_cast<int>(std::ceil(quota)));
  return std::max(1, allowed);
}

bool has_huge_pages(const SystemPaths& places) {  // "always [madvise] never": the active one in brackets
  const auto line = first_line(places.huge_pages);
  return line && line->find("[never]") == std::string::npos;
}

Memory memory(const SystemPaths& places) {
  Memory memory;
  std::ifstream file(fs::path(places.proc) / "meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t* const target = word == "MemTotal:"       ? &memory.total
                                  : word == "MemAvailable:" ? &memory.available
                                                            : nullptr;
    if (target != nullptr && file >> *target) *target *= 1024;
  }
  for (const fs::path& group : groups(places, ""))
    limit_by(memory, number_in(group / "memory.max"), number_in(group / "memory.current"),
             entry_in(group / "memory.stat", "inactive_file"));
  for (const fs::path& group : groups(places, "memory"))
    limit_by(memory, number_in(group / "memory.limit_in_bytes"), number_in(group / "memory.usage_in_bytes"),
             entry_in(group / "memory.stat", "total_inactive_file"));
  return memory;
}

namespace {

/// CPUs that share the last-level cache of this one, in the system's notation; "" if unknown.
std::string sharers_of_last_cache(const fs::path& cpu) {
  std::string sharers;
  int last = 0;
  for (int index = 0; fs::exists(cpu / "cache" / ("index" + std::to_string(index))); ++index) {
    const fs::path cache = cpu / "cache" / ("index" + std::to_string(index));
    const std::string level = first_line(cache / "level").value_or("");
    if (level.empty() || level.front() - '0' <= last) continue;
    last = level.front() - '0';
    sharers = first_line(cache / "shared_cpu_list").value_or("");
  }
  return sharers;
}

/// "node1"; "" without NUMA.
std::string node_of(const fs::path& cpu) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(cpu, error))
    if (const std::string name = entry.path().filename(); name.starts_with("node")) return name;
  return "";
}

}  // namespace

std::vector<std::vector<int>> core_groups(const SystemPaths& places, const std::vector<int>& cpus) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> groups;
  std::set<std::string> cores;
  for (const int cpu : cpus) {
    const fs::path folder = fs::path(places.cpu) / ("cpu" + std::to_string(cpu));
    const std::string core = first_line(folder / "topology" / "thread_siblings_list").value_or("");
    if (!core.empty() && !cores.insert(core).second) continue;
    groups[{sharers_of_last_cache(folder), node_of(folder)}].push_back(cpu);
  }
  std::vector<std::vector<int>> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  std::ranges::sort(all);
  return all;
}

Layout layout_of(std::vector<std::vector<int>> groups, int most) {
  constexpr double kMaxIdleShare = 0.1;
  auto left = static_cast<std::size_t>(std::max(1, most));
  std::size_t threads = 1;
  for (std::vector<int>& group : groups) {
    group.resize(std::min(group.size(), left));
    left -= group.size();
    threads = std::max(threads, group.size());
  }
  const auto sum = [&groups](const auto& of_group) {
    return std::accumulate(groups.begin(), groups.end(), std::size_t{0},
                           [&](std::size_t all, const std::vector<int>& group) { return all + of_group(group); });
  };
  const auto cores = static_cast<double>(sum([](const std::vector<int>& group) { return group.size(); }));
  const auto idle = [&](std::size_t n) {
    return static_cast<double>(sum([n](const std::vector<int>& group) { return group.size() % n; }));
  };
  while (threads > 1 && idle(threads) > kMaxIdleShare * cores) --threads;
  Layout layout{.threads = static_cast<int>(threads)};
  const auto step = static_cast<std::ptrdiff_t>(threads);
  for (const std::vector<int>& group : groups)
    for (auto first = group.begin(); group.end() - first >= step; first += step)
      layout.cpus.emplace_back(first, first + step);
  return layout;
}

std::string cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (last > i) text += '-' + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

void bind_thread(const std::vector<int>& cpus) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  if (CPU_COUNT(&set) > 0) static_cast<void>(sched_setaffinity(0, sizeof set, &set));
}

}  // namespace dptrain::machine
