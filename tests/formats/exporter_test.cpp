// The family of exporters: selection by path, documentation and files.

#include "formats/exporter.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/text.h"
#include "formats/export_sample.h"
#include "support/folder.h"
#include "support/test_data.h"

namespace dptrain::formats {
namespace {

std::string folder_of(const Exporter& exporter) {
  std::string name = exporter.name;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

TEST(ExporterRegistration, EveryExporterIsDocumented) {
  const std::filesystem::path root = dptrain::test::test_data("..");
  std::ifstream page(root / "docs/reference/command-line.md");
  const std::string docs((std::istreambuf_iterator<char>(page)), {});
  std::set<std::string> taken;
  for (const Exporter& exporter : exporters()) {
    SCOPED_TRACE(exporter.name);
    EXPECT_TRUE(std::filesystem::is_directory(root / "src/formats" / folder_of(exporter)));
    ASSERT_FALSE(exporter.suffixes.empty());
    for (const std::string& suffix : exporter.suffixes) {
      EXPECT_TRUE(suffix.starts_with(".")) << suffix;
      EXPECT_TRUE(taken.insert(suffix).second) << suffix << " belongs to two exporters";
      EXPECT_EQ(&exporter_of("runs/1/model" + suffix), &exporter);
      EXPECT_NE(docs.find("| `" + suffix + "` |"), std::string::npos)
          << "no row in docs/reference/command-line.md for " << suffix;
    }
  }
  EXPECT_GE(exporters().size(), 1U);
}

TEST(ExporterRegistration, EveryExporterWritesOneCompleteFile) {
  for (const Exporter& exporter : exporters()) {
    SCOPED_TRACE(exporter.name);
    const test::Folder folder;
    const graph::Model model = sample::tiny_cnn();
    const std::string name = "model" + exporter.suffixes.front();
    const std::uint64_t bytes =
        exporter.write(folder / name, {.model = model, .compiled = sample::compiled(), .class_names = {"a", "b"}});
    EXPECT_EQ(folder.files(), std::vector<std::string>{name});
    EXPECT_EQ(std::filesystem::file_size(folder / name), bytes);
    std::uint64_t floats = 0;
    for (const graph::Weight& weight : model.weights) floats += weight.values.size();
    EXPECT_GT(bytes, floats * sizeof(float));
    EXPECT_EQ(exporter.advice(folder / name, model.graph), std::vector<std::string>());
    EXPECT_THROW(exporter.write(folder / "no/such/folder/model", {.model = model}), Error);
  }
}

TEST(Exporter, TheSuffixSelects) {
  EXPECT_EQ(exporter_of("model.h5").name, "Keras");
  EXPECT_EQ(exporter_of("a.b/net-0.5.h5").name, "Keras");
  EXPECT_EQ(exporter_of("model.weights.h5").name, "Keras3");
  for (const char* path : {"model", "model.h5/x", "h5", "model.H5", ""})
    EXPECT_EQ(find_exporter(path), nullptr) << path;
  try {
    exporter_of("runs/model.pb");
    FAIL() << "nothing writes .pb";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'runs/model.pb'"));
    for (const Exporter& exporter : exporters())
      EXPECT_THAT(error.what(), ::testing::HasSubstr(join(exporter.suffixes, ", ") + " (" + exporter.name + ")"));
  }
}

TEST(Exporter, ReportsNotesAboutTheFile) {
  EXPECT_EQ(exporter_of("model.h5").advice("runs/1/model.h5", sample::branched().graph),
            std::vector<std::string>{"Keras has no LocalResponseNormalization: it opens model.h5 with custom_objects "
                                     "(scripts/interop/lrn.py)"});
}

}  // namespace
}  // namespace dptrain::formats
