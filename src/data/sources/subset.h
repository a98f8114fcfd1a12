#pragma once

// Subset: some samples of another source, in a given order, sharing its memory. What `take` and Split make. Immutable.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/source.h"

namespace dptrain::data {

/// Samples `indices` of `whole`. `label` says which, for the fingerprint.
std::shared_ptr<const Source> subset(std::shared_ptr<const Source> whole, std::vector<std::int64_t> indices,
                                     const std::string& label);
/// The first `count` samples; `whole` itself when it has no more.
std::shared_ptr<const Source> take(std::shared_ptr<const Source> whole, std::int64_t count);

}  // namespace dptrain::data
