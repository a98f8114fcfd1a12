// Keys and types: errors of invalid configs, and values of valid ones.

#include "config/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/config/example.h"

namespace dptrain::config {
namespace {

struct SchemaCase {
  std::string text;
  std::vector<std::string> messages;
};

const std::vector<SchemaCase>& conv_cases() {
  static const std::vector<SchemaCase> all{
      {"Conv2D: {filter: 3}",
       {"1:10: Conv2D 'conv1': unknown argument 'filter'; did you mean 'filters'?"}},  // and not as missing
      {"Conv2D: {filters: 3, nme: x}", {"1:22: Conv2D 'conv1': unknown argument 'nme'; did you mean 'name'?"}},
      {"Conv2D: {filters: 3, zzz: x}",
       {"1:22: Conv2D 'conv1': unknown argument 'zzz'; expected one of filters, strides, padding, activation, axes, "
        "schedule, pool"}},
      {"Conv2D:", {"1:1: Conv2D 'conv1': missing argument 'filters'"}},
      {"Conv2D: many", {"1:9: Conv2D 'conv1': filters must be an integer, found 'many'"}},
      {"Conv2D: {filters: many}", {"1:19: Conv2D 'conv1': filters must be an integer, found 'many'"}},
      {"Conv2D: {filters: '3'}", {"1:19: Conv2D 'conv1': filters must be an integer, found the text '3'"}},
      {"Conv2D: {filters: [3, 4]}", {"1:19: Conv2D 'conv1': filters must be an integer, found a list"}},
      {"Conv2D: {filters: }", {"1:10: Conv2D 'conv1': filters must be an integer, found nothing"}},
      {"Conv2D: {filters: 0}", {"1:19: Conv2D 'conv1': filters must be >= 1, found 0"}},
      {"Conv2D: {filters: 2-3}", {"1:19: Conv2D 'conv1': filters must be >= 1, found -1"}},
      {"Conv2D: {filters: 1, strides: 0}", {"1:31: Conv2D 'conv1': strides must be >= 1, found 0"}},
      {"Conv2D: {filters: 1, strides: [1, 0]}", {"1:35: Conv2D 'conv1': strides must be >= 1, found 0"}},
      {"Conv2D: {filters: 1, strides: [1, 2, 3]}",
       {"1:31: Conv2D 'conv1': strides must be [height, width], found 3 values"}},
      {"Conv2D: {filters: 1, pool: 0}", {"1:28: Conv2D 'conv1': pool must be >= 1, found 0"}},
      {"Conv2D: {filters: 1, padding: Same}",
       {"1:31: Conv2D 'conv1': padding must be valid or same, found 'Same'; did you mean 'same'?"}},
      {"Conv2D: {filters: 1, activation: {a: 1}}", {"1:34: Conv2D 'conv1': activation must be text, found a mapping"}},
      {"Conv2D: {filters: 1, axes: [1, x, 3, y]}",
       {"1:32: Conv2D 'conv1': axes[1] must be an integer, found 'x'",
        "1:38: Conv2D 'conv1': axes[3] must be an integer, found 'y'"}},
      {"Conv2D: {filters: 1, axes: [1, 2, 3, 4]}", {"1:28: Conv2D 'conv1': axes must have at most 3 values"}},
      {"Conv2D: {filters: $DPTRAIN_NO}",
       {"1:19: Conv2D 'conv1': unknown variable '$DPTRAIN_NO'; give it with --var DPTRAIN_NO=... or in the "
        "environment"}},
      {"Conv2D: {filters: 1, schedule: Foo}",
       {"1:32: Conv2D 'conv1': unknown schedule 'Foo'; expected one of Constant, ExponentialDecay"}},
      {"Conv2D: {filters: 1, schedule: {Constant: {value: x}}}",
       {"1:51: Conv2D 'conv1': Constant: value must be a number, found 'x'"}},
      {"Conv2D: {filters: 1, schedule: {ExponentialDecay: {decay_steps: 5 eons}}}",
       {"1:33: Conv2D 'conv1': ExponentialDecay: missing argument 'initial_learning_rate'",
        "1:65: Conv2D 'conv1': ExponentialDecay: decay_steps must be a duration such as 10, 200 steps, 5 epochs, "
        "1000 samples, 30s, 10 minutes or 2h, found '5 eons'"}},
      {"Conv2D: {filters: x, strides: y, padding: z}",
       {"1:19: Conv2D 'conv1': filters must be an integer, found 'x'",
        "1:31: Conv2D 'conv1': strides must be an integer, found 'y'",
        "1:43: Conv2D 'conv1': padding must be valid or same, found 'z'"}},
  };
  return all;
}

/// The text is `Conv2D: arguments`, read like a step of a model.
TEST(WrongArguments, ReportErrorAndLocation) {
  for (const SchemaCase& c : conv_cases()) {
    Reading r(c.text);
    ASSERT_TRUE(r.diagnostics.ok()) << r.diagnostics.render();
    const Reader::Subject subject(r.reader, "Conv2D 'conv1'");
    ConvSpec spec;
    const Node::Entry& entry = r.root.entries().at(0);
    EXPECT_FALSE(conv_schema().read(entry.value, entry.mark, r.reader, &spec, {"name", "inputs"})) << c.text;
    EXPECT_EQ(r.messages(), c.messages) << c.text;
  }
}

const std::vector<SchemaCase>& optimizer_cases() {
  static const std::vector<SchemaCase> all{
      {"Adm", {"1:1: train: unknown optimizer 'Adm'; did you mean 'Adam'?"}},
      {"Adm: {lr: 1}", {"1:1: train: unknown optimizer 'Adm'; did you mean 'Adam'?"}},
      {"[Adam]",
       {"1:1: train: optimizer must be an optimizer, such as SGD or SGD: {learning_rate: {Constant: {value: 0.01}}}, "
        "found a list"}},
      {"{}",
       {"1:1: train: optimizer must be an optimizer, such as SGD or SGD: {learning_rate: {Constant: {value: 0.01}}}, "
        "found an empty mapping"}},
      {"{type: Adam, learning_rate: 1}",
       {"1:14: train: optimizer must be an optimizer, such as SGD or SGD: {learning_rate: {Constant: {value: 0.01}}}, "
        "found 2 keys"}},
      {"Adam:\nlearning_rate: 1\n",
       {"2:1: train: 'learning_rate' is at the same level as 'Adam'; indent the arguments below it"}},
      {"Adam: {learning_rate: 1, lr: 2}",
       {"1:26: Adam: argument 'learning_rate' is given twice, under two of its names"}},
      {"Adam: 0", {"1:7: Adam: learning_rate must be > 0, found 0"}},
      {"Adam: [1]", {"1:7: Adam: learning_rate must be a number, found a list"}},
      {"SGD: 0.1", {"1:6: SGD: expected a mapping such as {learning_rate: ...}, found 0.1"}},
      {"SGD: {momentum: 1}", {"1:17: SGD: momentum must be >= 0 and < 1, found 1"}},
      {"SGD: {nesterov: true}", {"1:1: SGD: nesterov needs momentum > 0"}},
      {"SGD: {learning_rate: {Constant: {zzz: 1}}}", {"1:34: SGD: Constant: unknown argument 'zzz'; expected value"}},
      {"SGD: {learning_rate: {Constant: -x}}", {"1:33: SGD: Constant: value must be a number, found '-x'"}},
  };
  return all;
}

TEST(WrongTypes, ReportErrorAndLocation) {
  for (const SchemaCase& c : optimizer_cases()) {
    Reading r(c.text);
    const Reader::Subject subject(r.reader, "train");
    const Reader::Key key(r.reader, "optimizer");
    EXPECT_FALSE(test_optimizers().read(r.root, r.reader)) << c.text;
    EXPECT_EQ(r.messages(), c.messages) << c.text;
  }
}

Typed optimizer(const std::string& text) {
  Reading r(text);
  Typed typed = test_optimizers().read(r.root, r.reader);
  EXPECT_TRUE(r.diagnostics.ok()) << r.diagnostics.render();
  return typed;
}

TEST(Family, ReadsEveryForm) {
  EXPECT_EQ(optimizer("Adam").as<AdamSpec>().learning_rate, 0.001);
  EXPECT_EQ(optimizer("adam").name(), "Adam");
  EXPECT_EQ(optimizer("Adam: 1e-2").as<AdamSpec>().learning_rate, 0.01);
  EXPECT_EQ(optimizer("Adam: {lr: 1e-2, clipnorm: 1}").as<AdamSpec>().clipnorm, 1);
  EXPECT_EQ(optimizer("Adam:").get_if<SgdSpec>(), nullptr);
  const Typed sgd =
      optimizer("SGD: {learning_rate: {ExponentialDecay: {initial_learning_rate: 0.1, decay_steps: 350 epochs}}}");
  const auto& schedule = sgd.as<SgdSpec>().learning_rate.as<DecaySpec>();
  EXPECT_EQ(schedule.decay_steps.steps(391, 128), 136850);
  EXPECT_EQ(sgd.mark().str(), "test.yaml:1:1");
}

TEST(Family, WritesInFullAndMinimal) {
  EXPECT_EQ(to_yaml(optimizer("sgd").write()),
            "SGD: {learning_rate: {Constant: {value: 0.01}}, momentum: 0, nesterov: false}\n");
  EXPECT_EQ(to_yaml(optimizer("sgd").write(true)), "SGD\n");
  EXPECT_EQ(to_yaml(optimizer("SGD: {momentum: 0.9}").write(true)), "SGD: {momentum: 0.9}\n");
  EXPECT_TRUE(Typed().write().is_null());
  for (const char* text : {"SGD: {momentum: 0.9}", "Adam: 0.25", "Adam: {clipnorm: 2}"}) {
    const std::string full = to_yaml(optimizer(text).write());
    EXPECT_EQ(to_yaml(optimizer(full).write()), full);
  }
}

TEST(Family, FindsMembersAndRejectsDuplicates) {
  EXPECT_EQ(test_optimizers().find("sgd")->name, "SGD");
  EXPECT_EQ(test_optimizers().find("Sgd"), nullptr);
  EXPECT_EQ(test_optimizers().find(typeid(AdamSpec))->name, "Adam");
  EXPECT_EQ(test_optimizers().names(), (std::vector<std::string>{"SGD", "Adam"}));
  Family family("thing");
  family.add(type_def<AdamSpec>(Schema::of<AdamSpec>("Adam"), {"adam"}));
  EXPECT_THROW(family.add(type_def<SgdSpec>(Schema::of<SgdSpec>("SGD"), {"adam"})), Error);
}

struct LoaderSpec {
  int workers = 1;
};
const Schema& loader_schema() {
  static const Schema schema = Schema::of<LoaderSpec>("loader").key(key("workers", &LoaderSpec::workers).at_least(0));
  return schema;
}

}  // namespace

template <>
struct Value<LoaderSpec> {
  static bool read(const Node& node, Reader& reader, LoaderSpec& out) {
    return loader_schema().read(node, node.mark(), reader, &out);
  }
  static Node write(const LoaderSpec& value) { return loader_schema().write(&value); }
  static Node schema() { return loader_schema().json_schema(); }
};

namespace {

struct DataSpec {
  LoaderSpec loader;
  ByteSize cache;
};

TEST(Schema, SectionsHaveKeysAndNameTheirPath) {
  Reading r("{loader: {wrkers: 2, workers: -1}, cache: 3 KiB, cahce: 1}");
  DataSpec spec;
  const Schema schema = Schema::of<DataSpec>("data")
                            .key(key("loader", &DataSpec::loader))
                            .key(key("cache", &DataSpec::cache).at_most(2048));
  EXPECT_FALSE(schema.read(r.root, r.root.mark(), r.reader, &spec));
  EXPECT_EQ(r.messages(), (std::vector<std::string>{"1:11: data.loader: unknown key 'wrkers'; did you mean 'workers'?",
                                                    "1:31: data.loader: workers must be >= 0, found -1",
                                                    "1:43: data: cache must be <= 2048, found 3 KiB",
                                                    "1:50: data: unknown key 'cahce'; did you mean 'cache'?"}));
}

TEST(Schema, WithoutANameMessagesHaveNoSubject) {
  Reading r("{workes: 2}");
  LoaderSpec spec;
  const Schema schema = Schema::of<LoaderSpec>("").key(key("workers", &LoaderSpec::workers));
  EXPECT_FALSE(schema.read(r.root, r.root.mark(), r.reader, &spec));
  EXPECT_EQ(r.messages()[0], "1:2: unknown key 'workes'; did you mean 'workers'?");
}

struct WrapperSpec {
  Of<test_optimizers> inner;
};

TEST(Schema, ATypeMayBeThePositionalValue) {
  const Schema schema = Schema::of<WrapperSpec>("Lookahead").positional(key("inner", &WrapperSpec::inner).required());
  for (const char* text : {"{Adam: {learning_rate: 1}}", "{inner: {Adam: 1}}", "adam"}) {
    Reading r(text);
    WrapperSpec spec;
    EXPECT_TRUE(schema.read(r.root, r.root.mark(), r.reader, &spec)) << r.diagnostics.render();
    EXPECT_EQ(spec.inner.name(), "Adam");
  }
}

TEST(Schema, JsonSchemaIsDraft202012) {
  using nlohmann::json;
  const json schema = json::parse(to_json(conv_schema().json_schema()));
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["required"], json({"filters"}));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["filters"], json({{"type", {"integer", "string"}},
                                                   {"pattern", "[0-9$]"},
                                                   {"minimum", 1},
                                                   {"description", "Number of output channels."},
                                                   {"x-positional", true}}));
  EXPECT_EQ(schema["properties"]["strides"]["anyOf"][1]["items"]["minimum"], 1);
  EXPECT_EQ(schema["properties"]["strides"]["default"], json({1, 1}));
  EXPECT_EQ(schema["properties"]["padding"]["anyOf"][0]["enum"], json({"valid", "same"}));
  EXPECT_EQ(schema["properties"]["activation"]["default"], "linear");

