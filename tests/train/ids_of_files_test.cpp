// Training on the same ids from different kinds of files is bit-identical.

#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/files.h"
#include "train/trainer.h"

namespace dptrain::train {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSentences = 30, kWords = 6;

class IdsOfFiles : public ::testing::Test {
 protected:
  IdsOfFiles() : folder_(fs::temp_directory_path() / ("dptrain-ids-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (std::uint32_t i = 0; i < kSentences * kWords; ++i) words_.push_back(static_cast<std::int32_t>(i * i % 47));
    for (std::uint32_t i = 0; i < kSentences; ++i) kinds_.push_back(words_[i * kWords] % 3);
  }
  ~IdsOfFiles() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  void write_idx(const std::string& name, const std::vector<std::uint32_t>& extents,
                 const std::vector<std::int32_t>& values) const {
    std::string bytes{0, 0, 0x0C, static_cast<char>(extents.size())};
    const auto put = [&](std::uint32_t value) {
      for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFFU);
    };
    for (const std::uint32_t extent : extents) put(extent);
    for (const std::int32_t value : values) put(static_cast<std::uint32_t>(value));
    write(name, bytes);
  }
  void write_npy(const std::string& name, const std::string& shape, const std::vector<std::int32_t>& values) const {
    const std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': " + shape + "}\n";
    std::string bytes = "\x93NUMPY\x01";
    bytes += '\0';
    bytes += static_cast<char>(header.size());
    bytes += '\0';
    bytes += header;
    for (const std::int64_t value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    write(name, bytes);
  }
  void write_hdf5() const {
    const std::lock_guard lock(hdf5_mutex());
    const hid_t file = H5Fcreate(path("words.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t shape[2]{kSentences, kWords};
    for (const auto& [name, rank, values] : {std::tuple{"words", 2, &words_}, std::tuple{"kinds", 1, &kinds_}}) {
      const hid_t space = H5Screate_simple(rank, shape, nullptr);
      const hid_t set = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      H5Dwrite(set, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values->data());
      H5Dclose(set);
      H5Sclose(space);
    }
    H5Fclose(file);
  }

  /// The loss of two epochs with that data set.
  double loss(const std::string& train, std::int64_t batch = 8) {
    const std::string text =
        "dptrain: 1\nname: ids\nmodel: {layers: [{Input: {shape: [6], dtype: int32}}, {Embedding: {input_dim: 47, "
        "output_dim: 5}}, Flatten, {Dense: {units: 3, activation: softmax}}]}\ndata: {train: " +
        train + "}\ntrain: {epochs: 2, batch_size: " + std::to_string(batch) +
        ", loss: sparse_categorical_crossentropy, optimizer: {SGD: {learning_rate: 0.5}}}\n";
    const experiment::Experiment experiment = experiment::load_experiment_text(text, "ids.yaml", {});
    session::SessionOptions options;
    options.devices = session::DeviceRequest{.replicas = 1, .threads = 1};
    session::Session session(experiment, options);
    RunOptions run_options;
    run_options.directory = path(std::to_string(runs_++));
    RunDirectory run(experiment, run_options, {});
    Trainer trainer(session, run, {.epochs = {}, .steps = {}, .progress = ProgressMode::kOff});
    trainer.fit();
    std::ifstream table(run.file("train.csv"));
    std::string names, row;
    std::getline(table, names);
    while (table.peek() != EOF) std::getline(table, row);
    losses_.push_back(row);
    return std::stod(value_of(names, row, "loss"));
  }
  static std::string value_of(std::string names, std::string row, const std::string& wanted) {
    names += ',', row += ',';
    while (!names.empty()) {
      const std::size_t name = names.find(','), value = row.find(',');
      if (names.substr(0, name) == wanted) return row.substr(0, value);
      names.erase(0, name + 1), row.erase(0, value + 1);
    }
    return "";
  }

  fs::path folder_;
  std::vector<std::int32_t> words_, kinds_;
  std::vector<std::string> losses_;
  int runs_ = 0;
};

TEST_F(IdsOfFiles, TrainAlike) {
  write_idx("words.idx", {kSentences, kWords}, words_);
  write_idx("kinds.idx", {kSentences}, kinds_);
  write_npy("words.npy", "(30, 6)", words_);
  write_npy("kinds.npy", "(30,)", kinds_);
  write_hdf5();
  const double idx = loss("{IDX: {inputs: " + path("words.idx") + ", labels: " + path("kinds.idx") + "}}");
  EXPECT_EQ(loss("{Numpy: {inputs: " + path("words.npy") + ", labels: " + path("kinds.npy") + "}}"), idx);
  EXPECT_EQ(loss("{HDF5Dataset: {file: " + path("words.h5") + ", inputs: words, labels: kinds}}"), idx);
  EXPECT_GT(idx, 0.1);
  EXPECT_LT(idx, 1.2) << "the first word determines the class";
  for (std::int32_t& word : words_) word = (word + 1) % 47;
  write_npy("words.npy", "(30, 6)", words_);
  EXPECT_NE(loss("{Numpy: {inputs: " + path("words.npy") + ", labels: " + path("kinds.npy") + "}}"), idx);
}

/// The label of each window of six words is the next word.
TEST_F(IdsOfFiles, WindowsOfAText) {
  std::vector<std::int32_t> text, next;
  for (int i = 0; i < 70; ++i) text.push_back(i * 7 % 3);
  write_npy("text.npy", "(70,)", text);
  std::vector<std::int32_t> rows;
  for (std::size_t first = 0; first + 6 < text.size(); ++first) {
    rows.insert(rows.end(), text.begin() + static_cast<std::ptrdiff_t>(first),
                text.begin() + static_cast<std::ptrdiff_t>(first) + 6);
    next.push_back(text[first + 6]);
  }
  write_npy("rows.npy", "(64, 6)", rows);
  write_npy("next.npy", "(64,)", next);
  EXPECT_EQ(loss("{Windows: {of: {Numpy: {inputs: " + path("text.npy") + "}}, sequence_length: 6}}"),
            loss("{Numpy: {inputs: " + path("rows.npy") + ", labels: " + path("next.npy") + "}}"));
}

TEST_F(IdsOfFiles, NamesAnIdBeyondTheEmbedding) {
  words_[9] = 47;
  write_npy("words.npy", "(30, 6)", words_);
  write_npy("kinds.npy", "(30,)", kinds_);
  try {
    loss("{Numpy: {inputs: " + path("words.npy") + ", labels: " + path("kinds.npy") + "}}");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_NE(std::string(error.what()).find("row 1 contains the id 47"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace dptrain::train
