#include "experiment/sections.h"

#include "experiment/output_map.h"
#include "nn/optimizers.h"

#include <array>
#include <cmath>
#include <limits>

#include "config/family.h"
#include "config/json_fragment.h"
#include "core/format.h"
#include "data/cache.h"
#include "data/loader.h"

namespace dptrain::config {

using experiment::AutoInt;

template <>
struct EnumNames<experiment::DtypePolicy> {
  static constexpr std::array names{std::pair{experiment::DtypePolicy::kFloat32, "float32"},
                                    std::pair{experiment::DtypePolicy::kMixedBfloat16, "mixed_bfloat16"},
                                    std::pair{experiment::DtypePolicy::kMixedFloat16, "mixed_float16"}};
};
template <>
struct EnumNames<experiment::LrScaling> {
  static constexpr std::array names{std::pair{experiment::LrScaling::kNone, "none"},
                                    std::pair{experiment::LrScaling::kLinear, "linear"},
                                    std::pair{experiment::LrScaling::kSqrt, "sqrt"}};
};
template <>
struct EnumNames<backend::ConvChoice> {
  static constexpr std::array names{std::pair{backend::ConvChoice::kAuto, "auto"},
                                    std::pair{backend::ConvChoice::kDirect, "direct"}};
};
template <>
struct EnumNames<experiment::Autotune> {
  static constexpr std::array names{std::pair{experiment::Autotune::kAuto, "auto"},
                                    std::pair{experiment::Autotune::kHeuristic, "heuristic"},
                                    std::pair{experiment::Autotune::kTime, "time"}};
};
template <>
struct EnumNames<experiment::AllreduceDtype> {
  static constexpr std::array names{std::pair{experiment::AllreduceDtype::kFloat32, "float32"},
                                    std::pair{experiment::AllreduceDtype::kBfloat16, "bfloat16"}};
};
template <>
struct EnumNames<experiment::Resident> {
  static constexpr std::array names{std::pair{experiment::Resident::kAuto, "auto"},
                                    std::pair{experiment::Resident::kOff, "off"}};
};
template <>
struct EnumNames<backend::Graphs> {
  static constexpr std::array names{std::pair{backend::Graphs::kAuto, "auto"}, std::pair{backend::Graphs::kOn, "on"},
                                    std::pair{backend::Graphs::kOff, "off"}};
};

template <>
struct Value<AutoInt> {
  static bool read(const Node& node, Reader& reader, AutoInt& out) {
    const Node value = reader.substituted(node);
    if (value.is_scalar() && value.str() == "auto") return out.value.reset(), true;
    int number = 0;
    if (!Value<int>::read(value, reader, number)) return false;
    out.value = number;
    return true;
  }
  static Node write(const AutoInt& value) {
    return value.value ? Value<int>::write(*value.value) : Node::scalar("auto");
  }
  static Node schema() { return fragment::any_of({Value<int>::schema(), detail::enum_schema({"auto"})}); }
};

/// balanced | {class: weight}
template <>
struct Value<experiment::ClassWeight> {
  static bool read(const Node& node, Reader& reader, experiment::ClassWeight& out) {
    const Node value = reader.substituted(node);
    out.mark = value.mark();
    if (value.is_scalar() && value.str() == "balanced") return out.balanced = true;
    if (!value.is_map() || value.entries().empty()) {
      reader.error(node, "class_weight must be balanced or {class: weight, ...}, found " + value.describe());
      return false;
    }
    bool good = true;
    for (const Node::Entry& entry : value.entries()) {
      double weight = 0;
      if (!Value<double>::read(entry.value, reader, weight)) {
        good = false;
      } else if (!(weight >= 0 && weight <= std::numeric_limits<float>::max())) {
        reader.error(entry.mark, fmt::format("class_weight of '{}' must be a number >= 0", entry.key));
        good = false;
      }
      out.weights.emplace_back(entry.key, weight);
    }
    return good;
  }
  static Node write(const experiment::ClassWeight& value) {
    if (value.balanced) return Node::scalar("balanced");
    Node map = Node::map();
    for (const auto& [name, weight] : value.weights) map.set(name, Value<double>::write(weight));
    return map;
  }
  static Node schema() {
    return fragment::any_of({detail::enum_schema({"balanced"}), detail::map_schema(Value<double>::schema())});
  }
};

/// auto | off | memory | {disk: folder}
template <>
struct Value<experiment::CachePrefix> {
  using Kind = experiment::CachePrefix::Kind;
  static constexpr std::array kWords{std::pair{"auto", Kind::kAuto}, std::pair{"off", Kind::kOff},
                                     std::pair{"memory", Kind::kMemory}};
  static bool read(const Node& node, Reader& reader, experiment::CachePrefix& out) {
    const Node value = reader.substituted(node);
    for (const auto& [word, kind] : kWords)
      if (value.is_scalar() && value.str() == word) return out = {kind, {}}, true;
    if (value.is_map() && value.entries().size() == 1 && value.entries()[0].key == "disk") {
      out.kind = Kind::kDisk;
      return Value<Path>::read(value.entries()[0].value, reader, out.folder);
    }
    reader.error(node, "cache_frozen_prefix must be auto, off, memory or {disk: folder}, found " + value.describe());
    return false;
  }
  static Node write(const experiment::CachePrefix& value) {
    for (const auto& [word, kind] : kWords)
      if (value.kind == kind) return Node::scalar(word);
    Node disk = Node::map();
    disk.set("disk", Value<Path>::write(value.folder));
    return disk;
  }
  static Node schema() {
    Node disk = Node::map();
    disk.set("disk", fragment::described(Value<Path>::schema(), "folder of the cache"));
    return fragment::any_of({detail::enum_schema({"auto", "off", "memory"}), fragment::object(disk, false, "disk")});
  }
};

/// auto | none | FILE
template <>
struct Value<experiment::ConvCache> {
  using Kind = experiment::ConvCache::Kind;
  static constexpr std::array kWords{std::pair{"auto", Kind::kAuto}, std::pair{"none", Kind::kNone}};
  static bool read(const Node& node, Reader& reader, experiment::ConvCache& out) {
    const Node value = reader.substituted(node);
    for (const auto& [word, kind] : kWords)
      if (value.is_scalar() && value.str() == word) return out = {kind, {}}, true;
    out.kind = Kind::kFile;
    return Value<Path>::read(node, reader, out.file);
  }
  static Node write(const experiment::ConvCache& value) {
    for (const auto& [word, kind] : kWords)
      if (value.kind == kind) return Node::scalar(word);
    return Value<Path>::write(value.file);
  }
  static Node schema() { return Value<Path>::schema(); }
};

/// full | none | buffer N
template <>
struct Value<data::Shuffle> {
  using Kind = data::Shuffle::Kind;
  static bool read(const Node& node, Reader& reader, data::Shuffle& out) {
    const auto text = reader.text(node);
    if (!text) return false;
    if (*text == "full") return out = {Kind::kFull, 0}, true;
    if (*text == "none") return out = {Kind::kNone, 0}, true;
    if (text->starts_with("buffer ")) {
      const auto size = reader.integer(Node::scalar(text->substr(7), node.mark()));
      if (size && *size >= 1) return out = {Kind::kBuffer, *size}, true;
    }
    reader.error(node, fmt::format("shuffle must be full, none or 'buffer N', found '{}'", *text));
    return false;
  }
  static Node write(const data::Shuffle& value) {
    switch (value.kind) {
      case Kind::kFull: return Node::scalar("full");
      case Kind::kNone: return Node::scalar("none");
      case Kind::kBuffer: break;
    }
    return Node::scalar(fmt::format("buffer {}", value.buffer));
  }
  static Node schema() { return Value<std::string>::schema(); }
};

/// none | N
template <>
struct Value<experiment::BucketByLength> {
  static bool read(const Node& node, Reader& reader, experiment::BucketByLength& out) {
    const Node value = reader.substituted(node);
    out.mark = value.mark();
    if (value.is_scalar() && value.str() == "none") return out.window = 0, true;
    if (!Value<std::int64_t>::read(value, reader, out.window)) return false;
    if (out.window >= 1) return true;
    reader.error(node, fmt::format("bucket_by_length must be none or a number of batches >= 1, found {}", out.window));
    return false;
  }
  static Node write(const experiment::BucketByLength& value) {
    return value.window == 0 ? Node::scalar("none") : Value<std::int64_t>::write(value.window);
  }
  static Node schema() { return fragment::any_of({Value<std::int64_t>::schema(), detail::enum_schema({"none"})}); }
};

template <>
struct Value<experiment::Split> {
  static bool read(const Node& node, Reader& reader, experiment::Split& out) {
    const Node value = reader.substituted(node);
    if (value.is_scalar() && (value.str() == "even" || value.str() == "auto")) {
      out = {.weights = {}, .automatic = value.str() == "auto"};
      return true;
    }
    out.automatic = false;
    if (value.is_sequence() && Value<std::vector<double>>::read(value, reader, out.weights)) {
      double sum = 0;
      for (const double weight : out.weights) {
        if (!(weight >= 0)) return reader.error(node, "split: weights must be >= 0"), false;
        sum += weight;
      }
      if (!(sum > 0 && std::isfinite(sum))) reader.error(node, "split: the sum of the weights must be > 0 and finite");
      return sum > 0 && std::isfinite(sum);
    }
    if (!value.is_sequence())
      reader.error(node, "split must be even, auto or a list such as [2, 1], found " + value.describe());
    return false;
  }
  static Node write(const experiment::Split& value) {
    if (value.automatic) return Node::scalar("auto");
    return value.weights.empty() ? Node::scalar("even") : Value<std::vector<double>>::write(value.weights);
  }
  static Node schema() {
    Node weight = fragment::number("number");
    weight.set("minimum", Node::integer(0));
    return fragment::any_of({detail::enum_schema({"even", "auto"}), fragment::list(std::move(weight))});
  }
};

template <>
struct Value<experiment::Transforms> {
  using List = std::vector<Of<data::transform_family>>;
  static bool read(const Node& node, Reader& reader, experiment::Transforms& out) {
    if (!node.is_map()) {
      const bool good = Value<List>::read(node, reader, out.train);
      out.eval = out.train;
      return good;
    }
    bool good = true;
    for (const Node::Entry& entry : node.entries()) {
      if (entry.key == "train") {
        good = Value<List>::read(entry.value, reader, out.train) && good;
      } else if (entry.key == "eval") {
        good = Value<List>::read(entry.value, reader, out.eval) && good;
      } else {
        reader.error(entry.mark,
                     fmt::format("transforms: unknown argument '{}'; expected a list, or train and eval", entry.key));
        good = false;
      }
    }
    return good;
  }
  static Node write(const experiment::Transforms& value) {
    Node both = Node::map();
    both.set("train", Value<List>::write(value.train));
    both.set("eval", Value<List>::write(value.eval));
    return both;
  }
  static Node schema() {
    Node both = Node::map();
    both.set("train", fragment::described(Value<List>::schema(), "transforms of training"));
    both.set("eval", fragment::described(Value<List>::schema(), "transforms of validation, test and prediction"));
    return fragment::any_of({Value<List>::schema(), fragment::object(std::move(both))});
  }
};

namespace {

const Schema& schema_of(const experiment::LoaderSection&);
const Schema& schema_of(const experiment::DataSection&);
const Schema& schema_of(const experiment::TrainSection&);
const Schema& schema_of(const experiment::ParallelSection&);
const Schema& schema_of(const experiment::RuntimeSection&);

template <class T>
struct Section {
  static bool read(const Node& node, Reader& reader, T& out) { return schema_of(out).read_section(node, reader, &out); }
  static Node write(const T& value) { return schema_of(value).write(&value); }
  static Node schema() { return schema_of(T()).json_schema(); }
};

const Schema& schema_of(const experiment::LoaderSection&) {
  using S = experiment::LoaderSection;
  static const Schema schema =
      Schema::of<S>("loader")
          .key(key("shuffle", &S::shuffle)
                   .doc("order of training samples; full: all, drawn again for each epoch; none; buffer N: as "
                        "shuffle(N) of tf.data"))
          .key(key("bucket_by_length", &S::bucket_by_length)
                   .at_least(1)
                   .doc("N: batches of similar lengths, from the samples of each N batches sorted by length; not with "
                        "`shuffle: none`"))
          .key(key("workers", &S::workers)
                   .doc("threads that prepare batches; auto: one if samples are only copied, else the cores that "
                        "replicas do not use, 1 to 16"))
          .key(key("prefetch", &S::prefetch)
                   .doc("batches that are prepared ahead; auto: 2 for one worker, else 4, more if a batch has fewer "
                        "samples than there are workers"))
          .key(key("cache", &S::cache)
                   .doc("where samples are kept after decoding and the transforms before the first random one: none, "
                        "memory (up to half of the free memory), {memory: SIZE} or {disk: FOLDER}"))
          .rule<S>([](const S& loader) -> std::string {
            const bool in_order = loader.shuffle.kind == data::Shuffle::Kind::kNone;
            return in_order && loader.bucket_by_length.window > 0
                       ? "bucket_by_length draws the order of batches, and shuffle is none"
                       : "";
          });
  return schema;
}

}  // namespace

template <>
struct Value<experiment::LoaderSection> : Section<experiment::LoaderSection> {};

namespace {

const Schema& schema_of(const experiment::DataSection&) {
  using S = experiment::DataSection;
  static const Schema schema =
      Schema::of<S>("data")
          .key(key("train", &S::train).doc("training data set"))
          .key(key("validation", &S::validation).doc("data set that is evaluated after epochs"))
          .key(key("test", &S::test).doc("data set that eval evaluates"))
          .key(key("transforms", &S::transforms)
                   .doc("transforms of every sample before the model: a list for both, or {train: [...], eval: [...]}"))
          .key(key("loader", &S::loader).doc("order of the samples, threads that prepare batches, and cache"));
  return schema;
}

const Schema& schema_of(const experiment::TrainSection&) {
  using S = experiment::TrainSection;
  static const Schema schema =
      Schema::of<S>("train")
          .key(key("epochs", &S::epochs).at_least(1).doc("passes over the training set"))
          .key(key("steps", &S::steps).at_least(1).doc("updates of the weights in all"))
          .key(key("batch_size", &S::batch_size).at_least(1).doc("samples of one update, all replicas together"))
          .key(key("batch_size_per_replica", &S::batch_size_per_replica)
                   .at_least(1)
                   .doc("samples of one update in each replica"))
          .key(key("accumulate_steps", &S::accumulate_steps)
                   .at_least(1)
                   .doc("micro-batches that each replica's share of a batch is divided into: less memory, the same "
                        "update; default: 1 on GPUs, on CPUs as many as keep a micro-batch in the caches"))
          .key(key("optimizer", &S::optimizer).doc("optimizer that updates the weights"))
          .key(key("loss", &S::loss).doc("loss that is minimized: one for all outputs, or {output name: loss}"))
          .key(key("loss_weights", &S::loss_weights)
                   .doc("factors of the outputs' losses in the total: {output name: number}; default: 1 each"))
          .key(key("metrics", &S::metrics).doc("logged metrics: a list for all outputs, or {output name: list}"))
          .key(key("class_weight", &S::class_weight)
                   .doc("factors of the samples' losses: balanced, or {class: weight}, with classes by name or number"))
          .key(key("dtype_policy", &S::dtype_policy)
                   .doc("float32; mixed_bfloat16 on GPUs and on CPUs with AMX or AVX-512 BF16; mixed_float16 on GPUs"))
          .key(key("lr_scaling", &S::lr_scaling)
                   .doc("factor of the learning rate: none; linear: batch / reference_batch_size; sqrt: its root"))
          .key(key("reference_batch_size", &S::reference_batch_size)
                   .at_least(1)
                   .doc("batch size that the learning rate was chosen for; required with `lr_scaling`"))
          .key(key("validate_every", &S::validate_every)
                   .doc("interval of validations: whole epochs, as Keras's `validation_freq`, or steps of the run, "
                        "such as `500 steps`"))
          .key(key("log_every", &S::log_every)
                   .doc("interval of log rows: steps of each epoch, such as `50 steps`, or a time, such as `10s`; the "
                        "end of an epoch adds a row"))
          .key(key("max_time", &S::max_time)
                   .doc("each start of the run stops after this time, such as `30m`; a plain number is seconds"))
          .key(key("on_nonfinite", &S::on_nonfinite).doc("action after a loss or gradient that is not finite"));
  return schema;
}

const Schema& schema_of(const experiment::ParallelSection&) {
  using S = experiment::ParallelSection;
  static const Schema schema =
      Schema::of<S>("parallel")
          .key(key("split", &S::split)
                   .doc("shares of the replicas: even, weights such as [2, 1] (0 is allowed), or auto: by their speed"))
          .key(key("sync_batchnorm", &S::sync_batchnorm)
                   .doc("whether BatchNormalization uses the batch of all replicas instead of each replica's own"))
          .key(key("virtual_shards", &S::virtual_shards)
                   .between(2, 1024)
                   .doc("number of fixed parts of each batch, a power of two: the same bits on 1, 2, 4, ... replicas; "
                        "not with `accumulate_steps`, an uneven or automatic `split`, or `sync_batchnorm`"))
          .key(key("bucket_size", &S::bucket_size)
                   .doc("bytes of gradients that are summed together; default: 25 MiB on GPUs, on CPUs an eighth of "
                        "all, 64 KiB to 25 MiB"))
          .key(key("allreduce_dtype", &S::allreduce_dtype)
                   .doc("bfloat16: GPUs exchange gradients rounded to bfloat16, half the bytes; an error for several "
                        "replicas on CPUs or on one GPU, and with `virtual_shards`"))
          .key(key("check_replicas", &S::check_replicas)
                   .doc("interval at which the weights of all replicas are compared, such as `100 steps`"))
          .key(key("watchdog", &S::watchdog)
                   .doc("longest silence of another process, and longest GPU step without progress, before the run "
                        "ends with exit code 9; ten minutes for the first GPU step, for later ones at least three "
                        "times the longest step"));
  return schema;
}

const Schema& schema_of(const experiment::RuntimeSection&) {
  using S = experiment::RuntimeSection;
  static const Schema schema =
      Schema::of<S>("runtime")
          .key(key("deterministic", &S::deterministic)
                   .doc("false: permits GPU algorithms whose bits differ between runs; CPUs are always deterministic"))
          .key(key("cache_frozen_prefix", &S::cache_frozen_prefix)
                   .doc("where the features of frozen layers are cached: auto, off, memory or {disk: FOLDER}"))
          .key(key("conv", &S::conv).doc("algorithms of convolutions; direct: no Winograd"))
          .key(key("conv_cache", &S::conv_cache)
                   .doc("file of convolution algorithms that `bench --tune` writes; auto: `dptrain/conv.json` in "
                        "`$XDG_CACHE_HOME` or `~/.cache`; none"))
          .key(key("bn_unbiased_running_var", &S::bn_unbiased_running_var)
                   .doc("whether moving variances use N / (N - 1), as tf.keras does for images"))
          .key(key("tf32", &S::tf32)
                   .doc("GPUs: whether float32 products can use TF32 (10 bits of mantissa, sums in float32); false is "
                        "several times slower"))
          .key(key("workspace_limit", &S::workspace_limit)
                   .doc("GPUs: largest workspace of a convolution or of cuDNN's attention"))
          .key(key("cudnn_attention", &S::cudnn_attention)
                   .doc("GPUs: whether cuDNN computes MultiHeadAttention in 16 bits, without dropout and masks except "
                        "the causal one; `summary --plan` prints which layers it computes, and the reason for others"))
          .key(key("autotune", &S::autotune)
                   .doc("GPUs: choice of cuDNN engines; heuristic: cuDNN's first choice; time: the fastest of the "
                        "first eight, measured once and stored; auto: time in `fit`, `bench`, `sweep` and `verify`, "
                        "else heuristic"))
          .key(key("cuda_graphs", &S::cuda_graphs)
                   .doc("GPUs: whether to record a step once and replay it; auto: one replica without accumulation; "
                        "on: also several replicas with one GPU each in one process, an error if impossible, as with "
                        "`virtual_shards` or `split: auto`; off"))
          .key(key("resident", &S::resident)
                   .doc("GPUs: auto: data sets in memory stay on the GPU if they fit, and batches are made there; off: "
                        "the loader makes all batches"));
  return schema;
}

}  // namespace

template <>
struct Value<experiment::DataSection> : Section<experiment::DataSection> {};
template <>
struct Value<experiment::TrainSection> : Section<experiment::TrainSection> {};
template <>
struct Value<experiment::ParallelSection> : Section<experiment::ParallelSection> {};
template <>
struct Value<experiment::RuntimeSection> : Section<experiment::RuntimeSection> {};

}  // namespace dptrain::config

