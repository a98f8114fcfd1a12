#include "mpi/mpi_transport.h"

#include <array>

#include "core/dynamic_library.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::mpi {
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
              : "an MPI with the ABI of MPI 5, and build again beside it",
      .otherwise = "start one process without a launcher, or DPTRAIN_MPI=none"};
}

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(const Launch& launch)
      : library_(module_of(launch.library)), shares_memory_(launch.shares_memory) {
    api_ = library_.function<ModuleFunction>(kModuleFunction)();
    if (api_->version != kModuleVersion)
      throw Error(ErrorKind::kDevice,
                  fmt::format("{} is of another build of dptrain (version {}, expected {}); build both anew",
                              library_.path(), api_->version, kModuleVersion));
    check(api_->init(&process_, &processes_), "MPI_Init_thread");
    if (launch.processes > 0 && processes_ != launch.processes)
      throw Error(ErrorKind::kDevice,
                  fmt::format("the launcher has started {} processes, but {} sees {}; name the launcher's own library "
                              "with DPTRAIN_MPI=openmpi or DPTRAIN_MPI=mpich",
                              launch.processes, library(), processes_));
  }

  int process() const override { return process_; }
  int processes() const override { return processes_; }
  std::string host() const override {
    return words([&](char* text, int size) { api_->host(text, size); });
  }
  std::string library() const override {
    return words([&](char* text, int size) { api_->library(text, size); });
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
  static std::string words(const Call& call) {
    std::array<char, 512> text{};
    call(text.data(), static_cast<int>(text.size()));
    return text.data();
  }

  static void check_size(std::size_t bytes) {
    if (bytes > kMostBytes || (bytes % sizeof(float) != 0 && bytes > kMostBytes / sizeof(float)))
      throw Error(ErrorKind::kInternal, fmt::format("a message of {} bytes is too large for MPI", bytes));
  }

  void check(int code, const char* call, int other = -1) const {
    if (code == 0) return;
    const std::string whom = other < 0 ? "" : fmt::format(" (process {})", other);
    throw Error(
        ErrorKind::kDevice,
        fmt::format("{}{}: {}", call, whom, words([&](char* text, int size) { api_->describe(code, text, size); })));
  }

  const DynamicLibrary library_;
  const bool shares_memory_;
  const ModuleApi* api_ = nullptr;
  int process_ = 0, processes_ = 1;
};

}  // namespace

std::unique_ptr<Transport> open_mpi(const Launch& launch) { return std::make_unique<MpiTransport>(launch); }

}  // namespace dptrain::mpi
