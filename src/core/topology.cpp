#include "core/topology.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace dptrain::machine {
namespace fs = std::filesystem;
namespace {

std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The CPUs that share its last cache, as the system writes them; "" where it does not.
std::string sharers_of_last_cache(const fs::path& cpu) {
  std::string sharers;
  int last = 0;
  for (int index = 0; fs::exists(cpu / "cache" / ("index" + std::to_string(index))); ++index) {
    const fs::path cache = cpu / "cache" / ("index" + std::to_string(index));
    const std::string level = line_of(cache / "level");
    if (level.empty() || level.front() - '0' <= last) continue;
    last = level.front() - '0';
    sharers = line_of(cache / "shared_cpu_list");
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

std::vector<std::vector<int>> core_groups(const Places& places, const std::vector<int>& cpus) {
  std::map<std::pair<std::string, std::string>, std::vector<int>> groups;
  std::set<std::string> cores;
  for (const int cpu : cpus) {
    const fs::path folder = fs::path(places.cpu) / ("cpu" + std::to_string(cpu));
    const std::string core = line_of(folder / "topology" / "thread_siblings_list");
    if (!core.empty() && !cores.insert(core).second) continue;
    groups[{sharers_of_last_cache(folder), node_of(folder)}].push_back(cpu);
  }
  std::vector<std::vector<int>> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  std::ranges::sort(all);
  return all;
}

Layout layout_of(std::vector<std::vector<int>> groups, int most) {
  constexpr double kMostIdle = 0.1;
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
  while (threads > 1 && idle(threads) > kMostIdle * cores) --threads;
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
