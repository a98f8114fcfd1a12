#pragma once

// DynamicLibrary: a library loaded at run time, so that the executable starts on machines without it. It stays loaded
// until the process ends, because CUDA's libraries keep threads and handlers that do not survive dlclose. Objects are
// read-only after construction; any thread.

#include <string>
#include <vector>

namespace dptrain {

struct LibraryName {
  std::string what;                        ///< "cuDNN"
  std::vector<std::string> files;          ///< tried in this order: {"libcudnn.so.9"}
  std::string package;                     ///< what to install: "cuDNN 9 for CUDA 13 (package cudnn9-cuda-13)"
  std::string otherwise = "use --cpus N";  ///< what works without it
};

class DynamicLibrary {
 public:
  /// Tries the loader's search path first (LD_LIBRARY_PATH, ld.so.conf), then the folder of the executable, lib/ in it,
  /// ../lib/dptrain and ../lib. Throws Error{kDevice} with the loader's message and the package.
  explicit DynamicLibrary(const LibraryName& name);

  /// `auto* create = library.function<decltype(&cudnnCreate)>("cudnnCreate");` Throws Error{kDevice} if the library has
  /// no such function.
  template <class Pointer>
  Pointer function(const char* symbol) const {
    return reinterpret_cast<Pointer>(address(symbol));
  }
  /// As function(), into a pointer of its type.
  template <class Pointer>
  void fill(Pointer& to, const char* symbol) const {
    to = function<Pointer>(symbol);
  }
  /// Path as reported by the loader.
  const std::string& path() const noexcept { return path_; }

 private:
  void* address(const char* symbol) const;

  LibraryName name_;
  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace dptrain
