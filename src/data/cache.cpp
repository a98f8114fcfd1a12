#include "data/cache.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include <unistd.h>

#include "config/json_fragment.h"
#include "config/value.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/batch_buffer.h"
#include "data/batch_writer.h"
#include "data/sources/wrapped_source.h"
#include "data/transforms/pixels.h"

namespace dptrain::data {
namespace {

std::size_t bytes_of(const Array& sample) {
  return sample.type == DType::kU8 ? sample.u8.size() : sample.f32.size() * sizeof(float);
}

/// Memory budget of stores in bytes. Any thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t most) : most_(most) {}
  bool take(std::uint64_t bytes) {
    if (taken_.fetch_add(bytes) + bytes <= most_) return true;
    taken_.fetch_sub(bytes);
    return false;
  }
  void release(std::uint64_t bytes) { taken_.fetch_sub(bytes); }
  std::uint64_t most() const { return most_; }
  std::uint64_t taken() const { return taken_; }

 private:
  const std::uint64_t most_;
  std::atomic<std::uint64_t> taken_{0};
};

/// Budget shared by all stores without a limit: this process's part of half of the memory that was free when the first
/// of them was made.
std::shared_ptr<MemoryBudget> shared_budget(int processes) {
  static std::mutex mutex;
  static std::weak_ptr<MemoryBudget> budget;
  const std::lock_guard lock(mutex);
  std::shared_ptr<MemoryBudget> shared = budget.lock();
  if (!shared)
    budget = shared =
        std::make_shared<MemoryBudget>(machine::memory().available / 2 / static_cast<std::uint64_t>(processes));
  return shared;
}

/// Each sample in its own memory, stored when it is first read.
class MemoryStore final : public CacheStore {
 public:
  MemoryStore(std::int64_t samples, bool fixed, std::optional<config::ByteSize> limit, int processes)
      : samples_(static_cast<std::size_t>(samples)),
        fixed_(fixed),
        budget_(limit ? std::make_shared<MemoryBudget>(limit->bytes) : shared_budget(processes)),
        whose_limit_(limit           ? ""
                     : processes > 1 ? fmt::format(" (half of the free memory, for {} processes)", processes)
                                     : " (half of the free memory)") {}
  ~MemoryStore() override { budget_->release(used_); }

  bool find(std::int64_t index, ImageView& out) const override {
    const Sample& sample = samples_[static_cast<std::size_t>(index)];
    if (sample.state.load(std::memory_order_acquire) != kReady) return false;
    out.shape = sample.shape;
    out.type = sample.type;
    out.data = sample.data.get();
    return true;
  }

  void store_sample(std::int64_t index, const Array& array) override {
    const std::size_t bytes = bytes_of(array);
    if (fixed_) all_fit_.run([&] { reserve_all(array, bytes); });
    Sample& sample = samples_[static_cast<std::size_t>(index)];
    std::uint8_t empty = kEmpty;
    if (!sample.state.compare_exchange_strong(empty, kTaken)) return;
    if (!fixed_ && !take(bytes)) {
      sample.state.store(kEmpty);
      warn_full();
      return;
    }
    sample.data = aligned_memory(bytes);
    std::memcpy(sample.data.get(),
                array.type == DType::kU8 ? static_cast<const void*>(array.u8.data()) : array.f32.data(), bytes);
    sample.shape = array.shape;
    sample.type = array.type;
    count_.fetch_add(1);
    sample.state.store(kReady, std::memory_order_release);
  }

 private:
  static constexpr std::uint8_t kEmpty = 0, kTaken = 1, kReady = 2;
  struct Sample {
    std::atomic<std::uint8_t> state{kEmpty};
    DType type = DType::kU8;
    Shape shape;
    std::shared_ptr<void> data;
  };

  bool take(std::uint64_t bytes) {
    if (!budget_->take(bytes)) return false;
    used_.fetch_add(bytes);
    return true;
  }

  std::string limit_text() const {
    const std::uint64_t others = budget_->taken() - used_;
    std::string text = human_bytes(budget_->most()) + whose_limit_;
    if (others > 0) text += fmt::format(", of which other data sets have {}", human_bytes(others));
    return text;
  }
  /// For samples of one size: reserves memory for all of them at the first one, or throws.
  void reserve_all(const Array& array, std::size_t bytes) {
    const std::uint64_t all = bytes * samples_.size();
    if (take(all)) return;
    throw Error(ErrorKind::kUsage,
                fmt::format("data.loader.cache: {} samples of {} {} need {}, the limit is {}; write "
                            "cache: {{memory: {} MiB}}, {{disk: FOLDER}} or none",
                            samples_.size(), array.shape.str(), array.type == DType::kU8 ? "bytes" : "floats",
                            human_bytes(all), limit_text(), (all >> 20) + 1));
  }
  void warn_full() {
    std::call_once(full_, [&] {
      log::warn(fmt::format(
          "data.loader.cache is full (limit {}): {} of {} samples are cached, the others are read again in each epoch",
          limit_text(), count_.load(), samples_.size()));
    });
  }

