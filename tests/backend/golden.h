#pragma once

// Reference values computed by Keras 3, in tests/golden.

#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "config/config_loader.h"
#include "config/diagnostics.h"
#include "config/family.h"
#include "support/test_data.h"

namespace dptrain::test {

inline nlohmann::json golden(const std::string& file) {
  std::ifstream in(dptrain::test::test_data("golden/" + file));
  if (!in) throw std::runtime_error("tests/golden/" + file + " is missing");
  return nlohmann::json::parse(in);
}

/// A value of a family from Keras's class name and arguments; JSON is YAML.
inline config::Typed from_keras(const config::Family& family, const std::string& name,
                                const nlohmann::json& arguments) {
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const auto node = config::load_text(nlohmann::json{{name, arguments}}.dump(), "golden", "", diagnostics);
  config::Typed typed = family.read(node, reader);
  diagnostics.throw_if_errors();
  return typed;
}

/// All numbers of nested lists, in order.
inline void flatten(const nlohmann::json& value, std::vector<double>& out) {
  if (value.is_array())
    for (const auto& item : value) flatten(item, out);
  else
    out.push_back(value.get<double>());
}
inline std::vector<double> flat(const nlohmann::json& value) {
  std::vector<double> all;
  flatten(value, all);
  return all;
}

}  // namespace dptrain::test
