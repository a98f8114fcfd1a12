#pragma once

// Data sets read from YAML.

#include <gtest/gtest.h>

#include <string>

#include "config/diagnostics.h"
#include "config/family.h"
#include "config/source_text.h"
#include "data/source.h"

namespace dptrain::data {

/// The data set of `CSV: {...}`; FOLDER is replaced by `folder`, which ends with a slash.
inline config::Typed data_set_of(std::string yaml, const std::string& folder) {
  for (std::size_t at; (at = yaml.find("FOLDER")) != std::string::npos;) yaml.replace(at, 6, folder);
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const auto text = config::SourceText::check(yaml, "test.yaml", "", diagnostics);
  config::Typed typed = dataset_family().read(config::parse_yaml(*text, diagnostics), reader);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.render(ErrorKind::kUsage);
  return typed;
}

}  // namespace dptrain::data
