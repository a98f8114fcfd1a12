#include "data/sources/features.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/memory.h"
#include "core/text.h"

namespace dptrain::data {
namespace {

/// Repeats `call` until all bytes are read or written. Returns 0 or the error number; ENODATA: end of file.
template <class Call>
int all_of(const Call& call, std::size_t bytes, std::int64_t offset) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = call(done, bytes - done, offset + static_cast<std::int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENODATA;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

std::uint64_t block_bytes(const FeatureInput& input, std::int64_t samples) {
  constexpr std::uint64_t kAlign = sizeof(float);
  return (input.row_bytes() * static_cast<std::uint64_t>(samples) + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

std::uint64_t feature_bytes(const std::vector<FeatureInput>& inputs, std::int64_t samples) {
  std::uint64_t bytes = 0;
  for (const FeatureInput& input : inputs) bytes += block_bytes(input, samples);
  return bytes;
}

Features::Features(std::shared_ptr<const Source> of, std::vector<FeatureInput> inputs, const std::string& folder)
    : WrappedSource(std::move(of)),
      inputs_(std::move(inputs)),
      folder_(folder),
      stored_(static_cast<std::size_t>(size()), false) {
  if (!folder.empty()) {
    open_file(folder);
    return;
  }
  try {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes());
    advise_huge_pages(memory_.get(), bytes());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kMemory, fmt::format("no memory for {} of features", human_bytes(bytes())));
  }
}

Features::~Features() {
  if (file_ >= 0) close(file_);
}

void Features::open_file(const std::string& folder) {
  std::string name = folder + "/dptrain-features-XXXXXX";
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0)
    throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write features there: {}", folder, std::strerror(errno)));
  unlink(name.c_str());
  // Fail now rather than during the computation if the disk is full.
  if (const int error = posix_fallocate(file_, 0, static_cast<off_t>(bytes())); error != 0) {
    close(std::exchange(file_, -1));
    throw Error(ErrorKind::kWrite,
                fmt::format("{}: no room for {} of features: {}", folder, human_bytes(bytes()), std::strerror(error)));
  }
}

std::size_t Features::place(std::int64_t index, std::size_t input) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < input; ++i) bytes += static_cast<std::size_t>(block_bytes(inputs_[i], size()));
  return bytes + static_cast<std::size_t>(index) * inputs_[input].row_bytes();
}

void Features::store(std::int64_t index, const std::vector<const std::byte*>& rows) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::size_t size = inputs_[i].row_bytes();
    if (memory_) {
      std::memcpy(memory_.get() + place(index, i), rows[i], size);
      continue;
    }
    const std::byte* const bytes = rows[i];
    const auto write = [&](std::size_t done, std::size_t left, std::int64_t offset) {
      return pwrite(file_, bytes + done, left, static_cast<off_t>(offset));
    };
    if (const int error = all_of(write, size, static_cast<std::int64_t>(place(index, i))); error != 0)
      throw Error(ErrorKind::kWrite, fmt::format("{}: cannot write features: {}", folder_, std::strerror(error)));
  }
  const auto which = static_cast<std::size_t>(index);
  if (!stored_[which]) ++stored_count_;
  stored_[which] = true;
}

/// Throws the error of a sample that could not be read when the features were computed.
void Features::read_again(std::int64_t index, Array& spare) const {
  for (int input = 0; input < wrapped().inputs(); ++input) wrapped().read(index, input, spare, {});
}

void Features::read(std::int64_t index, int input, Array& out, const ReadHint&) const {
  const auto i = static_cast<std::size_t>(input);
  if (!stored_[static_cast<std::size_t>(index)]) read_again(index, out);
  out.shape = inputs_[i].shape;
  out.type = DType::kF32;
  out.f32.resize(static_cast<std::size_t>(inputs_[i].shape.elements()));
  read_row(index, i, out.f32.data());
}

void Features::read_exact(std::int64_t index, int input, DType, void* out) const {
  Array unread;
  if (!stored_[static_cast<std::size_t>(index)]) read_again(index, unread);
  read_row(index, static_cast<std::size_t>(input), out);
}

/// Throws for a sample without features: callers have read it from the data set before, which should have failed.
void Features::read_row(std::int64_t index, std::size_t input, void* out) const {
  if (!stored_[static_cast<std::size_t>(index)])
    throw Error(ErrorKind::kData, fmt::format("{}: could not be read when the features were computed, and can be now; "
                                              "start again",
                                              label_place(index, 0)));
  const std::size_t size = inputs_[input].row_bytes();
  if (memory_) {
    std::memcpy(out, memory_.get() + place(index, input), size);
    return;
  }
  auto* const bytes = static_cast<std::byte*>(out);
  const auto read = [&](std::size_t done, std::size_t left, std::int64_t offset) {
    return pread(file_, bytes + done, left, static_cast<off_t>(offset));
  };
  if (const int error = all_of(read, size, static_cast<std::int64_t>(place(index, input))); error != 0)
    throw Error(ErrorKind::kData,
                fmt::format("{}: cannot read features of sample {}: {}", folder_, index, std::strerror(error)));
}

const float* Features::f32_rows(int input) const {
  const auto i = static_cast<std::size_t>(input);
  if (!memory_ || missing() > 0 || inputs_[i].type != DType::kF32) return nullptr;
  return reinterpret_cast<const float*>(memory_.get() + place(0, i));
}

}  // namespace dptrain::data