  std::vector<Sample> samples_;
  const bool fixed_;
  const std::shared_ptr<MemoryBudget> budget_;
  const std::string whose_limit_;
  std::atomic<std::uint64_t> used_{0}, count_{0};
  Once all_fit_;
  std::once_flag full_;
};

}  // namespace

std::unique_ptr<CacheStore> memory_store(std::int64_t samples, bool fixed, std::optional<config::ByteSize> limit,
                                         int processes) {
  return std::make_unique<MemoryStore>(samples, fixed, limit, processes);
}

namespace {

/// Transforms treat [28, 28] as an image of one channel.
Shape with_channels(const Shape& shape) { return shape.rank() == 2 ? Shape{shape[0], shape[1], 1} : shape; }

class CachedSource final : public WrappedSource {
 public:
  /// `stores`: one per input and one per label; null: not cached.
  CachedSource(std::shared_ptr<const Source> whole, Pipeline prefix, std::vector<std::unique_ptr<CacheStore>> stores)
      : WrappedSource(std::move(whole)), prefix_(std::move(prefix)), stores_(std::move(stores)) {}

  Shape input_shape(int input) const override {
    return is_cached(input) ? prefix_.output(first_shape(input)) : wrapped().input_shape(input);
  }
  Shape peek_shape(std::int64_t index, int input) const override {
    const Shape shape = wrapped().peek_shape(index, input);
    return is_cached(input) ? prefix_.output(shape) : shape;
  }
  bool has_one_shape(int input) const override {
    return wrapped().has_one_shape(input) || (is_cached(input) && prefix_.fixes_size());
  }
  void read(std::int64_t index, int input, Array& out, const ReadHint& given) const override {
    if (!is_cached(input)) return wrapped().read(index, input, out, given);
    CacheStore& store = *stores_[static_cast<std::size_t>(input)];
    try {
      ReadHint hint = prefix_.hint();
      if (!prefix_.empty()) hint.part = [this](const Shape& image) { return prefix_.part(image, {}); };
      wrapped().read(index, input, out, hint);
    } catch (const SampleError&) {
      store.mark_unreadable(index);
      throw;
    }
    if (!prefix_.empty()) {
      out.shape = with_channels(out.shape);
      Array spare;
      prefix_.run(out, spare, {});
    }
    store.store_sample(index, out);
  }
  /// After the prefix, as the inputs.
  void read_label_map(std::int64_t index, Array& out, int which) const override {
    CacheStore* const store = stores_[static_cast<std::size_t>(inputs() + which)].get();
    ImageView stored;
    if (store != nullptr && store->find(index, stored)) return copy_image(stored, out);
    thread_local Array map;
    thread_local Pipeline::Scratch scratch;
    wrapped().read_label_map(index, map, which);
    prefix_.run_on_map(view_of(map), 0, scratch, out, {});
    if (store != nullptr) store->store_sample(index, out);
  }
  Shape peek_label_map(std::int64_t, int) const override { return {}; }
  bool view(std::int64_t index, int input, ImageView& out) const override {
    return is_cached(input) ? stores_[static_cast<std::size_t>(input)]->find(index, out)
                            : wrapped().view(index, input, out);
  }
  bool can_read_exact(int input, DType type) const override {
    return wrapped().can_read_exact(input, type) && !(type == DType::kF32 && is_cached(input));
  }

 private:
  bool is_cached(int input) const { return stores_[static_cast<std::size_t>(input)] != nullptr; }
  Shape first_shape(int input) const {
    const Shape shape = wrapped().input_shape(input);
    return prefix_.empty() ? shape : with_channels(shape);
  }

  Pipeline prefix_;
  std::vector<std::unique_ptr<CacheStore>> stores_;
};

bool in_memory(const Source& source) {
  for (int input = 0; input < source.inputs(); ++input)
    if (source.u8_rows(input) == nullptr && source.f32_rows(input) == nullptr) return false;
  return true;
}

bool is_transformed(const Source& source, int input, const ModelSide& model) {
  for (std::size_t i = 0; i < model.input_shapes.size(); ++i)
    if (source_input(source, model, i) == input) return model.is_transformed(i);
  return true;
}

}  // namespace