  EXPECT_EQ(json::parse(to_json(test_optimizers().json_schema())), json({{"$ref", "#/$defs/optimizer"}}));
  Node definitions = Node::map();
  test_optimizers().define(definitions);
  const json defined = json::parse(to_json(definitions));
  const json& family = defined["optimizer"];
  EXPECT_EQ(family["anyOf"][0]["enum"], json({"SGD", "sgd", "Adam", "adam"}));
  for (const char* name : {"Adam", "adam"})
    EXPECT_EQ(family["anyOf"][1]["properties"][name], json({{"$ref", "#/$defs/optimizer.Adam"}}));
  const json& adam = defined["optimizer.Adam"]["anyOf"];
  EXPECT_EQ(adam[0]["properties"]["lr"]["exclusiveMinimum"], 0);
  EXPECT_EQ(adam[0]["properties"]["lr"]["x-alias-of"], "learning_rate");
  EXPECT_FALSE(adam[0]["properties"]["learning_rate"].contains("x-alias-of"));
  EXPECT_EQ(adam[2]["exclusiveMinimum"], 0);  // the bare value
}

TEST(Schema, DefinitionsHaveTheTextsOfTypes) {
  using nlohmann::json;
  Family family("thing");
  family.add(type_def<AdamSpec>(Schema::of<AdamSpec>("Adam").doc("moments of gradients")));
  family.add(type_def<SgdSpec>(Schema::of<SgdSpec>("SGD")));
  Node definitions = Node::map();
  family.define(definitions);
  const json defined = json::parse(to_json(definitions));
  EXPECT_EQ(defined["thing.Adam"]["description"], "moments of gradients");
  EXPECT_FALSE(defined["thing.SGD"].contains("description"));
}

