#pragma once

// A value of some family written as in a config.

#include <stdexcept>
#include <string>

#include "config/family.h"
#include "config/load.h"

namespace dptrain::optim {

struct Example {
  config::Typed value;
  std::string errors;  ///< messages, one a line
};

inline Example read(const config::Family& family, const std::string& yaml) {
  config::Diagnostics diagnostics;
  const config::Node node = config::load_text(yaml, "test.yaml", ".", diagnostics);
  config::Reader reader(diagnostics);
  Example example;
  if (diagnostics.ok()) example.value = family.read(node, reader);
  for (const config::Diagnostic& d : diagnostics.errors()) example.errors += d.message + "\n";
  return example;
}

/// The value, which must be right.
inline config::Typed make(const config::Family& family, const std::string& yaml) {
  Example example = read(family, yaml);
  if (!example.value) throw std::runtime_error(yaml + ": " + example.errors);
  return example.value;
}

}  // namespace dptrain::optim
