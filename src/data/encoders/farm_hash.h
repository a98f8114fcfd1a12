#pragma once

// The hashes that Keras's lookups find bins by. Pure.

#include <cstdint>
#include <string_view>

namespace dptrain::data {

/// FarmHash's Fingerprint64: tf.strings.to_hash_bucket_fast, before it takes the remainder.
std::uint64_t farm_fingerprint(std::string_view word);

/// SipHash-2-4 with the key (low, high): tf.strings.to_hash_bucket_strong.
std::uint64_t sip_hash(std::string_view word, std::uint64_t low, std::uint64_t high);

}  // namespace dptrain::data
