#include "distributed/mpi_transport.h"

#include <array>
#include <charconv>
#include <cstring>

#include "core/dynamic_library.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::distributed {
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
        fmt::format("srun has started {} processes that cannot find each other; give srun --mpi=pmix (Open MPI) or "
                    "--mpi=pmi2 (MPICH), see srun --mpi=list, or set DPTRAIN_MPI=none for independent runs",
                    tasks));
  if (!launch || launch->processes == 1) return std::nullopt;
  if (!wanted.empty()) launch->library = wanted;
  launch->shares_memory = shares_memory(environment("DPTRAIN_SHARED_MEMORY"));
  return launch;
}

namespace {

LibraryName module_of(const std::string& library) {
  const bool open = library == "openmpi";
  return {
      .what = open                 ? "dptrain's module for Open MPI"
              : library == "mpich" ? "dptrain's module for MPICH"
                                   : "dptrain's module for the ABI of MPI 5",
      .files = {fmt::format("libdptrain_{}.so", library)},
      .package =
          open ? "Open MPI (package libopenmpi3) and, where dptrain was built without it, libopenmpi-dev before "
                 "building again"
          : library == "mpich"
              ? "MPICH (package libmpich12) and, where dptrain was built without it, libmpich-dev before building again"
              : "an MPI with the ABI of MPI 5, and build dptrain again",
      .otherwise = "start one process without a launcher, or DPTRAIN_MPI=none"};
}

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const Launch& launch)
      : library_(module_of(launch.library)), shares_memory_(launch.shares_memory) {
    api_ = library_.function<ModuleFunction>(kModuleFunction)();
    if (api_->version != kModuleVersion)
      throw Error(ErrorKind::kDevice,
                  fmt::format("{} is from another build of dptrain (version {}, expected {}); build both again",
                              library_.path(), api_->version, kModuleVersion));
    check(api_->init(&process_, &processes_), "MPI_Init_thread");
    if (launch.processes > 0 && processes_ != launch.processes)
      throw Error(ErrorKind::kDevice,
                  fmt::format("the launcher has started {} processes, but {} reports {}; name the launcher's own "
                              "library with DPTRAIN_MPI=openmpi or DPTRAIN_MPI=mpich",
                              launch.processes, library(), processes_));
  }

  int process() const override { return process_; }
  int processes() const override { return processes_; }
  std::string host() const override {
    return read_text([&](char* text, int size) { api_->host(text, size); });
  }
  std::string library() const override {
    return read_text([&](char* text, int size) { api_->library(text, size); });
  }

  bool shares_memory() const override { return shares_memory_; }

  Ticket send(const void* data, std::size_t bytes, int to, int tag) override {
    check_size(bytes);
    Ticket ticket = 0;
    check(api_->send(data, bytes, to, tag, &ticket), "MPI_Isend", to);
    return ticket;
  }

  Ticket receive(void* data, std::size_t bytes, int from, int tag) override {
    check_size(bytes);
    Ticket ticket = 0;
    check(api_->receive(data, bytes, from, tag, &ticket), "MPI_Irecv", from);
    return ticket;
  }

  bool done(Ticket& ticket) override {
    int done = 0;
    std::size_t bytes = 0;
    check(api_->test(&ticket, &done, &bytes), "MPI_Test");
    return done != 0;
  }

  void finalize() override { check(api_->finalize(), "MPI_Finalize"); }

 private:
  template <class Call>
  static std::string read_text(const Call& call) {
    std::array<char, 512> text{};
    call(text.data(), static_cast<int>(text.size()));
    return text.data();
  }

  static void check_size(std::size_t bytes) {
    if (bytes > kMaxMessageBytes || (bytes % sizeof(float) != 0 && bytes > kMaxMessageBytes / sizeof(float)))
      throw Error(ErrorKind::kInternal, fmt::format("a message of {} bytes is too large for MPI", bytes));
  }

  void check(int code, const char* call, int other = -1) const {
    if (code == 0) return;
    const std::string whom = other < 0 ? "" : fmt::format(" (process {})", other);
    throw Error(ErrorKind::kDevice, fmt::format("{}{}: {}", call, whom, read_text([&](char* text, int size) {
                                                  api_->describe(code, text, size);
                                                })));
  }

  const DynamicLibrary library_;
  const bool shares_memory_;
  const ModuleApi* api_ = nullptr;
  int process_ = 0, processes_ = 1;
};

}  // namespace

std::unique_ptr<Transport> open_mpi(const Launch& launch) { return std::make_unique<MpiTransport>(launch); }

}  // namespace dptrain::distributed
