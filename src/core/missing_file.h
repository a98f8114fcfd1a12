#pragma once

// What to try where a file or folder that somebody named is not there. Any thread.

#include <string>

namespace dptrain {

/// "; did you mean 'train-images.gz'?" among what lies beside it, or which folder on the way is not there either; ""
/// where nothing is near.
std::string what_to_try_for(const std::string& missing);

}  // namespace dptrain
