// Text files in class folders as a Source. Stores file names; read() and fit() open the files.

#include "data/sources/text.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/diagnostics.h"
#include "config/source_text.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/images/image.h"
#include "data/sources/class_folders.h"
#include "data/sources/file_list.h"
#include "data/sources/hash.h"
#include "data/sources/labelled_source.h"

namespace dptrain::data {
namespace {

/// The encoder that a `Text` data set has fitted.
std::unique_ptr<const Encoder> restore_vectorization(const TextSpec& spec, const std::string& fitted_state) try {
  if (fitted_state.empty()) throw Error(ErrorKind::kCheckpoint, "the checkpoint contains no vocabulary of texts");
  return restore(spec.vectorization, nlohmann::json::parse(fitted_state).at("learned"));
} catch (const nlohmann::json::exception& error) {
  throw Error(ErrorKind::kCheckpoint, fmt::format("the fitted state of the data cannot be read: {}", error.what()));
}

/// The file's bytes, valid until the thread's next call.
std::string_view text_of(const std::string& path) {
  thread_local std::vector<std::uint8_t> bytes;
  read_file(path, bytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class TextInputs final : public LabelledSource {
 public:
  TextInputs(const TextSpec& spec, const std::string& fitted_state)
      : LabelledSource("text", {}),
        encoder_(restore_vectorization(spec, fitted_state)),
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
  bool can_read_exact(int, DType type) const override { return type == DType::kI32 && texts_.ids() > 0; }
  void read(std::int64_t index, int, Array& out, const ReadHint&) const override {
    out.shape = Shape{texts_.floats()};
    out.type = DType::kF32;
    out.f32.resize(static_cast<std::size_t>(texts_.floats()));
    use_text(index, [&](std::string_view text) { texts_.encode(text, out.f32.data()); });
  }
  void read_exact(std::int64_t index, int, DType, void* out) const override {
    use_text(index, [&](std::string_view text) { texts_.encode_ids(text, static_cast<std::int32_t*>(out)); });
  }
  std::string label_place(std::int64_t index, int) const override {
    return lines_.empty() ? files_.path(index) : fmt::format("stdin:{}", index + 1);
  }

 private:
  template <class F>
  void use_text(std::int64_t index, F&& use) const {
    const std::string_view text =
        lines_.empty() ? text_of(files_.path(index)) : lines_[static_cast<std::size_t>(index)];
    try {
      use(text);
    } catch (const Error& error) {
      throw error.within(label_place(index, 0));
    }
  }

  std::unique_ptr<const Encoder> encoder_;
  const TextEncoder& texts_;
  FileList files_;
  std::vector<std::string> lines_;  ///< lines of stdin, in place of files
};

}  // namespace

std::shared_ptr<const Source> open_texts(const std::vector<std::string>& paths, const TextSpec& spec,
                                         const std::string& fitted_state) {
  const auto texts = std::make_shared<TextInputs>(spec, fitted_state);
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

namespace {

using TextJson = nlohmann::json;
constexpr const char* kTextKind = "Text";
constexpr std::int64_t kMinTexts = 256;  // texts per thread, at least, when words are counted

/// Calls use(text). Rethrows Error{kData} as SampleError with the file's path.
template <class F>
void with_text(const std::string& path, F&& use) {
  const std::string_view text = text_of(path);
  try {
    use(text);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kData) throw;
    throw SampleError({.file = path, .byte = -1, .reason = error.what()});
  }
}

class TextColumn final : public TrainingColumn {
 public:
  TextColumn(const FileList& files, const std::vector<std::int64_t>& samples, bool skips)
      : files_(files), samples_(samples), skips_(skips) {}

  std::int64_t rows() const override { return static_cast<std::int64_t>(samples_.size()); }
  void numbers(const std::function<void(std::span<const double>)>&) const override { fail(); }
  std::vector<Word> words() const override { fail(); }
  std::int64_t missing_words() const override { fail(); }
  void texts(const std::function<void(std::string_view)>& take) const override { read(0, samples_.size(), take); }
  int text_parts() const override {
    return static_cast<int>(
        std::clamp<std::int64_t>(rows() / kMinTexts, 1, std::max(1U, std::thread::hardware_concurrency())));
  }
  void texts_of(int part, const std::function<void(std::string_view)>& take) const override {
    const auto parts = static_cast<std::size_t>(text_parts()), which = static_cast<std::size_t>(part);
    read(samples_.size() * which / parts, samples_.size() * (which + 1) / parts, take);
  }

 private:
  [[noreturn]] static void fail() { throw Error(ErrorKind::kInternal, "texts have neither numbers nor categories"); }
  void read(std::size_t first, std::size_t end, const std::function<void(std::string_view)>& take) const {
    for (std::size_t i = first; i < end; ++i) {
      try {
        with_text(files_.path(samples_[i]), take);
      } catch (const SampleError&) {
        if (!skips_) throw;  // else reported when the sample is read
      }
    }
  }

  const FileList& files_;
  const std::vector<std::int64_t>& samples_;
  bool skips_;
};

/// The member "as" of the fitted state {"data_set": "Text", "as": {"TextVectorization": ...}, "learned": ...}.
TextJson as_json(const config::Typed& encoder) { return TextJson::parse(config::to_json(encoder.write(true))); }

/// Not fitted yet, or with a fitted encoder.
class TextFiles final : public ClassSource {
 public:
  TextFiles(std::shared_ptr<const FileList> files, ClassSamples classes, const TextSpec& spec)
      : ClassSource(std::move(classes),
                    std::make_shared<BadSamples>(spec.on_error, files->size(), spec.directory.value)),
        files_(std::move(files)),
        vectorization_(spec.vectorization) {
    set_fingerprint("texts", 0, files_->hash(kHashStart));
  }
  TextFiles(const TextFiles& unfitted, const std::string& fitted_state)
      : ClassSource(unfitted), files_(unfitted.files_), vectorization_(unfitted.vectorization_) {
    try {
      const TextJson json = TextJson::parse(fitted_state);
      if (json.at("data_set") != kTextKind)
        throw Error(ErrorKind::kCheckpoint, fmt::format("the model was trained on a data set of the type {}, not {}",
                                                        json.at("data_set").get<std::string>(), kTextKind));
      if (json.at("as") != as_json(vectorization_))
        throw Error(
            ErrorKind::kUsage,
            fmt::format("the config's vectorization is not that of the model's training; train again, or restore {}",
                        json.at("as").dump()));
      encoder_ = restore(vectorization_, json.at("learned"));
    } catch (const TextJson::exception& error) {
      throw Error(ErrorKind::kCheckpoint, fmt::format("the fitted state of the data cannot be read: {}", error.what()));
    }
    texts_ = static_cast<const TextEncoder*>(encoder_.get());
    set_fingerprint("texts", std::max(texts_->ids(), texts_->floats()),
                    hash_bytes(fitted_state.data(), fitted_state.size(), files_->hash(kHashStart)));
  }

  std::int64_t size() const override { return files_->size(); }
  Shape input_shape(int) const override {
    return texts_ == nullptr ? Shape{} : Shape{texts_->ids() > 0 ? texts_->ids() : texts_->floats()};
  }
  bool can_read_exact(int, DType type) const override {
    return texts_ != nullptr && type == DType::kI32 && texts_->ids() > 0;
  }
  void read_exact(std::int64_t index, int, DType, void* out) const override {
    with_text(files_->path(index),
              [&](std::string_view text) { encoder().encode_ids(text, static_cast<std::int32_t*>(out)); });
  }
  void read(std::int64_t index, int, Array& out, const ReadHint&) const override {
    const std::int64_t floats = encoder().floats();
    if (floats == 0)
      throw Error(ErrorKind::kUsage,
                  "texts become ids, which an Embedding after an Input of dtype: int32 reads; for an Input of floats "
                  "write output_mode: multi_hot, count or tf_idf");
    out.shape = Shape{floats};
    out.type = DType::kF32;
    out.f32.resize(static_cast<std::size_t>(floats));
    with_text(files_->path(index), [&](std::string_view text) { encoder().encode(text, out.f32.data()); });
  }

  std::string fit(const std::vector<std::int64_t>& samples) const override {
    if (texts_ != nullptr) return "";
    const TextColumn column(*files_, samples, bad_samples()->skips());
    const auto encoder = data::fit(vectorization_, column);
    return TextJson{{"data_set", kTextKind}, {"as", as_json(vectorization_)}, {"learned", encoder->fitted_state()}}
        .dump();
  }
  std::shared_ptr<const Source> fitted_source(const std::string& fitted_state) const override {
    return texts_ != nullptr ? nullptr : std::make_shared<TextFiles>(*this, fitted_state);
  }

  std::vector<std::string> column_lines() const override {
    if (texts_ == nullptr) return {};
    return {fmt::format("texts: {}", texts_->describe())};
  }
  std::vector<std::string> cell_lines(std::int64_t index) const override {
    std::string numbers;
    const auto list = [&](const auto& all) {
      for (const auto number : all) numbers += fmt::format(" {:.5g}", static_cast<double>(number));
    };
    with_text(files_->path(index), [&](std::string_view text) {
      if (encoder().ids() > 0) {
        std::vector<std::int32_t> ids(static_cast<std::size_t>(encoder().ids()));
        encoder().encode_ids(text, ids.data());
        list(ids);
      } else {
        std::vector<float> floats(static_cast<std::size_t>(encoder().floats()));
        encoder().encode(text, floats.data());
        list(floats);
      }
    });
    return {printable(text_of(files_->path(index)), "\n\t"), "->" + numbers};
  }
  std::string label_place(std::int64_t index, int) const override { return files_->path(index); }
  std::string cache_key() const override {
    std::uint64_t hash = files_->hash(kHashStart);
    for (std::int64_t i = 0; i < files_->size(); ++i) hash = hash_stamp(files_->path(i), hash);
    return fmt::format("{}, files {:016x}", fingerprint(), hash);
  }

 private:
  const TextEncoder& encoder() const {
    if (texts_ == nullptr) throw Error(ErrorKind::kInternal, "texts were read before their vocabulary was fitted");
    return *texts_;
  }

  std::shared_ptr<const FileList> files_;
  config::Typed vectorization_;
  std::shared_ptr<const Encoder> encoder_;
  const TextEncoder* texts_ = nullptr;  // *encoder_
};

std::shared_ptr<const Source> open_text(const TextSpec& spec, const ModelSide& model, Role) {
  const std::string& directory = spec.directory.value;
  std::vector<std::string> classes =
      class_folders(directory, spec.class_names.first(), {.what = "texts", .example = "1.txt"});
  compare_with_model(directory, classes.size(), model);
  auto files = std::make_shared<FileList>();
  IgnoredFiles ignored_files;
  ClassSamples samples =
      class_samples(directory, std::move(classes), "text file", "text", ignored_files, [&](const std::string& folder) {
        files->add_folder(folder, [&](const char* file) {
          if (is_text_file(file)) return true;
          ignored_files.add(file);
          return false;
        });
        return files->size();
      });
  const auto source = std::make_shared<TextFiles>(std::move(files), std::move(samples), spec);
  if (model.fitted_state.empty()) return source;
  return source->fitted_source(model.fitted_state);
}

std::string check_text(const TextSpec& spec) {
  if (!spec.vectorization) return "";
  if (column_type_of(spec.vectorization) == table::ColumnType::kText) return "";
  return "vectorization must be an encoder of texts, as {TextVectorization: {max_tokens: 20000, "
         "output_sequence_length: 200}}, found " +
         spec.vectorization.name();
}

const RegisteredDataset kTextSet =
    dataset_def<TextSpec>(
        config::Schema::of<TextSpec>("Text")
            .doc("`.txt` files, one sub-folder per class, as Keras's `text_dataset_from_directory`")
            .positional(
                key("directory", &TextSpec::directory).required().doc("one sub-folder of `.txt` files per class"))
            .key(key("vectorization", &TextSpec::vectorization)
                     .required()
                     .doc("how texts become numbers: {TextVectorization: {...}}"))
            .key(key("on_error", &TextSpec::on_error)
                     .doc("files that cannot be read or are not UTF-8: fail, skip, or skip at most a number or a share "
                          "of the files, as {skip: 10} or {skip: 0.1%}"))
            .rule<TextSpec>(check_text),
        open_text, [](const TextSpec& spec) { return std::vector{spec.directory}; })
        .needs_fit([](const TextSpec&) { return true; })
        .predict(
            [](const TextSpec* spec, const PredictFiles& files, const ModelSide&) {
              return whole_source(open_texts(files.paths, *spec, files.fitted_state), "text");
            },
            {.expected_input = "files of texts",
             .refused = {FileKind::Use::kArrays, FileKind::Use::kHdf5, FileKind::Use::kPicture}});

}  // namespace

bool is_text_file(std::string_view name) {
  std::string end(name.substr(name.size() - std::min<std::size_t>(name.size(), 4)));
  for (char& c : end) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return end == ".txt";
}

}  // namespace dptrain::data
