#include "train/tensorboard/board.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include "config/node.h"
#include "core/format.h"
#include "core/index.h"
#include "core/text.h"
#include "graph/model.h"
#include "train/tensorboard/event_file.h"

namespace dptrain::train::tensorboard {
namespace {

// The network as a GraphDef (tensorflow/core/framework/graph.proto) for TensorBoard's Graphs tab: a node per call of a
// layer with its arguments, sizes and number of parameters; blocks and networks are scopes. Pure.

constexpr int kProducer = 22;  ///< `versions` of graphs from TensorFlow 1 and 2

/// "stage1/conv1" for "stage1_conv1" in the block "stage1".
std::string scoped_name(const graph::Node& node) {
  std::string scope, name = node.name, outer;
  for (const graph::BlockUse& block : node.blocks) {
    std::string own = block.name;
    if (own.empty() || own == outer) continue;
    if (!outer.empty() && own.starts_with(outer) && own.size() > outer.size() + 1) own.erase(0, outer.size() + 1);
    scope += own + "/";
    outer = block.name;
  }
  if (!outer.empty() && name.starts_with(outer) && name.size() > outer.size() + 1) name.erase(0, outer.size() + 1);
  return scope + name;
}

/// TensorShapeProto: dim = 2, Dim.size = 1. The batch is unknown.
Message shape_of(const nn::OutputDef& output) {
  Message shape = Message().message(2, Message().integer(1, -1));
  for (const std::int64_t extent : output.shape.dims()) shape.message(2, Message().integer(1, extent));
  return shape;
}

/// NodeDef.attr = 5, a map: key = 1, value = 2.
void add_attribute(Message& node, const std::string& key, const Message& value) {
  node.message(5, Message().text(1, key).message(2, value));
}

void add_arguments(Message& node, const config::Typed& spec) {
  const config::Node written = spec.write();
  if (!written.is_map()) return;  // a layer without keys
  for (const config::Node::Entry& argument : written.entries().front().value.entries()) {
    const config::Node& value = argument.value;
    if (value.is_null()) continue;
    const std::string text = value.is_scalar() ? value.str() : trim(config::to_yaml(value));
    add_attribute(node, argument.key, Message().text(2, text));  // AttrValue.s = 2
  }
}

std::string graph_def(const graph::Model& model) {
  const graph::Graph& graph = model.graph;
  std::vector<std::string> names;
  Message all;
  for (const graph::Node& node : graph.nodes) {
    const graph::Layer& layer = graph.layers[at(node.layer)];
    names.push_back(scoped_name(node));
    Message def = Message().text(1, names.back()).text(2, layer.spec.name());
    for (const graph::Port& input : node.inputs)
      def.text(3, names[at(input.node)] + (input.port > 0 ? ":" + std::to_string(input.port) : ""));
    if (!node.device.empty()) def.text(4, node.device);
    add_arguments(def, layer.spec);
    std::int64_t parameters = 0;
    for (const int weight : layer.weights) parameters += model.weights[at(weight)].def.shape.elements();
    if (parameters > 0) add_attribute(def, "parameters", Message().integer(3, parameters));  // AttrValue.i = 3
    if (parameters > 0) add_attribute(def, "trainable", Message().integer(5, layer.trainable ? 1 : 0));  // .b = 5
    Message shapes;  // AttrValue.list = 1, ListValue.shape = 7
    for (const nn::OutputDef& output : node.outputs) shapes.message(7, shape_of(output));
    add_attribute(def, "_output_shapes", Message().message(1, shapes));
    all.message(1, def);
  }
  return all.message(4, Message().integer(1, kProducer)).bytes();
}

constexpr std::size_t kBuckets = 30;

double time_of_day() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Event: wall_time = 1, step = 2.
Message event(std::int64_t step) { return Message().real(1, time_of_day()).integer(2, step); }

/// Event.summary = 5, Summary.value = 1, Value.tag = 1.
std::string summary_event(const std::string& tag, std::int64_t step, const Message& value_fields) {
  Message value;
  value.text(1, tag);
  return event(step).message(5, Message().text(1, value.bytes() + value_fields.bytes())).bytes();
}

/// HistogramProto, from finite values and its bounds.
struct Histogram {
  double least = 0, most = 0, count = 0, sum = 0, squares = 0;
  std::vector<double> limits, counts;
};

Histogram histogram_of(std::span<const float> values) {
  Histogram h;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double x = value;
    h.least = h.count == 0 ? x : std::min(h.least, x);
    h.most = h.count == 0 ? x : std::max(h.most, x);
    h.count += 1;
    h.sum += x;
    h.squares += x * x;
  }
  if (h.count == 0) return h;
  const double width = (h.most - h.least) / static_cast<double>(kBuckets);
  if (width <= 0) return h.limits = {h.most}, h.counts = {h.count}, h;
  h.counts.assign(kBuckets, 0);
  for (std::size_t i = 1; i < kBuckets; ++i) h.limits.push_back(h.least + width * static_cast<double>(i));
  h.limits.push_back(h.most);
  for (const float value : values)
    if (std::isfinite(value)) {
      const auto bucket = static_cast<std::size_t>((value - h.least) / width);
      h.counts[std::min(bucket, kBuckets - 1)] += 1;
    }
  return h;
}

/// google.protobuf.Value: number_value = 2, string_value = 3, bool_value = 4.
Message value_of(const HyperParameter& parameter) {
  Message value;
  if (const auto* number = std::get_if<double>(&parameter.value)) value.real(2, *number);
  if (const auto* text = std::get_if<std::string>(&parameter.value)) value.text(3, *text);
  if (const auto* flag = std::get_if<bool>(&parameter.value)) value.integer(4, *flag ? 1 : 0);
  return value;
}

}  // namespace

