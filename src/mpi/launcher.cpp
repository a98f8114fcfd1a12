#include "mpi/launcher.h"

#include <charconv>
#include <cstring>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::mpi {
namespace {

int number_of(const char* text) {
  int number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

bool shares_memory(const char* asked) {
  const std::string wanted = asked == nullptr ? "" : asked;
  if (!wanted.empty() && wanted != "none")
    throw Error(ErrorKind::kUsage, fmt::format("DPTRAIN_SHARED_MEMORY: found '{}', expected none", wanted));
  return wanted.empty();
}

}  // namespace

std::optional<Launch> find_launch(const std::function<const char*(const char* name)>& environment) {
  const auto is_set = [&](const char* name) { return environment(name) != nullptr; };
  const char* const asked = environment("DPTRAIN_MPI");
  const std::string wanted = asked == nullptr ? "" : asked;
  if (wanted == "none") return std::nullopt;
  if (!wanted.empty() && wanted != "openmpi" && wanted != "mpich" && wanted != "abi")
    throw Error(ErrorKind::kUsage,
                fmt::format("DPTRAIN_MPI: found '{}', expected openmpi, mpich, abi or none", wanted));

  const int tasks = is_set("SLURM_STEP_ID") ? number_of(environment("SLURM_STEP_NUM_TASKS")) : 0;
  std::optional<Launch> launch;
  if (is_set("OMPI_COMM_WORLD_SIZE"))
    launch = {.library = "openmpi", .processes = number_of(environment("OMPI_COMM_WORLD_SIZE"))};
  else if (is_set("PMI_SIZE"))
    launch = {.library = "mpich", .processes = number_of(environment("PMI_SIZE"))};
  else if (is_set("PMIX_RANK"))
    launch = {.library = "openmpi", .processes = tasks};
  else if (is_set("PMI_RANK"))
    launch = {.library = "mpich", .processes = tasks};
  else if (tasks > 1)
    throw Error(
        ErrorKind::kUsage,
        fmt::format("srun has started {} processes that cannot find each other; give srun --mpi=pmix (Open MPI) "
                    "or --mpi=pmi2 (MPICH), see srun --mpi=list, or DPTRAIN_MPI=none for runs of their own",
                    tasks));
  if (!launch || launch->processes == 1) return std::nullopt;
  if (!wanted.empty()) launch->library = wanted;
  launch->shares_memory = shares_memory(environment("DPTRAIN_SHARED_MEMORY"));
  return launch;
}

}  // namespace dptrain::mpi
