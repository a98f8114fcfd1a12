#pragma once

// SharedMemory: memory that processes of one machine have in common. It has no name that could be left over: it ends
// with the last process that holds it, however that one ends, and /dev/shm, which containers keep small, does not limit
// it. Whoever makes it tells the others its Handle; they open it while the maker holds it. Any thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dptrain::mpi {

class SharedMemory {
 public:
  /// Plain bytes, to be sent. Empty (no bytes): nothing to open.
  struct Handle {
    std::int64_t process = 0, descriptor = 0;
    std::uint64_t bytes = 0, mark = 0;
  };

  static std::string packed(const std::vector<Handle>& handles);
  static std::vector<Handle> unpacked(const std::string& bytes);

  /// Zero-filled, on a page. Throws Error{kMemory}.
  static std::shared_ptr<SharedMemory> make(std::size_t bytes);
  /// Null: it cannot be reached from here (another machine, container or user), or its maker has let it go.
  static std::shared_ptr<SharedMemory> open(const Handle& handle);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  Handle handle() const { return handle_; }
  std::byte* data() const;
  std::size_t bytes() const { return handle_.bytes; }
  template <class T>
  T* as(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(data() + offset);
  }

 private:
  SharedMemory(int descriptor, const Handle& handle);

  const int descriptor_;
  const Handle handle_;
  void* mapped_ = nullptr;
};

}  // namespace dptrain::mpi
