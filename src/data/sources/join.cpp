// Join as a Source: maps each input and label to a part. Immutable; any thread. Predict reads one file per part.

#include "data/sources/join.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "config/json_fragment.h"
#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"

namespace dptrain::config {

bool Value<data::JoinParts>::read(const Node& node, Reader& reader, data::JoinParts& out) {
  out.parts.clear();
  const Node found = reader.substituted(node);
  bool good = true;
  const auto add = [&](const std::string& name, const Node& part) {
    data::JoinParts::Part read{.name = name, .set = {}};
    good = Value<Of<data::dataset_family>>::read(part, reader, read.set) && good;
    if (read.set) out.parts.push_back(std::move(read));
  };
  if (found.is_map()) {
    for (const Node::Entry& entry : found.entries()) {
      const Reader::Key element(reader, reader.key() + "." + entry.key);
      add(entry.key, entry.value);
    }
  } else if (found.is_sequence()) {
    for (const Node& item : found.items()) add("", item);
  } else {
    reader.expected(found, "a list of data sets, or {name: data set}");
    return false;
  }
  return good;
}

Node Value<data::JoinParts>::write(const data::JoinParts& value) {
  const bool named = !value.parts.empty() && !value.parts.front().name.empty();
  Node node = named ? Node::map() : Node::sequence();
  for (const auto& part : value.parts) {
    if (named)
      node.set(part.name, part.set.write());
    else
      node.items().push_back(part.set.write());
  }
  return node;
}

Node Value<data::JoinParts>::schema() {
  const Node set = Value<Of<data::dataset_family>>::schema();
  return fragment::any_of({detail::list_schema(set), detail::map_schema(set)});
}

}  // namespace dptrain::config

namespace dptrain::data {
namespace {

std::string part_place(std::size_t i, const JoinParts::Part& part) {
  return part.name.empty() ? fmt::format("part {} ({})", i + 1, part.set.name())
                           : fmt::format("part '{}' ({})", part.name, part.set.name());
}

std::string check_join(const JoinSpec& spec) {
  const auto& parts = spec.of.parts;
  if (parts.size() < 2) return fmt::format("of must name two data sets or more, found {}", parts.size());
  for (const auto& part : parts)
    if (def_of(part.set).part)
      return fmt::format(
          "of must be whole data sets, found a {0}; split the Join instead: data.validation: {{{0}: 0.2}}",
          part.set.name());
  std::vector<std::string> names;
  for (const auto& part : parts)
    if (!part.name.empty()) names.push_back(part.name);
  if (!spec.labels || std::ranges::find(names, *spec.labels) != names.end()) return "";
  return names.empty() ? "labels names a part, so the parts need names: of: {table: {CSV: ...}, image: {...}}"
                       : fmt::format("labels must be one of the parts {}, found '{}'{}", join(names, ", "),
                                     *spec.labels, did_you_mean(*spec.labels, names));
}

std::shared_ptr<const Source> open_join(const JoinSpec& spec, const ModelSide& model, Role role) {
  const auto& parts = spec.of.parts;
  const std::vector<std::string> fitted_state = split_fitted_state(model.fitted_state, parts.size());
  std::vector<JoinedPart> opened;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ModelSide side = model_of_part(model, parts[i].name);
    side.fitted_state = fitted_state[i];
    opened.push_back(
        {parts[i].name, part_place(i, parts[i]), open_data_set(parts[i].set, side, role), fitted_state[i]});
    const auto account = opened.back().source->bad_samples();
    if (account && !account->all().empty())
      fail_at(parts[i].set, ErrorKind::kData,
              fmt::format("skipping {} would shift later rows against the other parts; repair the data: {}",
                          counted(account->all().size(), "row"), account->all().front().str()));
  }
  return join_sources(std::move(opened), spec.labels);
}

std::string part_list(const JoinSpec& spec) {
  std::vector<std::string> words;
  for (const JoinParts::Part& part : spec.of.parts)
    words.push_back(part.name.empty() ? part.set.name() : fmt::format("{} ({})", part.name, part.set.name()));
  return join(words, ", ");
}

/// Opens one path per part, in their order. The first table supplies the passthrough columns.
PredictSource predict_join(const JoinSpec* spec, const PredictFiles& files, const ModelSide& model) {
  const std::vector<JoinParts::Part>& parts = spec->of.parts;
  if (files.paths.size() != parts.size())
    throw Error(
        ErrorKind::kUsage,
        fmt::format("the model was trained on a Join; give --input {} times, in the order of its parts: {}; found "
                    "{}",
                    parts.size(), part_list(*spec), files.paths.size()));
  const std::vector<std::string> fitted_state = split_fitted_state(files.fitted_state, parts.size());
  bool has_table = false;
  PredictSource joined;
  std::vector<JoinedPart> opened;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const JoinParts::Part& part = parts[i];
    const std::string& path = files.paths[i];
    const DatasetDef& def = def_of(part.set);
    if (path == "-") fail_part(path, part.set.name(), "which is read from a file");
    if (!def.open_for_predict || !def.predict.reads_parts)
      fail_part(path, part.set.name(), "which predict does not read");
    const bool keeps = def.predict.supports_passthrough && !has_table;
    has_table = has_table || keeps;
    PredictFiles file{.paths = {path}, .fitted_state = fitted_state[i], .skip = files.skip, .is_part = true};
    if (keeps) file.passthrough = files.passthrough;
    PredictSource input = def.open_for_predict(part.set.spec(), file, model_of_part(model, part.name));
    if (i == 0) joined.key = input.key;
    if (keeps)
      joined.passthrough = std::move(input.passthrough), joined.passthrough_field = std::move(input.passthrough_field);
    opened.push_back({input.input_name.empty() ? part.name : input.input_name, path, input.next()});
  }
  if ((files.passthrough.all || !files.passthrough.names.empty()) && !has_table)
    throw Error(ErrorKind::kUsage, "--keep copies columns of tables, and no part of the model's Join is a table");
  PredictSource whole = whole_source(join_sources(std::move(opened), std::nullopt), joined.key);
  whole.passthrough = std::move(joined.passthrough);
  whole.passthrough_field = std::move(joined.passthrough_field);
  return whole;
}

