#include "session/agreement.h"

#include <sched.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/crc32.h"
#include "core/format.h"
#include "core/index.h"
#include "core/text.h"

namespace dptrain::session {
namespace {

/// The first lines in which two texts differ.
std::pair<std::string, std::string> difference(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = split(a, '\n'), right = split(b, '\n');
  std::size_t line = 0;
  while (line < left.size() && line < right.size() && left[line] == right[line]) ++line;
  const auto of = [line](const std::vector<std::string>& lines) {
    return line < lines.size() ? "'" + trim(lines[line]) + "'" : std::string("nothing");
  };
  return {of(left), of(right)};
}

}  // namespace

std::string checksum_of(const graph::Model& model) {
  std::uint32_t crc = 0;
  for (const graph::Weight& weight : model.weights) crc = crc32(std::as_bytes(std::span(weight.values)), crc);
  return fmt::format("checksum {:08x}", crc);
}

void require_equal(distributed::Processes* processes, const std::vector<Fact>& facts, ErrorKind kind) {
  if (processes == nullptr) return;
  for (const Fact& fact : facts) {
    const std::vector<std::string> all = processes->gather(fact.value);
    for (int p = 1; p < processes->count(); ++p) {
      if (all[at(p)] == all.front()) continue;
      const auto [theirs, first] = difference(all[at(p)], all.front());
      throw Error(kind,
                  fmt::format("{} of {} differ from those of {}: {} against {}; all processes of a run need the same",
                              fact.what, processes->name(p), processes->name(0), theirs, first));
    }
  }
}

int processes_here(const distributed::Processes* processes) {
  if (processes == nullptr) return 1;
  int here = 0;
  for (int p = 0; p < processes->count(); ++p) here += processes->host(p) == processes->host(processes->process());
  return here;
}

data::BadRowExchange agree_on_bad(distributed::Processes& processes) {
  return [&processes](const std::vector<data::BadRow>& own) {
    const std::vector<std::byte> bytes = data::to_bytes(own);
    std::string all;
    for (const std::string& given : processes.gather({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
      all += given;
    return data::bad_rows_of(std::as_bytes(std::span(all)));
  };
}

int processes_on_these_cores(distributed::Processes* processes) {
  if (processes == nullptr) return 1;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof(cores), &cores);
  std::string mine = processes->host(processes->process()) + ":";
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &cores)) mine += fmt::format(" {}", core);
  return static_cast<int>(std::ranges::count(processes->gather(mine), mine));
}

distributed::RankLayout make_rank_layout(distributed::Processes* processes, int local_ranks) {
  if (processes == nullptr) return {.process = 0, .first_ranks = {0, local_ranks}};
  distributed::RankLayout rank_layout{.process = processes->process(), .first_ranks = {0}};
  for (const std::string& of_process : processes->gather(std::to_string(local_ranks)))
    rank_layout.first_ranks.push_back(rank_layout.first_ranks.back() + std::stoi(of_process));
  return rank_layout;
}

World world_of(const distributed::RankLayout& rank_layout) {
  return {.process = rank_layout.process,
          .processes = rank_layout.processes(),
          .first_rank = rank_layout.first_ranks[at(rank_layout.process)],
          .ranks = rank_layout.ranks()};
}

}  // namespace dptrain::session
