#pragma once

// The loader's cache: what decoding and the transforms without randomness make of a sample is kept, in memory or in a
// file that is mapped into memory, and later epochs begin there. Filled by the loader's threads as they first meet a
// sample; any thread reads. A sample looks the same with a cache and without.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/loader_options.h"
#include "data/transform.h"

namespace dptrain::data {

/// Where samples of one input are kept. Any thread.
class CacheStore {
 public:
  virtual ~CacheStore() = default;
  /// False: not kept.
  virtual bool find(std::int64_t index, ImageView& out) const = 0;
  /// Keeps it if there is room. Throws Error{kUsage} or kWrite where it is known that there is none for all.
  virtual void keep(std::int64_t index, const Array& sample) = 0;
  /// The sample cannot be read, so nobody need wait for it.
  virtual void give_up(std::int64_t /*index*/) {}
};
/// `fixed`: all samples have one shape. Without a limit this is one of so many processes that share the memory.
std::unique_ptr<CacheStore> memory_store(std::int64_t samples, bool fixed, std::optional<config::ByteSize> limit,
                                         int processes = 1);
/// `file` is written under another name and renamed once all samples are in it; `key` says what they are made of, and a
/// file with another key is replaced. Processes of this machine that want the same samples write it together, each with
/// those that it makes, and find each other's at once. While others write it, nothing is kept. Throws Error{kWrite}.
std::unique_ptr<CacheStore> disk_store(const std::string& file, std::int64_t samples, const std::string& key);

/// A source and a pipeline that are the same to a loader, and which of the first one's results are kept. `name`, such
/// as "train", tells the files of one folder apart. `processes` of the run are on this machine. Samples that lie in
/// memory anyway are not kept again, nor are inputs of `model` that transforms pass by (ModelSide::is_transformed).
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
