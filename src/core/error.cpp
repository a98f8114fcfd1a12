#include "core/error.h"

#include <new>

namespace dptrain {

Error as_error(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorKind::kMemory, "out of memory"};
  } catch (const std::exception& error) {
    return {ErrorKind::kInternal, error.what()};
  } catch (...) {
    return {ErrorKind::kInternal, "unknown exception"};
  }
}

}  // namespace dptrain
