#pragma once

#include <exception>

#include "core/error.h"

namespace dptrain::replica {

/// The message of whatever was thrown.
Error as_error(const std::exception_ptr& failure);

}  // namespace dptrain::replica
