// Implementation of distributed/mpi/api.h for the MPI that this file is compiled against. Not part of the executable.

#include <mpi.h>

#include <cstdio>
#include <cstring>

#include "distributed/mpi/api.h"

namespace dptrain::distributed {
namespace {

MPI_Comm communicator = MPI_COMM_NULL;

static_assert(sizeof(MPI_Request) <= sizeof(Ticket));

Ticket ticket_of(MPI_Request request) {
  Ticket ticket = 0;
  std::memcpy(&ticket, &request, sizeof(request));
  return ticket;
}

MPI_Request request_of(Ticket ticket) {
  MPI_Request request = MPI_REQUEST_NULL;
  std::memcpy(&request, &ticket, sizeof(request));
  return request;
}

int init(int* process, int* processes) {
  int given = 0;
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given); code != MPI_SUCCESS) return code;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (const int code = MPI_Comm_dup(MPI_COMM_WORLD, &communicator); code != MPI_SUCCESS) return code;
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  if (const int code = MPI_Comm_rank(communicator, process); code != MPI_SUCCESS) return code;
  return MPI_Comm_size(communicator, processes);
}

int finalize() { return MPI_Finalize(); }

void copy(const char* full_text, char* text, int size) {
  std::snprintf(text, static_cast<std::size_t>(size), "%.*s", static_cast<int>(std::strcspn(full_text, "\n")),
                full_text);
}

void host(char* text, int size) {
  char full_text[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  MPI_Get_processor_name(full_text, &length);
  copy(full_text, text, size);
}

void library(char* text, int size) {
  char full_text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(full_text, &length);
  copy(full_text, text, size);
}

void describe(int code, char* text, int size) {
  char full_text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, full_text, &length);
  copy(full_text, text, size);
}

/// MPI datatype and count of a message.
struct Units {
  MPI_Datatype type = MPI_BYTE;
  int count = 0;
};

/// Sender and receiver choose the same datatype, because both use the same size.
Units units_of(std::size_t bytes) {
  constexpr std::size_t kFloat = sizeof(float);
  return bytes % kFloat == 0 ? Units{MPI_FLOAT, static_cast<int>(bytes / kFloat)}
                             : Units{MPI_BYTE, static_cast<int>(bytes)};
}

int send(const void* data, std::size_t bytes, int to, int tag, Ticket* ticket) {
  MPI_Request request = MPI_REQUEST_NULL;
  const Units units = units_of(bytes);
  const int code = MPI_Isend(data, units.count, units.type, to, tag, communicator, &request);
  *ticket = ticket_of(request);
  return code;
}

int receive(void* data, std::size_t bytes, int from, int tag, Ticket* ticket) {
  MPI_Request request = MPI_REQUEST_NULL;
  const Units units = units_of(bytes);
  const int code = MPI_Irecv(data, units.count, units.type, from, tag, communicator, &request);
  *ticket = ticket_of(request);
  return code;
}

int test(Ticket* ticket, int* done, std::size_t* bytes) {
  MPI_Request request = request_of(*ticket);
  MPI_Status status;
  if (const int code = MPI_Test(&request, done, &status); code != MPI_SUCCESS) return code;
  *ticket = ticket_of(request);
  *bytes = 0;
  if (*done == 0) return MPI_SUCCESS;
  int count = 0;
  const int code = MPI_Get_count(&status, MPI_BYTE, &count);
  if (count >= 0) *bytes = static_cast<std::size_t>(count);
  return code;
}

constexpr ModuleApi kApi{.version = kModuleVersion,
                         .init = init,
                         .finalize = finalize,
                         .host = host,
                         .library = library,
                         .describe = describe,
                         .send = send,
                         .receive = receive,
                         .test = test};

}  // namespace
}  // namespace dptrain::distributed

extern "C" __attribute__((visibility("default"))) const dptrain::distributed::ModuleApi* dptrain_mpi_module() {
  return &dptrain::distributed::kApi;
}
