#pragma once

// What the processes of a run must have alike before they train together: the program, the config, the kind of devices,
// the data, the weights. Main thread; with one process all of it comes to nothing.

#include <string>
#include <vector>

#include "core/batch_view.h"
#include "core/error.h"
#include "data/on_error.h"
#include "distributed/bucket_sum.h"
#include "distributed/processes.h"
#include "graph/model.h"

namespace dptrain::session {

/// Something that is compared: "the settings", and a text that is equal where they are.
struct Fact {
  std::string what;
  std::string value;
};

/// Throws Error of the kind, the same in all processes, that names the first process whose fact differs from process
/// 0's.
void require_equal(distributed::Processes* processes, const std::vector<Fact>& facts, ErrorKind kind);

/// How many processes are on this one's machine.
int processes_here(const distributed::Processes* processes);
/// How many processes, this one among them, have the same cores of the same machine: a launcher may leave it to them to
/// share them out.
int processes_on_these_cores(distributed::Processes* processes);

/// How many replicas every process has, from how many this one has.
distributed::Seats seats_of(distributed::Processes* processes, int lanes);
World world_of(const distributed::Seats& seats);

/// Samples that cannot be read are left out by all.
data::AgreeOnBad agree_on_bad(distributed::Processes& processes);

/// Of all weights that have values, for a fact.
std::string checksum_of(const graph::Model& model);

}  // namespace dptrain::session