template <int N>
struct Sharing {
  double rate = 0.5;
  int own = N;
};

template <int N>
void add_sharing(Family& family) {
  const std::string name = "Member" + std::to_string(N);
  family.add(type_def<Sharing<N>>(
      Schema::of<Sharing<N>>(name).key(key("rate", &Sharing<N>::rate)).key(key("own", &Sharing<N>::own))));
}

TEST(Schema, DefinesSharedArgumentsOnce) {
  using nlohmann::json;
  Family family("thing");
  add_sharing<0>(family), add_sharing<1>(family), add_sharing<2>(family);
  const auto defined = [&] {
    Node definitions = Node::map();
    family.define(definitions);
    return json::parse(to_json(definitions));
  };
  EXPECT_FALSE(defined().contains("thing.arguments")) << "three types are too few";
  add_sharing<3>(family);
  const json found = defined();
  EXPECT_EQ(found["thing.arguments"]["properties"].size(), 1U);
  EXPECT_EQ(found["thing.arguments"]["properties"]["rate"]["default"], 0.5);
  for (int i = 0; i < 4; ++i) {
    const json& properties = found["thing.Member" + std::to_string(i)]["anyOf"][0]["properties"];
    EXPECT_EQ(properties["rate"], json({{"$ref", "#/$defs/thing.arguments/properties/rate"}}));
    EXPECT_EQ(properties["own"]["default"], i) << "defaults differ";
  }
}

TEST(Schema, EverySpecReadsBack) {
  Reading r("{filters: 8, strides: [1, 2], padding: same, activation: '1', axes: [1], schedule: Constant, pool: 2}");
  ConvSpec spec;
  ASSERT_TRUE(conv_schema().read(r.root, r.root.mark(), r.reader, &spec)) << r.diagnostics.render();
  const std::string written = to_yaml(conv_schema().write(&spec));
  Reading back(written);
  ConvSpec again;
  ASSERT_TRUE(conv_schema().read(back.root, back.root.mark(), back.reader, &again)) << written;
  EXPECT_EQ(to_yaml(conv_schema().write(&again)), written);
  EXPECT_EQ(to_yaml(conv_schema().write(&again, true)), to_yaml(conv_schema().write(&spec, true)));
  EXPECT_EQ(again.activation, "1");
}

}  // namespace
}  // namespace dptrain::config
