#pragma once

#include "config/source_text.h"

namespace dptrain::config {

/// The tree of one YAML document, null after a syntax error. Any thread.
Node parse_yaml(const SourceText& source, Diagnostics& diagnostics);

}  // namespace dptrain::config
