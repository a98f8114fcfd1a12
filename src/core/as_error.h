#pragma once

#include <exception>

#include "core/error.h"

namespace dptrain {

/// The message of whatever was thrown.
Error as_error(const std::exception_ptr& failure);

}  // namespace dptrain
