#pragma once

// Properties that all processes of a run must share before they train together: program, config, kind of devices, data,
// weights. Main thread. `processes` is null if there is only one.

#include <string>
#include <vector>

#include "core/batch_view.h"
#include "core/error.h"
#include "data/on_error.h"
#include "distributed/bucket_sum.h"
#include "distributed/processes.h"
#include "graph/model.h"

namespace dptrain::session {

/// A value to compare: "the settings", and a text that is equal where they are equal.
struct Fact {
  std::string what;
  std::string value;
};

/// Throws Error{kind}, the same in all processes, naming the first process whose fact differs from that of process 0.
void require_equal(distributed::Processes* processes, const std::vector<Fact>& facts, ErrorKind kind);

/// Number of processes on the machine of this process.
int processes_here(const distributed::Processes* processes);
/// Number of processes, including this one, with the same cores of the same machine, which they have to divide.
int processes_on_these_cores(distributed::Processes* processes);

/// Gathers the number of replicas of every process; `local_ranks`: replicas of this one.
distributed::RankLayout make_rank_layout(distributed::Processes* processes, int local_ranks);
World world_of(const distributed::RankLayout& rank_layout);

/// All processes skip a sample that one of them cannot read.
data::BadRowExchange agree_on_bad(distributed::Processes& processes);

/// Checksum of all weights that have values, for a Fact.
std::string checksum_of(const graph::Model& model);

}  // namespace dptrain::session
