// Every registered data set and transform is in docs/reference/keys and has a test; a data set also has a header and a
// source named after it. The message names the missing one.

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/family.h"
#include "data/source.h"
#include "data/transform.h"
#include "support/test_data.h"

namespace dptrain::data {
namespace {

namespace fs = std::filesystem;

fs::path repository(const std::string& path) { return fs::path(dptrain::test::test_data("..")) / path; }

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// "ImageFolder" -> "image_folder", "CIFAR10" -> "cifar10".
std::string file_name(const std::string& type) {
  if (type == "IDX") return "idx_source";  // idx.h only reads the files
  if (type == "HDF5Dataset") return "hdf5_dataset";
  std::string name;
  for (std::size_t i = 0; i < type.size(); ++i) {
    const auto here = static_cast<unsigned char>(type[i]);
    if (i > 0 && std::isupper(here) && std::islower(static_cast<unsigned char>(type[i - 1]))) name += '_';
    name += static_cast<char>(std::tolower(here));
  }
  return name;
}

/// `page`: of docs/reference/keys, written by `dptrain config --reference`.
void expect_documented_and_tested(const config::Family& family, const std::string& page, std::size_t at_least) {
  const std::string docs = text_of(repository("docs/reference/keys/" + page));
  std::string tests;
  for (const auto& file : fs::recursive_directory_iterator(repository("tests/data")))
    if (file.path().extension() == ".cpp") tests += text_of(file.path());
  for (const std::string& type : family.names()) {
    EXPECT_NE(docs.find("\n## " + type + "\n"), std::string::npos)
        << type << " is not in docs/reference/keys/" << page << "; run dptrain config --reference docs/reference/keys";
    EXPECT_NE(tests.find(type + "Spec"), std::string::npos) << type << " has no test in tests/data";
  }
  EXPECT_GE(family.names().size(), at_least);
}

TEST(Registration, EveryDataSetIsDocumentedAndTested) {
  expect_documented_and_tested(dataset_family(), "datasets.md", 10);
  for (const std::string& type : dataset_family().names()) {
    const std::string name = "src/data/sources/" + file_name(type);
    for (const char* suffix : {".h", ".cpp"})
      EXPECT_TRUE(fs::exists(repository(name + suffix))) << "data set " << type << " has no " << name << suffix;
  }
}
TEST(Registration, EveryTransformIsDocumentedAndTested) {
  expect_documented_and_tested(transform_family(), "transforms.md", 23);
}

}  // namespace
}  // namespace dptrain::data
