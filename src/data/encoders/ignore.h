#pragma once

namespace dptrain::data {

/// A column that the model does not see.
struct IgnoreSpec {};

}  // namespace dptrain::data
