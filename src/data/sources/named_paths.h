#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/value.h"

namespace dptrain::data {

/// `inputs:` one path, or {input name: path}.
struct NamedPaths {
  std::vector<std::pair<std::string, config::Path>> paths;  ///< name "" when one unnamed
};

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct Value<data::NamedPaths> {
  static bool read(const Node&, Reader&, data::NamedPaths& out);
  static Node write(const data::NamedPaths&);
  static Node schema();
};
}  // namespace dptrain::config