std::string version_event() { return Message().real(1, time_of_day()).text(3, "brain.Event:2").bytes(); }

std::string scalar_event(const std::string& tag, std::int64_t step, double value) {
  return summary_event(tag, step, Message().real32(2, static_cast<float>(value)));
}

std::string histogram_event(const std::string& tag, std::int64_t step, std::span<const float> values) {
  const Histogram h = histogram_of(values);
  return summary_event(tag, step,
                       Message().message(5, Message()
                                                .real(1, h.least)
                                                .real(2, h.most)
                                                .real(3, h.count)
                                                .real(4, h.sum)
                                                .real(5, h.squares)
                                                .reals(6, h.limits)
                                                .reals(7, h.counts)));
}

std::string image_event(const std::string& tag, std::int64_t step, std::int64_t height, std::int64_t width,
                        std::int64_t channels, std::string_view png) {
  return summary_event(
      tag, step,
      Message().message(4, Message().integer(1, height).integer(2, width).integer(3, channels).text(4, png)));
}

std::string graph_event(const std::string& graph) { return event(0).text(4, graph).bytes(); }

std::string hyper_parameters_event(const std::vector<HyperParameter>& all, const std::string& group) {
  // HParamsPluginData.session_start_info = 3; SessionStartInfo: hparams = 1, group_name = 4, start_time_secs = 5.
  Message start;
  for (const HyperParameter& parameter : all)
    start.message(1, Message().text(1, parameter.name).message(2, value_of(parameter)));
  start.text(4, group).real(5, time_of_day());
  // Value.metadata = 9, SummaryMetadata.plugin_data = 1, PluginData: plugin_name = 1, content = 2.
  const Message plugin = Message().text(1, "hparams").text(2, Message().message(3, start).bytes());
  return summary_event("_hparams_/session_start_info", 0, Message().message(9, Message().message(1, plugin)));
}

EventHead head_of(std::string_view event) {
  EventHead head;
  for (Fields fields(event); fields.next();) {
    if (fields.number() == 2) head.step = static_cast<std::int64_t>(fields.integer());
    if (fields.number() == 4) head.is_graph = true;
    if (fields.number() != 5) continue;
    for (Fields values(fields.bytes()); values.next();)
      for (Fields value(values.bytes()); value.next();)
        if (value.number() == 1) head.tag = value.bytes();
  }
  return head;
}

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

std::int64_t second_of(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  std::int64_t second = 0;
  std::from_chars(name.data() + kFileBegins.size(), name.data() + name.size(), second);
  return second;
}

/// A name that sorts after all existing ones: TensorBoard reads files in order. The time has ten digits.
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
      std::error_code failed;  // the file then keeps its events
      if (epochs == 0 && steps == 0)
        fs::remove(file, failed);
      else
        filter_records(file, [&](std::string_view record) {
          const EventHead head = head_of(record);
          if (head.is_graph || head.tag.starts_with(kOfHyperParameters)) return false;  // the new files contain them
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
void Board::image(const std::string& tag, std::int64_t step, const plot::RgbImage& image) {
  const std::vector<std::uint8_t> png = plot::encode_png(image);
  add(kTrain, image_event(tag, step, image.height, image.width, 3, text_of(png)));
}
void Board::graph(const graph::Model& model) { add(kTrain, graph_event(graph_def(model))); }
void Board::hyper_parameters(const std::vector<HyperParameter>& all, const std::string& group) {
  add(kRoot, hyper_parameters_event(all, group));
}

}  // namespace dptrain::train::tensorboard