namespace dptrain::experiment {
namespace {

config::Family make_nonfinite_family() {
  using config::key;
  using config::Schema;
  using config::type_def;
  config::Family family("on_nonfinite");
  family.add(type_def<StopSpec>(Schema::of<StopSpec>("stop").doc("ends the run with exit code 6")));
  using S = SkipStepSpec;
  family.add(type_def<S>(
      Schema::of<S>("skip_step")
          .doc("continues with the next batch")
          .positional(
              key("at_most", &S::at_most).at_least(1).doc("number of times in a run, after which the run stops"))));
  using R = RollbackSpec;
  family.add(type_def<R>(
      Schema::of<R>("rollback")
          .doc("loads `last.h5` and multiplies the learning rate by `factor`")
          .positional(key("factor", &R::factor).above(0).at_most(1).doc("factor of the learning rate after a rollback"))
          .key(key("at_most", &R::at_most).at_least(1).doc("number of times in a run, after which the run stops"))));
  return family;
}

}  // namespace

config::Family& nonfinite_family() {
  static config::Family family = make_nonfinite_family();
  return family;
}

nn::Optimizer default_optimizer() { return nn::Optimizer(nn::RMSpropSpec{}); }

std::string name_of(DtypePolicy policy) { return config::Value<DtypePolicy>::write(policy).str(); }

const config::Schema& config_schema() {
  using config::key;
  using S = ConfigFile;
  static const config::Schema schema =
      config::Schema::of<S>("config")
          .key(key("dptrain", &S::dptrain).required().doc("version of the config language: 1"))
          .key(key("name", &S::name).doc("name of the experiment and of its runs' folder; default: the file's name"))
          .key(key("seed", &S::seed).doc("seed of initial weights, order of samples, random layers and transforms"))
          .key(key("run_dir", &S::run_dir).doc("folder of the runs, which are in NAME/NNN below it"))
          .key(key("data", &S::data).doc("data sets, their transforms and the loader"))
          .key(key("train", &S::train).doc("length, batch, optimizer and loss of the training"))
          .key(key("parallel", &S::parallel).doc("how replicas share the work"))
          .key(key("runtime", &S::runtime).doc("settings of speed and memory, without effect on the meaning"))
          .key(key("callbacks", &S::callbacks).doc("callbacks, in the order in which they are called"))
          .key(key("gates", &S::gates).doc("limits for the final model; exit code 7 if it violates one"));
  return schema;
}

}  // namespace dptrain::experiment
