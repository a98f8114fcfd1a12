#include "cli/processes.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "distributed/mpi_transport.h"

namespace dptrain::cli {
namespace {

int run(distributed::Processes& processes, const std::function<int(distributed::Processes* processes)>& body) {
  try {
    const int own = body(&processes);
    const int first = std::stoi(processes.broadcast(std::to_string(own)));
    return first != 0 ? first : own;
  } catch (const std::exception&) {
    const Error error = as_error(std::current_exception());
    std::optional<Error> others = processes.failure();
    if (!others) {
      processes.fail(error);
      if (!processes.is_duplicate_failure()) throw;
    } else if (processes.is_first()) {
      throw Error(*others);
    }
    return others ? others->exit_code() : error.exit_code();  // process 0 prints the message
  }
}

}  // namespace

int run_processes(const std::function<int(distributed::Processes* processes)>& body) {
  const auto launch = distributed::find_launch([](const char* name) { return std::getenv(name); });
  if (!launch) return body(nullptr);
  distributed::Processes processes([&launch] { return distributed::open_mpi(*launch); }, {});
  if (!processes.is_first()) log::set_process_prefix(processes.name(processes.process()));
  log::debug(fmt::format("{} processes on {} machines, {}", processes.count(), processes.hosts(), processes.library()));
  return run(processes, body);
}

}  // namespace dptrain::cli
