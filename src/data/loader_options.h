#pragma once

// Options of the config section `data.loader`. Plain values.

#include <cstdint>
#include <optional>

#include "config/typed.h"

namespace dptrain::data {

config::Family& dataset_family();
config::Family& transform_family();

struct Shuffle {
  enum class Kind { kFull, kNone, kBuffer } kind = Kind::kFull;
  std::int64_t buffer = 0;  ///< kBuffer: size of the buffer, as in tf.data's shuffle(buffer)
};

struct CacheOptions {
  enum class Kind { kNone, kMemory, kDisk } kind = Kind::kNone;
  std::optional<config::ByteSize>
      limit{};          ///< kMemory; absent: half of the memory that is free when the loader is made
  config::Path folder;  ///< kDisk
  bool operator==(const CacheOptions&) const = default;
};

}  // namespace dptrain::data
