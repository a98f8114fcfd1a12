// kind_of_file: the name of a wrong file's kind in messages.

#include "core/files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/folder.h"

namespace dptrain {
namespace {

using Use = FileKind::Use;

TEST(KindOfFile, UsesFirstBytesAndName) {
  const test::Folder folder;
  const std::string zip("PK\x03\x04\x14\0\0\0", 8);
  struct Case {
    std::string file, head, name;
    Use use;
  };
  const std::vector<Case> all{
      {"net.pt", zip + "archive/data.pkl", "a PyTorch file", Use::kUnreadableModel},
      {"net.zip", zip + "net/data.pkl", "a PyTorch file", Use::kUnreadableModel},
      {"old.pth", "\x80\x02\x8a\x0al", "a PyTorch file", Use::kUnreadableModel},
      {"model.bin", "\x80\x02}q", "a pickle of Python", Use::kUnreadableModel},
      {"model.pkl", "\x80\x04\x95", "a pickle of Python", Use::kUnreadableModel},
      {"NET.ONNX", "\x08\x07", "an ONNX model", Use::kUnreadableModel},
      {"a.keras", zip + "metadata.json", "a Keras model", Use::kModel},
      {"a.h5", "\x89HDF\r\n", "an HDF5 file", Use::kHdf5},
      {"a.safetensors", "\x40\x01", "a safetensors file", Use::kModel},
      {"a.npz", zip + "x.npy", "a file of NumPy arrays", Use::kArrays},
      {"a.npy", "\x93NUMPY\x01", "a NumPy array", Use::kArrays},
      {"a.xlsx", zip + "[Content_Types].xml", "an Excel workbook", Use::kOther},
      {"a.zip", zip + "readme", "a zip archive", Use::kOther},
      {"a.png", "\x89PNG\r\n", "a picture", Use::kPicture},
      {"a.jpg", "\xFF\xD8\xFF\xE0", "a picture", Use::kPicture},
      {"a.csv", "a,b\n", "a table", Use::kTable},
      {"a.yaml", "dptrain: 1\n", "", Use::kOther},
      {"empty.onnx", "", "", Use::kOther},
  };
  for (const Case& one : all) {
    const std::string path = folder / one.file;
    std::ofstream(path, std::ios::binary) << one.head;
    const FileKind kind = kind_of_file(path);
    EXPECT_EQ(kind.name, one.name) << one.file;
    EXPECT_EQ(kind.use, one.use) << one.file;
  }
  EXPECT_EQ(kind_of_file(folder / "missing.pt").name, "");
}

}  // namespace
}  // namespace dptrain
