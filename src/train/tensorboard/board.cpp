#include "train/tensorboard/board.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "core/format.h"
#include "train/tensorboard/graph_def.h"

namespace dptrain::train::tensorboard {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFileBegins = "events.out.tfevents.";
constexpr std::array kFolders{"train", "validation", ""};

constexpr std::string_view kOfHyperParameters = "_hparams_/";

bool counts_steps(const std::string& tag) { return tag.starts_with("batch_") || tag.starts_with("evaluation_"); }

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

/// The second in a file's name.
std::int64_t second_of(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  std::int64_t second = 0;
  std::from_chars(name.data() + kFileBegins.size(), name.data() + name.size(), second);
  return second;
}

/// A name behind all that there are: TensorBoard reads files in their order. The second is of ten digits.
std::string new_file(const std::string& folder) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  for (const std::string& older : event_files(folder)) second = std::max(second, second_of(older) + 1);
  const std::string name = fmt::format("{}{:010}.{}.{}.0.v2", kFileBegins, second, host_name(), getpid());
  return (fs::path(folder) / name).string();
}

std::string_view text_of(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::vector<std::string> event_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with(kFileBegins)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

Board::Board(std::string folder) : folder_(std::move(folder)), files_(kPlaces) {}

void Board::cut(std::int64_t epochs, std::int64_t steps) {
  flush();
  for (std::size_t place = 0; place < kPlaces; ++place) {
    files_[place].reset();
    for (const std::string& file : event_files((fs::path(folder_) / kFolders[place]).string())) {
      std::error_code failed;  // then the file stays, and its events too
      if (epochs == 0 && steps == 0)
        fs::remove(file, failed);
      else
        filter_records(file, [&](std::string_view record) {
          const EventHead head = head_of(record);
          if (head.is_graph || head.tag.starts_with(kOfHyperParameters)) return false;  // the new files have them
          return head.tag.empty() || (counts_steps(head.tag) ? head.step <= steps : head.step < epochs);
        });
    }
  }
}

bool Board::flush() {
  bool all = true;
  for (const auto& file : files_)
    if (file) all = file->flush() && all;
  return all;
}

void Board::add(Place place, const std::string& event) {
  std::unique_ptr<EventFile>& file = files_[place];
  if (!file) {
    file = std::make_unique<EventFile>(new_file((fs::path(folder_) / kFolders[place]).string()));
    file->append(version_event());
  }
  file->append(event);
}

void Board::training(const std::string& prefix, std::int64_t step, const experiment::Logs& logs) {
  for (const auto& [name, value] : logs.items())
    if (!name.starts_with("val_")) scalar(prefix + name, step, value);
}

void Board::validation(const std::string& prefix, const std::string& suffix, std::int64_t step,
                       const experiment::Logs& logs) {
  for (const auto& [name, value] : logs.items())
    if (name.starts_with("val_")) add(kValidation, scalar_event(prefix + name.substr(4) + suffix, step, value));
}

void Board::scalar(const std::string& tag, std::int64_t step, double value) {
  add(kTrain, scalar_event(tag, step, value));
}
void Board::histogram(const std::string& tag, std::int64_t step, std::span<const float> values) {
  add(kTrain, histogram_event(tag, step, values));
}
void Board::image(const std::string& tag, std::int64_t step, const picture::RgbImage& image) {
  const std::vector<std::uint8_t> png = picture::encode_png(image);
  add(kTrain, image_event(tag, step, image.height, image.width, 3, text_of(png)));
}
void Board::validation_picture(const std::string& tag, std::int64_t step, std::string_view png) {
  // PNG's first chunk begins with width and height, big-endian.
  const auto extent = [&](std::size_t at) {
    std::int64_t value = 0;
    for (std::size_t i = at; i < at + 4 && i < png.size(); ++i) value = value << 8 | static_cast<std::uint8_t>(png[i]);
    return value;
  };
  flush();
  files_[kValidation].reset();  // what comes next begins a file of its own
  for (const std::string& file : event_files((fs::path(folder_) / kFolders[kValidation]).string()))
    filter_records(file, [&](std::string_view record) { return head_of(record).tag != tag; });
  add(kValidation, image_event(tag, step, extent(20), extent(16), 3, png));
}
void Board::graph(const graph::Model& model) { add(kTrain, graph_event(graph_def(model))); }
void Board::hyper_parameters(const std::vector<HyperParameter>& all, const std::string& group) {
  add(kRoot, hyper_parameters_event(all, group));
}

}  // namespace dptrain::train::tensorboard