const RegisteredDataset kJoinSet =
    dataset_def<JoinSpec>(
        config::Schema::of<JoinSpec>("Join")
            .doc("combines data sets row by row")
            .positional(
                key("of", &JoinSpec::of).required().doc("data sets of one size: a list, or {input name: data set}"))
            .key(key("labels", &JoinSpec::labels)
                     .doc("the part that supplies labels and sample weights; default: all parts"))
            .rule<JoinSpec>(check_join),
        open_join,
        [](const JoinSpec& spec) {
          std::vector<config::Path> all;
          for (const auto& part : spec.of.parts) {
            const std::vector<config::Path> paths = def_of(part.set).paths(part.set.spec());
            all.insert(all.end(), paths.begin(), paths.end());
          }
          return all;
        })
        .needs_fit([](const JoinSpec& spec) {
          return std::ranges::any_of(spec.of.parts, [](const JoinParts::Part& part) { return needs_fit(part.set); });
        })
        .predict(predict_join, {.refused = {}, .supports_passthrough = true, .reads_parts = false});

}  // namespace

ModelSide model_of_part(const ModelSide& model, const std::string& name) {
  const auto found = std::ranges::find(model.input_names, name);
  if (name.empty() || found == model.input_names.end()) return model;
  const auto i = static_cast<std::size_t>(found - model.input_names.begin());
  ModelSide side = model;
  side.input_names = {name};
  side.input_shapes = {model.input_shapes[i]};
  side.input_types = {model.input_type(i)};
  side.id_limits = {model.id_limit(i)};
  side.paddings = {model.padding(i)};
  return side;
}

