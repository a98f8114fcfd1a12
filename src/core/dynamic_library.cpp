#include "core/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/format.h"

namespace dptrain {
namespace {

namespace fs = std::filesystem;

/// Folders of a bundle and of an installation: that of the executable, lib/ in it, ../lib/dptrain, ../lib.
std::vector<fs::path> folders_of_executable() {
  std::error_code failed;
  const fs::path executable = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  const fs::path folder = executable.parent_path();
  const fs::path beside = folder.parent_path() / "lib";
  return {folder, folder / "lib", beside / "dptrain", beside};
}

std::string path_of(void* handle, const std::string& otherwise) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr || *map->l_name == '\0')
    return otherwise;
  return map->l_name;
}

}  // namespace

DynamicLibrary::DynamicLibrary(const LibraryName& name) : name_(name) {
  std::string error_text;
  const auto open = [&](const std::string& file) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      path_ = path_of(handle_, file);
      return true;
    }
    const char* words = dlerror();
    if (error_text.empty() && words != nullptr) error_text = words;
    return false;
  };
  for (const std::string& file : name.files)
    if (open(file)) return;
  for (const fs::path& folder : folders_of_executable())
    for (const std::string& file : name.files)
      if (const fs::path path = folder / file; fs::exists(path)) {
        error_text.clear();  // the error of a file that exists but cannot be opened is more useful
        if (open(path.string())) return;
      }
  throw Error(ErrorKind::kDevice, fmt::format("{} cannot be opened ({}); install {} or put the folder of {} on "
                                              "LD_LIBRARY_PATH, or {}",
                                              name.what, error_text, name.package, name.files.front(), name.otherwise));
}

void* DynamicLibrary::address(const char* symbol) const {
  if (void* found = dlsym(handle_, symbol)) return found;
  throw Error(ErrorKind::kDevice,
              fmt::format("{} at {} has no function {}; install {}", name_.what, path_, symbol, name_.package));
}

}  // namespace dptrain
