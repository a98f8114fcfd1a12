// Each registered callback has a definition, a test and documentation. Failures name what is missing.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "experiment/callback_type.h"
#include "support/test_data.h"
#include "train/callback_def.h"

namespace dptrain::train {
namespace {

/// "EarlyStopping" -> "early_stopping", "CSVLogger" -> "csv_logger", "ReduceLROnPlateau" -> "reduce_lr_on_plateau".
std::string callback_file(const std::string& callback) {
  if (callback == "TerminateOnNaN") return "terminate_on_nan";
  const auto upper = [&](std::size_t i) { return std::isupper(static_cast<unsigned char>(callback[i])) != 0; };
  std::string name;
  for (std::size_t i = 0; i < callback.size(); ++i) {
    const bool begins = i > 0 && upper(i) && (!upper(i - 1) || (i + 1 < callback.size() && !upper(i + 1)));
    if (begins) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(callback[i])));
  }
  return name;
}

TEST(CallbackRegistration, EveryCallbackIsDocumentedAndTested) {
  const std::filesystem::path root = dptrain::test::test_data("..");
  std::ifstream docs(root / "docs/reference/keys/callbacks.md");
  const std::string text((std::istreambuf_iterator<char>(docs)), {});
  for (const config::TypeDef* def : experiment::callback_family().types()) {
    const std::string name = callback_file(def->name);
    for (const std::string& file : {"src/train/callbacks/" + name + ".h", "src/train/callbacks/" + name + ".cpp",
                                    "tests/train/" + name + "_test.cpp"})
      EXPECT_TRUE(std::filesystem::exists(root / file)) << "callback " << def->name << " has no " << file;
    EXPECT_NE(text.find("\n## " + def->name + "\n"), std::string::npos)
        << def->name
        << " is not in docs/reference/keys/callbacks.md; run dptrain config --reference docs/reference/keys";
    EXPECT_NE(static_cast<const CallbackDef&>(*def).make(def->schema.make().get()), nullptr) << def->name;
  }
  EXPECT_GE(experiment::callback_family().types().size(), 7U);
}

}  // namespace
}  // namespace dptrain::train
