// Kills the process with SIGKILL just before one of its calls that change a folder. Preloaded (LD_PRELOAD) by
// tests/e2e/kill_points.sh to kill dptrain between any two of them.
//
//   DPTRAIN_WATCH        the absolute path of the folder; other paths are ignored
//   DPTRAIN_CALLS        a log with one call per line: "write checkpoints/.last.h5.tmp 3" is the third write to that
//                        file. Names omit process ids, so they are the same in each run.
//   DPTRAIN_KILL_BEFORE  the call before which the process is killed
//
// Calls from within libc, such as fwrite's, are not intercepted.

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

struct Watched {
  std::string folder, killed_before;
  int calls = -1;
  std::mutex mutex;
  std::map<std::string, int> seen;

  Watched() {
    const auto variable = [](const char* name) {
      return std::string(std::getenv(name) != nullptr ? std::getenv(name) : "");
    };
    folder = variable("DPTRAIN_WATCH");
    killed_before = variable("DPTRAIN_KILL_BEFORE");
    if (const std::string file = variable("DPTRAIN_CALLS"); !file.empty())
      calls = openat(AT_FDCWD, file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }
};

Watched& watched() {
  static Watched* const value = new Watched;  // never destroyed: calls occur until the process ends
  return *value;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::string absolute(const char* path) {
  if (path == nullptr || path[0] == '/') return path == nullptr ? "" : path;
  char here[4096];
  return getcwd(here, sizeof here) == nullptr ? path : std::string(here) + "/" + path;
}

std::string path_of(int file) {
  char target[4096];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), target, sizeof target);
  return size < 0 ? "" : std::string(target, static_cast<std::size_t>(size));
}

/// ".last.h5.tmp-1234" as ".last.h5.tmp".
std::string without_number(std::string path) {
  const std::size_t at = path.rfind(".tmp-");
  if (at != std::string::npos && path.find_first_not_of("0123456789", at + 5) == std::string::npos) path.resize(at + 4);
  return path;
}

void before(const char* call, const std::string& path) {
  Watched& all = watched();
  if (all.folder.empty() || !path.starts_with(all.folder)) return;
  std::string_view name = path;
  name.remove_prefix(all.folder.size());
  const std::lock_guard lock(all.mutex);
  std::string line = std::string(call) + " ." + without_number(std::string(name));
  line += " " + std::to_string(++all.seen[line]);
  if (line == all.killed_before) kill(getpid(), SIGKILL);
  line += "\n";
  static auto* const write_on = next<ssize_t(int, const void*, std::size_t)>("write");
  if (all.calls >= 0 && write_on(all.calls, line.data(), line.size()) < 0) std::abort();
}

bool changes(int flags) { return (flags & (O_CREAT | O_TRUNC)) != 0; }

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  if (changes(flags)) before("open", absolute(path));
  return next<int(const char*, int, ...)>("open")(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  if (changes(flags)) before("open", absolute(path));
  return next<int(const char*, int, ...)>("open64")(path, flags, mode);
}

FILE* fopen(const char* path, const char* mode) {
  if (mode[0] != 'r') before("open", absolute(path));
  return next<FILE*(const char*, const char*)>("fopen")(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  if (mode[0] != 'r') before("open", absolute(path));
  return next<FILE*(const char*, const char*)>("fopen64")(path, mode);
}

ssize_t write(int file, const void* bytes, std::size_t size) {
  before("write", path_of(file));
  return next<ssize_t(int, const void*, std::size_t)>("write")(file, bytes, size);
}

ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t at) {
  before("write", path_of(file));
  return next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite")(file, bytes, size, at);
}

ssize_t pwrite64(int file, const void* bytes, std::size_t size, off64_t at) {
  before("write", path_of(file));
  return next<ssize_t(int, const void*, std::size_t, off64_t)>("pwrite64")(file, bytes, size, at);
}

int fsync(int file) {
  before("fsync", path_of(file));
  return next<int(int)>("fsync")(file);
}

int close(int file) {
  before("close", path_of(file));
  return next<int(int)>("close")(file);
}

int ftruncate(int file, off_t size) noexcept {
  before("ftruncate", path_of(file));
  return next<int(int, off_t)>("ftruncate")(file, size);
}

int ftruncate64(int file, off64_t size) noexcept {
  before("ftruncate", path_of(file));
  return next<int(int, off64_t)>("ftruncate64")(file, size);
}

int rename(const char* from, const char* to) noexcept {
  before("rename", absolute(to));
  return next<int(const char*, const char*)>("rename")(from, to);
}

int unlink(const char* path) noexcept {
  before("unlink", absolute(path));
  return next<int(const char*)>("unlink")(path);
}

int remove(const char* path) noexcept {
  before("unlink", absolute(path));
  return next<int(const char*)>("remove")(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  before("mkdir", absolute(path));
  return next<int(const char*, mode_t)>("mkdir")(path, mode);
}

}  // extern "C"
