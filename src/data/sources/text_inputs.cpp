#include "data/sources/text_inputs.h"

#include <filesystem>
#include <iostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/images/image.h"
#include "data/sources/file_list.h"
#include "data/sources/hash.h"
#include "data/sources/labelled_source.h"
#include "data/sources/text.h"

namespace dptrain::data {
namespace {

/// The encoder as `Text` has learned it.
std::unique_ptr<const Encoder> learned_texts(const TextSpec& spec, const std::string& learned) try {
  if (learned.empty())
    throw Error(ErrorKind::kCheckpoint, "the checkpoint holds no words that were learned from texts");
  return restore(spec.vectorization, nlohmann::json::parse(learned).at("learned"));
} catch (const nlohmann::json::exception& error) {
  throw Error(ErrorKind::kCheckpoint,
              fmt::format("what the model has learned of its data cannot be read: {}", error.what()));
}

class TextInputs final : public LabelledSource {
 public:
  TextInputs(const TextSpec& spec, const std::string& learned)
      : LabelledSource("text", {}),
        encoder_(learned_texts(spec, learned)),
        texts_(static_cast<const TextEncoder&>(*encoder_)) {}

  void add(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
      files_.add_folder(path, [](const char* name) { return is_text_file(name); });
    else if (std::filesystem::exists(path, error))
      files_.add_file(path);
    else
      throw Error(ErrorKind::kData, fmt::format("{}: no such file or folder", path));
  }
  void add_lines(std::istream& lines) {
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with('\r')) line.pop_back();
      lines_.push_back(std::move(line));
    }
  }
  void finish() {
    fingerprint_ = fmt::format("texts:{}:{:016x}", size(), files_.hash(kHashStart));
    if (size() == 0) throw Error(ErrorKind::kData, "--input: no texts; expected .txt files, or lines on stdin");
  }

  std::int64_t size() const override {
    return lines_.empty() ? files_.size() : static_cast<std::int64_t>(lines_.size());
  }
  int inputs() const override { return 1; }
  std::string input_name(int) const override { return ""; }
  Shape input_shape(int) const override { return Shape{texts_.ids() > 0 ? texts_.ids() : texts_.floats()}; }
  bool gives(int, DType type) const override { return type == DType::kI32 && texts_.ids() > 0; }
  void read(std::int64_t index, int, Array& out, const ReadHint&) const override {
    out.shape = Shape{texts_.floats()};
    out.type = DType::kF32;
    out.f32.resize(static_cast<std::size_t>(texts_.floats()));
    with_text(index, [&](std::string_view text) { texts_.encode(text, out.f32.data()); });
  }
  void read_exact(std::int64_t index, int, DType, void* out) const override {
    with_text(index, [&](std::string_view text) { texts_.encode_ids(text, static_cast<std::int32_t*>(out)); });
  }
  std::string label_place(std::int64_t index, int) const override {
    return lines_.empty() ? files_.path(index) : fmt::format("stdin:{}", index + 1);
  }

 private:
  template <class F>
  void with_text(std::int64_t index, F&& use) const {
    thread_local std::vector<std::uint8_t> bytes;
    std::string_view text;
    if (lines_.empty()) {
      read_file(files_.path(index), bytes);
      text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    } else {
      text = lines_[static_cast<std::size_t>(index)];
    }
    try {
      use(text);
    } catch (const Error& error) {
      throw error.within(label_place(index, 0));
    }
  }

  std::unique_ptr<const Encoder> encoder_;
  const TextEncoder& texts_;
  FileList files_;
  std::vector<std::string> lines_;  ///< in place of files
};

}  // namespace

std::shared_ptr<const Source> open_texts(const std::vector<std::string>& paths, const TextSpec& spec,
                                         const std::string& learned) {
  const auto texts = std::make_shared<TextInputs>(spec, learned);
  for (const std::string& path : paths) {
    if (path != "-") {
      texts->add(path);
      continue;
    }
    if (paths.size() > 1)
      throw Error(ErrorKind::kUsage, fmt::format("--input -: it must be the only input, found {}", paths.size()));
    texts->add_lines(std::cin);
  }
  texts->finish();
  return texts;
}

}  // namespace dptrain::data
