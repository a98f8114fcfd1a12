#pragma once

#include "core/error.h"

namespace dptrain::test {

/// The Error that f() throws; kInternal without a message if it throws none.
template <class F>
Error error_thrown(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::kInternal, ""};
}

}  // namespace dptrain::test
