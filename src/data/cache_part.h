#pragma once

// CachePart: a cache file that is not whole yet, FILE.part, while the processes of this machine that want the same
// samples fill it together: each writes those that it has made, and reads those that others have. Whoever writes the
// last one gives the file its name. Any thread.
//
// All have the file mapped. A sample is there when its flag says so; two processes that make one at once write the same
// bytes. Two locks: everybody holds kPresence with the others, so that who gets it alone knows that there are none, and
// the file is what a killed process has left; kSetUp is held alone for moments, to begin, to give the file its size,
// and to leave.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/once.h"
#include "data/cache.h"
#include "data/cache_file.h"

namespace dptrain::data {

class CachePart {
 public:
  /// Null, with a warning, where processes of another machine or for other samples write it, or it cannot be locked.
  /// Throws Error{kWrite}.
  static std::unique_ptr<CachePart> open(const std::string& file, std::uint64_t key, std::uint64_t samples);
  /// The last one removes what has not become whole.
  ~CachePart();
  CachePart(const CachePart&) = delete;
  CachePart& operator=(const CachePart&) = delete;

  /// As CacheStore's.
  bool find(std::size_t index, ImageView& out);
  void keep(std::size_t index, const Array& sample);
  void give_up(std::size_t index);

 private:
  CachePart(std::string file, std::uint64_t samples, CacheFile open);

  CacheHeader& header() const { return *reinterpret_cast<CacheHeader*>(index_.get()); }
  std::atomic_ref<std::uint8_t> flag(std::size_t i) const { return std::atomic_ref(index_.get()[layout_.flags + i]); }
  std::uint8_t* row(std::size_t i) const { return whole_.get() + layout_.rows + i * header().bytes; }
  bool is_finished() const { return std::atomic_ref(header().finished).load(std::memory_order_acquire) != 0; }
  bool is_shaped() const { return std::atomic_ref(header().shaped).load(std::memory_order_acquire) != 0; }
  void begin(std::uint64_t key);
  bool join(std::uint64_t key);
  void map_index();
  void map_whole();
  void give_shape(const Array& sample);
  void settle(std::size_t i, CacheFlag what);
  void finish();

  const std::string file_, part_;
  const std::uint64_t samples_;
  const CacheLayout layout_;
  CacheFile out_;
  CacheMapping index_;  ///< up to the samples
  CacheMapping whole_;  ///< once there is a shape
  Shape shape_;
  Once shaped_;
  std::vector<std::atomic<bool>> taken_;  ///< by a thread of this process
};

}  // namespace dptrain::data