namespace {

constexpr const char* kJoinKind = "Join";

/// Whether sample i is row i in the source's memory.
bool rows_in_order(const Source& source) {
  for (std::int64_t i = 0; i < source.size(); ++i)
    if (source.row(i) != i) return false;
  return true;
}

class JoinSource final : public Source {
 public:
  JoinSource(std::vector<JoinedPart> parts, std::optional<std::string> labels)
      : parts_(std::move(parts)), labels_from_(std::move(labels)) {
    check_sizes();
    for (const JoinedPart& part : parts_) {
      add_inputs(part);
      in_order_.push_back(rows_in_order(*part.source));
      if (!labels_from_ || *labels_from_ == part.name) add_labels(part);
    }
    select_bad_samples();
  }

  std::int64_t size() const override { return parts_.front().source->size(); }
  int inputs() const override { return static_cast<int>(inputs_.size()); }
  std::string input_name(int input) const override { return input_column(input).name; }
  Shape input_shape(int input) const override {
    return input_column(input).source->input_shape(input_column(input).which);
  }
  bool has_one_shape(int input) const override {
    return input_column(input).source->has_one_shape(input_column(input).which);
  }
  Shape peek_shape(std::int64_t index, int input) const override {
    return input_column(input).source->peek_shape(index, input_column(input).which);
  }
  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
    input_column(input).source->read(index, input_column(input).which, out, hint);
  }
  std::optional<ClipInfo> inspect(std::int64_t index) const override {
    std::optional<ClipInfo> info;
    for (const JoinedPart& part : parts_)
      if (const auto found = part.source->inspect(index)) info = found;
    return info;
  }
  bool draws() const override {
    return std::ranges::any_of(parts_, [](const JoinedPart& part) { return part.source->draws(); });
  }
  bool can_read_exact(int input, DType type) const override {
    return input_column(input).source->can_read_exact(input_column(input).which, type);
  }
  void read_exact(std::int64_t index, int input, DType type, void* out) const override {
    input_column(input).source->read_exact(index, input_column(input).which, type, out);
  }
  bool view(std::int64_t index, int input, ImageView& out) const override {
    return input_column(input).source->view(index, input_column(input).which, out);
  }
  void prefetch_sample(std::int64_t index) const override {
    for (const JoinedPart& part : parts_) part.source->prefetch_sample(index);
  }
  std::shared_ptr<BadSamples> bad_samples() const override { return account_; }
  /// Null if the part stores its rows in another order: row() applies to all inputs.
  const std::uint8_t* u8_rows(int input) const override {
    return in_order_[input_column(input).part] ? input_column(input).source->u8_rows(input_column(input).which)
                                               : nullptr;
  }
  const float* f32_rows(int input) const override {
    return in_order_[input_column(input).part] ? input_column(input).source->f32_rows(input_column(input).which)
                                               : nullptr;
  }
  std::int64_t shared_before() const override {
    std::int64_t most = 0;
    for (const JoinedPart& part : parts_) most = std::max(most, part.source->shared_before());
    return most;
  }

  int labels() const override { return static_cast<int>(labels_.size()); }
  std::string label_name(int which) const override { return label(which).name; }
  LabelType label_type(int which) const override {
    return labels_.empty() ? LabelType::kNone : label(which).source->label_type(label(which).which);
  }
  std::int64_t label_width(int which) const override {
    return labels_.empty() ? 0 : label(which).source->label_width(label(which).which);
  }
  std::int64_t label_class(std::int64_t index, int which) const override {
    return label(which).source->label_class(index, label(which).which);
  }
  void label_values(std::int64_t index, float* out, int which) const override {
    label(which).source->label_values(index, out, label(which).which);
  }
  void read_label_map(std::int64_t index, Array& out, int which) const override {
    label(which).source->read_label_map(index, out, label(which).which);
  }
  Shape peek_label_map(std::int64_t index, int which) const override {
    return label(which).source->peek_label_map(index, label(which).which);
  }
  std::string label_map_place(std::int64_t index, int which) const override {
    return label(which).source->label_map_place(index, label(which).which);
  }
  const float* all_label_values(int which) const override {
    return label(which).source->all_label_values(label(which).which);
  }
  std::string label_place(std::int64_t index, int which) const override {
    return labels_.empty() ? parts_.front().source->label_place(index)
                           : label(which).source->label_place(index, label(which).which);
  }
  bool has_sample_weights() const override { return weights_ != nullptr; }
  float sample_weight(std::int64_t index) const override {
    return weights_ == nullptr ? 1 : weights_->sample_weight(index);
  }

