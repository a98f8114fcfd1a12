#pragma once

// Cache of the loader: stores samples after decoding and the leading transforms that are not random, in memory or in a
// memory-mapped file. The loader's threads store samples when they first read them; any thread. Samples are the same
// with and without a cache.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/loader_options.h"
#include "data/transform.h"

namespace dptrain::data {

/// Stores the samples of one input. Any thread.
class CacheStore {
 public:
  virtual ~CacheStore() = default;
  /// Sets `out` to the stored sample, valid as long as the store; false if it is not stored.
  virtual bool find(std::int64_t index, ImageView& out) const = 0;
  /// Stores the sample if there is space. Throws Error{kUsage} or kWrite if the store is too small for all samples.
  virtual void store_sample(std::int64_t index, const Array& sample) = 0;
  /// Marks a sample that cannot be read, so that the cache can be complete without it.
  virtual void mark_unreadable(std::int64_t /*index*/) {}
};
/// `fixed`: all samples have the same shape. Without a limit, `processes` share half of the free memory.
std::unique_ptr<CacheStore> memory_store(std::int64_t samples, bool fixed, std::optional<config::ByteSize> limit,
                                         int processes = 1);
/// Writes FILE.part and renames it to `file` when it has all samples. Replaces a file with another `key`. Processes of
/// this machine with the same key fill the file together; while processes with another key or machine write it, nothing
/// is stored. Throws Error{kWrite}.
std::unique_ptr<CacheStore> disk_store(const std::string& file, std::int64_t samples, const std::string& key);

/// Returns an equivalent source and pipeline for a loader, with a cache between them. `name`: begins the file's name,
/// as in "train". `processes`: number of the run's processes on this machine. Does not store samples that are already
/// in memory, nor inputs without transforms (ModelSide::is_transformed).
std::pair<std::shared_ptr<const Source>, Pipeline> cached(std::shared_ptr<const Source> source, Pipeline pipeline,
                                                          const CacheOptions& options, const std::string& name,
                                                          int processes = 1, const ModelSide& model = {});

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct Value<data::CacheOptions> {  // none, memory, {memory: 4 GiB}, {disk: PATH}
  static bool read(const Node&, Reader&, data::CacheOptions& out);
  static Node write(const data::CacheOptions&);
  static Node schema();
};
}  // namespace dptrain::config