std::pair<std::shared_ptr<const Source>, Pipeline> cached(std::shared_ptr<const Source> source, Pipeline pipeline,
                                                          const CacheOptions& options, const std::string& name,
                                                          int processes, const ModelSide& model) {
  auto [prefix, rest] = pipeline.split();
  if (options.kind == CacheOptions::Kind::kNone || (prefix.empty() && in_memory(*source)))
    return {std::move(source), std::move(pipeline)};
  if (source->draws() && pipeline.training())
    throw Error(ErrorKind::kUsage,
                "data.loader.cache: clips start at random frames in every epoch and cannot be cached; write start: "
                "middle in the data set, or cache: none");
  std::vector<std::unique_ptr<CacheStore>> stores;
  const int inputs = source->inputs();
  for (int input = 0; input < inputs + source->labels(); ++input) {
    const bool label = input >= inputs;
    if (label ? source->label_type(input - inputs) != LabelType::kMap : !is_transformed(*source, input, model)) {
      stores.push_back(nullptr);
      continue;
    }
    const Shape first = label ? Shape() : source->input_shape(input);
    const Shape shape = prefix.empty() ? first : prefix.output(with_channels(first));
    // A prefix that begins with an unknown shape may still end with a known one.
    const bool fixed = shape.rank() > 0 || prefix.fixes_size();
    if (options.kind == CacheOptions::Kind::kMemory) {
      stores.push_back(memory_store(source->size(), fixed, options.limit, processes));
      continue;
    }
    if (!fixed)
      throw Error(ErrorKind::kUsage,
                  "data.loader.cache: a disk cache needs images of one size; put Resizing or CenterCrop before the "
                  "random transforms, or use cache: memory");
    const std::string file =
        options.folder.value + "/" + name + (input > 0 ? "." + std::to_string(input) : "") + ".cache";
    const std::string key = fmt::format("{}\n{}\n{}", source->cache_key(), input, prefix.text());
    stores.push_back(disk_store(file, source->size(), key));
  }
  return {std::make_shared<CachedSource>(std::move(source), std::move(prefix), std::move(stores)), std::move(rest)};
}

}  // namespace dptrain::data

namespace dptrain::config {

using data::CacheOptions;

bool Value<CacheOptions>::read(const Node& node, Reader& reader, CacheOptions& out) {
  out = {};
  const Node found = reader.substituted(node);
  const std::string wanted = "none, memory, {memory: SIZE} or {disk: FOLDER}";
  if (found.is_map()) {
    if (found.entries().size() != 1) return reader.expected(found, wanted), false;
    const Node::Entry& entry = found.entries().front();
    const Reader::Key element(reader, reader.key() + "." + entry.key);
    if (entry.key == "disk") {
      out.kind = CacheOptions::Kind::kDisk;
      return Value<Path>::read(entry.value, reader, out.folder);
    }
    if (entry.key != "memory") return reader.expected(found, wanted), false;
    out.kind = CacheOptions::Kind::kMemory;
    return Value<ByteSize>::read(entry.value, reader, out.limit.emplace());
  }
  std::string word;
  if (!Value<std::string>::read(found, reader, word)) return false;
  if (word == "memory") out.kind = CacheOptions::Kind::kMemory;
  if (word != "memory" && word != "none") return reader.expected(found, wanted), false;
  return true;
}

Node Value<CacheOptions>::write(const CacheOptions& value) {
  if (value.kind == CacheOptions::Kind::kNone) return Node::text("none");
  if (value.kind == CacheOptions::Kind::kMemory && !value.limit) return Node::text("memory");
  Node map = Node::map();
  if (value.kind == CacheOptions::Kind::kMemory) {
    map.set("memory", Value<ByteSize>::write(*value.limit));
  } else {
    map.set("disk", Value<Path>::write(value.folder));
  }
  return map;
}

Node Value<CacheOptions>::schema() {
  const auto object = [](const char* key, Node value, const char* text) {
    Node properties = Node::map(), made = Node::map();
    properties.set(key, fragment::described(std::move(value), text));
    made.set("type", Node::text("object"));
    made.set("properties", properties);
    made.set("required", Node::sequence({Node::text(key)}));
    made.set("additionalProperties", Node::boolean(false));
    return made;
  };
  Node words = Node::map(), any = Node::map();
  words.set("enum", Node::sequence({Node::text("none"), Node::text("memory")}));
  any.set(
      "anyOf",
      Node::sequence(
          {words, object("memory", Value<ByteSize>::schema(), "size for each data set in each process, such as 4 GiB"),
           object("disk", Value<Path>::schema(),
                  "folder of the files `train.cache`, `validation.cache` and so on, which later runs reuse")}));
  return any;
}

}  // namespace dptrain::config
