#include "data/cache.h"

#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "data/filler.h"
#include "data/sources/wrapped_source.h"

namespace dptrain::data {
namespace {

/// [28, 28] is an image of one channel to transforms.
Shape with_channels(const Shape& shape) { return shape.rank() == 2 ? Shape{shape[0], shape[1], 1} : shape; }

class CachedSource final : public WrappedSource {
 public:
  /// `stores`: of each input; null: as the source has it.
  CachedSource(std::shared_ptr<const Source> whole, Pipeline prefix, std::vector<std::unique_ptr<CacheStore>> stores)
      : WrappedSource(std::move(whole)), prefix_(std::move(prefix)), stores_(std::move(stores)) {}

  Shape input_shape(int input) const override {
    return is_kept(input) ? prefix_.output(first_shape(input)) : of().input_shape(input);
  }
  Shape peek_shape(std::int64_t index, int input) const override {
    const Shape shape = of().peek_shape(index, input);
    return is_kept(input) ? prefix_.output(shape) : shape;
  }
  bool has_one_shape(int input) const override {
    return of().has_one_shape(input) || (is_kept(input) && prefix_.fixes_size());
  }
  void read(std::int64_t index, int input, Array& out, const ReadHint& given) const override {
    if (!is_kept(input)) return of().read(index, input, out, given);
    CacheStore& store = *stores_[static_cast<std::size_t>(input)];
    try {
      ReadHint hint = prefix_.hint();
      if (!prefix_.empty()) hint.part = [this](const Shape& image) { return prefix_.part(image, {}); };
      of().read(index, input, out, hint);
    } catch (const SampleError&) {
      store.give_up(index);
      throw;
    }
    if (!prefix_.empty()) {
      out.shape = with_channels(out.shape);
      Array spare;
      prefix_.run(out, spare, {});
    }
    store.keep(index, out);
  }
  bool view(std::int64_t index, int input, ImageView& out) const override {
    return is_kept(input) ? stores_[static_cast<std::size_t>(input)]->find(index, out) : of().view(index, input, out);
  }
  bool gives(int input, DType type) const override {
    return of().gives(input, type) && !(type == DType::kF32 && is_kept(input));
  }

 private:
  bool is_kept(int input) const { return stores_[static_cast<std::size_t>(input)] != nullptr; }
  Shape first_shape(int input) const {
    const Shape shape = of().input_shape(input);
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

/// Whether transforms work on it.
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
                "data.loader.cache: clips begin elsewhere in every epoch, so nothing of them can be kept; write "
                "start: middle in the data set, or cache: none");
  std::vector<std::unique_ptr<CacheStore>> stores;
  for (int input = 0; input < source->inputs(); ++input) {
    if (!is_transformed(*source, input, model)) {
      stores.push_back(nullptr);
      continue;
    }
    const Shape first = source->input_shape(input);
    const Shape shape = prefix.empty() ? first : prefix.output(with_channels(first));
    // A prefix that begins with an unknown shape may still end with a known one.
    const bool fixed = shape.rank() > 0 || prefix.fixes_size();
    if (options.kind == CacheOptions::Kind::kMemory) {
      stores.push_back(memory_store(source->size(), fixed, options.limit, processes));
      continue;
    }
    if (!fixed)
      throw Error(ErrorKind::kUsage,
                  "data.loader.cache: a disk cache keeps images of one size; put Resizing or CenterCrop before the "
                  "random transforms, or use cache: memory");
    const std::string file =
        options.folder.value + "/" + name + (input > 0 ? "." + std::to_string(input) : "") + ".cache";
    const std::string key = fmt::format("{}\n{}\n{}", source->cache_key(), input, prefix.text());
    stores.push_back(disk_store(file, source->size(), key));
  }
  return {std::make_shared<CachedSource>(std::move(source), std::move(prefix), std::move(stores)), std::move(rest)};
}

}  // namespace dptrain::data
