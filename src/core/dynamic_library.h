#pragma once

// A library opened while the program runs, so that the same executable starts on machines that do not have it. Stays
// open until the process ends: CUDA's libraries keep threads and handlers that do not survive dlclose. Objects are
// read-only after construction and may be used from any thread.

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
  /// Each file is tried as the loader finds it (LD_LIBRARY_PATH, ld.so.conf), then beside the executable, in lib/ under
  /// it, in ../lib/dptrain and ../lib. Throws Error{kDevice}: one sentence with the loader's words and the package.
  explicit DynamicLibrary(const LibraryName& name);

  /// `auto* create = library.function<decltype(&cudnnCreate)>("cudnnCreate");` Throws Error{kDevice} where the library
  /// has no such function.
  template <class Pointer>
  Pointer function(const char* symbol) const {
    return reinterpret_cast<Pointer>(address(symbol));
  }
  /// The same into a pointer of its type.
  template <class Pointer>
  void fill(Pointer& to, const char* symbol) const {
    to = function<Pointer>(symbol);
  }
  /// The file as the loader has it.
  const std::string& path() const noexcept { return path_; }

 private:
  void* address(const char* symbol) const;

  LibraryName name_;
  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace dptrain