  std::string fit(const std::vector<std::int64_t>& samples) const override {
    nlohmann::json all = nlohmann::json::array();
    bool any = false;
    for (const JoinedPart& part : parts_) {
      const std::string fitted_state = part.source->fit(samples);
      any = any || !fitted_state.empty();
      const std::string& text = fitted_state.empty() ? part.fitted_state : fitted_state;
      all.push_back(text.empty() ? nlohmann::json() : nlohmann::json::parse(text));
    }
    return any ? nlohmann::json{{"data_set", kJoinKind}, {"parts", all}}.dump() : "";
  }
  std::shared_ptr<const Source> fitted_source(const std::string& fitted_state) const override {
    const std::vector<std::string> texts = split_fitted_state(fitted_state, parts_.size());
    std::vector<JoinedPart> all = parts_;
    bool any = false;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (auto source = texts[i].empty() ? nullptr : all[i].source->fitted_source(texts[i])) {
        all[i].source = std::move(source);
        any = true;
      }
    return any ? join_sources(std::move(all), labels_from_) : nullptr;
  }

  std::vector<std::string> class_names(int which) const override {
    return labels_.empty() ? std::vector<std::string>() : label(which).source->class_names(label(which).which);
  }
  std::vector<std::string> column_lines() const override {
    return lines([](const Source& source) { return source.column_lines(); });
  }
  std::vector<std::string> cell_lines(std::int64_t index) const override {
    return lines([index](const Source& source) { return source.cell_lines(index); });
  }
  std::string fingerprint() const override {
    return texts([](const Source& source) { return source.fingerprint(); });
  }
  std::string cache_key() const override {
    return texts([](const Source& source) { return source.cache_key(); });
  }

 private:
  /// An input or a label of a part.
  struct Column {
    std::string name;
    std::size_t part;
    const Source* source;
    int which;
  };
  const Column& input_column(int input) const { return inputs_[static_cast<std::size_t>(input)]; }
  const Column& label(int which) const { return labels_[static_cast<std::size_t>(which)]; }
  std::size_t index_of(const JoinedPart& part) const { return static_cast<std::size_t>(&part - parts_.data()); }

  void check_sizes() const {
    const JoinedPart& first = parts_.front();
    for (const JoinedPart& part : parts_)
      if (part.source->size() != first.source->size())
        throw Error(
            ErrorKind::kData,
            fmt::format(
                "{} has {} samples, {} {}; row i of all parts is one sample, so expected the same number in each",
                first.place, with_commas(first.source->size()), part.place, with_commas(part.source->size())));
  }

  void add_inputs(const JoinedPart& part) {
    for (int i = 0; i < part.source->inputs(); ++i) {
      std::string name = part.source->input_name(i);
      if (name.empty()) name = part.name;
      if (name.empty())
        throw Error(
            ErrorKind::kUsage,
            fmt::format("{} has an input without a name; write of: {{NAME: {{...}}, ...}} with the names of the "
                        "model's inputs",
                        part.place));
      reject_duplicate(inputs_, name, "input", part);
      inputs_.push_back({std::move(name), index_of(part), part.source.get(), i});
    }
  }

