#include "cli/processes.h"

#include <cstdlib>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "mpi/launcher.h"
#include "mpi/mpi_transport.h"

namespace dptrain::cli {
namespace {

/// As the application would report it.
Error as_error(const std::exception& error) {
  if (const auto* known = dynamic_cast<const Error*>(&error)) return *known;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return {ErrorKind::kMemory, "out of memory"};
  return {ErrorKind::kInternal, error.what()};
}

int run(mpi::Processes& processes, const std::function<int(mpi::Processes* processes)>& body) {
  try {
    const int own = body(&processes);
    const int first = std::stoi(processes.broadcast(std::to_string(own)));
    return first != 0 ? first : own;
  } catch (const std::exception& error) {
    std::optional<Error> others = processes.failure();
    if (!others) {
      processes.fail(as_error(error));
      if (!processes.is_echo()) throw;
    } else if (processes.is_first()) {
      throw Error(*others);
    }
    return others ? others->exit_code() : as_error(error).exit_code();  // process 0 tells
  }
}

}  // namespace

int together(const std::function<int(mpi::Processes* processes)>& body) {
  const auto launch = mpi::find_launch([](const char* name) { return std::getenv(name); });
  if (!launch) return body(nullptr);
  mpi::Processes processes([&launch] { return mpi::open_mpi(*launch); }, {});
  if (!processes.is_first()) log::speak_as(processes.name(processes.process()));
  log::debug(fmt::format("{} processes on {} machines, {}", processes.count(), processes.hosts(), processes.library()));
  return run(processes, body);
}

}  // namespace dptrain::cli
