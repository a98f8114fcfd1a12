// The keys of Join, and how its parts are opened.

#include "data/sources/join.h"

#include <algorithm>

#include "config/json_fragment.h"
#include "core/error.h"
#include "core/format.h"
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
          "of must be whole data sets, found a {0}; split what is joined: {{{0}: 0.2}} in the place of "
          "data.validation",
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
  const std::vector<std::string> learned = learned_of_parts(model.learned, parts.size());
  std::vector<JoinedPart> opened;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ModelSide side = model_of_part(model, parts[i].name);
    side.learned = learned[i];
    opened.push_back({parts[i].name, part_place(i, parts[i]), open_data_set(parts[i].set, side, role), learned[i]});
    const auto account = opened.back().source->bad_samples();
    if (account && !account->all().empty())
      fail_at(
          parts[i].set, ErrorKind::kData,
          fmt::format("{} rows are left out, so that those behind them would stand beside rows that are not theirs; "
                      "repair them: {}",
                      account->all().size(), account->all().front().str()));
  }
  return join_sources(std::move(opened), spec.labels);
}

std::unique_ptr<DatasetDef> join_def() {
  auto def = dataset_def<JoinSpec>(
      config::Schema::of<JoinSpec>("Join")
          .positional(key("of", &JoinSpec::of)
                          .required()
                          .doc("data sets of one size, row by row: a list, or {name of the input: data set}"))
          .key(key("labels", &JoinSpec::labels)
                   .doc("the part whose labels and sample weights count; absent: those of all parts"))
          .rule<JoinSpec>(check_join),
      open_join, [](const JoinSpec& spec) {
        std::vector<config::Path> all;
        for (const auto& part : spec.of.parts) {
          const std::vector<config::Path> paths = def_of(part.set).paths(part.set.spec());
          all.insert(all.end(), paths.begin(), paths.end());
        }
        return all;
      });
  def->learns = [](const void* spec) {
    return std::ranges::any_of(static_cast<const JoinSpec*>(spec)->of.parts,
                               [](const JoinParts::Part& part) { return learns(part.set); });
  };
  return def;
}

const RegisteredDataset kJoinSet = join_def();

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

}  // namespace dptrain::data