  void add_labels(const JoinedPart& part) {
    const bool has_other = !labels_.empty();
    for (int i = 0; i < part.source->labels(); ++i) {
      const std::string name = part.source->label_name(i);
      reject_duplicate(labels_, name, "label", part);
      if (has_other && name.empty() != labels_.front().name.empty())
        throw Error(ErrorKind::kUsage,
                    fmt::format("{} has labels for every output, and {} has labels for some; name all of them, as in "
                                "labels: {{OUTPUT: ...}}, or select a part: `labels: PART`",
                                parts_[name.empty() ? index_of(part) : labels_.front().part].place,
                                parts_[name.empty() ? labels_.front().part : index_of(part)].place));
      labels_.push_back({name, index_of(part), part.source.get(), i});
    }
    if (!part.source->has_sample_weights()) return;
    if (weights_ != nullptr)
      throw Error(ErrorKind::kUsage, fmt::format("{} has sample weights, and an earlier part has them too; keep them "
                                                 "in one part, or select a part: `labels: PART`",
                                                 part.place));
    weights_ = part.source.get();
  }

  void reject_duplicate(const std::vector<Column>& known, const std::string& name, const char* what,
                        const JoinedPart& part) const {
    const auto found = std::ranges::find(known, name, &Column::name);
    if (found == known.end()) return;
    const std::string of_name = name.empty() ? "" : fmt::format(" '{}'", name);
    const bool is_label = std::string_view(what) == "label";
    throw Error(ErrorKind::kUsage,
                fmt::format("{} and {} both have a{} {}{}; {}", parts_[found->part].place, part.place,
                            is_label ? "" : "n", what, of_name,
                            is_label ? "select the part with the labels: of: {NAME: {...}, ...}, labels: NAME"
                                     : "rename one of them"));
  }

  /// Uses the BadSamples of the first part that has one. Throws Error{kUsage} if policies differ.
  void select_bad_samples() {
    const JoinedPart* first = nullptr;
    for (const JoinedPart& part : parts_) {
      const auto account = part.source->bad_samples();
      if (!account) continue;
      if (first == nullptr) {
        first = &part;
        account_ = account;
      } else if (account->policy() != account_->policy()) {
        throw Error(
            ErrorKind::kUsage,
            fmt::format("{} and {} have different on_error; a sample is skipped as a whole, so write the same for both",
                        first->place, part.place));
      }
    }
  }

  template <class F>
  std::vector<std::string> lines(const F& of_source) const {
    std::vector<std::string> all;
    for (const JoinedPart& part : parts_)
      for (std::string& line : of_source(*part.source))
        all.push_back((part.name.empty() ? "" : part.name + ": ") + std::move(line));
    return all;
  }
  template <class F>
  std::string texts(const F& of_source) const {
    std::vector<std::string> all;
    for (const JoinedPart& part : parts_) all.push_back(of_source(*part.source));
    return fmt::format("join of [{}]{}", join(all, " | "), labels_from_ ? ", labels of " + *labels_from_ : "");
  }

  std::vector<JoinedPart> parts_;
  std::optional<std::string> labels_from_;
  std::vector<Column> inputs_, labels_;
  std::vector<bool> in_order_;  ///< rows_in_order() of each part
  const Source* weights_ = nullptr;
  std::shared_ptr<BadSamples> account_;
};

}  // namespace

std::shared_ptr<const Source> join_sources(std::vector<JoinedPart> parts, const std::optional<std::string>& labels) {
  return std::make_shared<JoinSource>(std::move(parts), labels);
}

std::vector<std::string> split_fitted_state(const std::string& fitted_state, std::size_t parts) try {
  std::vector<std::string> all(parts);
  if (fitted_state.empty()) return all;
  const nlohmann::json json = nlohmann::json::parse(fitted_state);
  const nlohmann::json& found = json.at("parts");
  if (const auto kind = json.at("data_set").get<std::string>(); kind != kJoinKind || found.size() != parts)
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("the model was trained on a {} of {} data sets, and the config joins {}", kind,
                            found.size(), parts));
  for (std::size_t i = 0; i < parts; ++i)
    if (!found[i].is_null()) all[i] = found[i].dump();
  return all;
} catch (const nlohmann::json::exception&) {
  throw Error(ErrorKind::kCheckpoint, "the fitted state of the model's data is not that of a Join");
}

}  // namespace dptrain::data
