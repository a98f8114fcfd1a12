#include "data/cache_part.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/sources/hash.h"

namespace dptrain::data {
namespace {

constexpr std::int64_t kPresence = 0, kSetUp = 1;  // bytes that are locked

/// Others of the same boot share the memory that files are mapped to.
std::uint64_t this_machine() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id{std::istreambuf_iterator<char>(in), {}};
  if (id.empty()) {
    id.resize(256);
    gethostname(id.data(), id.size());
  }
  return hash_bytes(id.data(), id.size());
}

bool has_name(const CacheFile& file, const std::string& name) {
  struct stat mine {
  }, named{};
  return fstat(file.get(), &mine) == 0 && stat(name.c_str(), &named) == 0 && mine.st_ino == named.st_ino &&
         mine.st_dev == named.st_dev;
}

std::uint64_t type_of(const Array& sample) { return sample.type == DType::kU8 ? 0 : 1; }

/// kSetUp, for as long as this lives.
class SetUpLock {
 public:
  explicit SetUpLock(const CacheFile& file) : file_(file), held_(file.lock(F_WRLCK, kSetUp, true)) {}
  ~SetUpLock() {
    if (held_) file_.lock(F_UNLCK, kSetUp, false);
  }
  SetUpLock(const SetUpLock&) = delete;
  SetUpLock& operator=(const SetUpLock&) = delete;
  bool held() const { return held_; }

 private:
  const CacheFile& file_;
  const bool held_;
};

}  // namespace

CachePart::CachePart(std::string file, std::uint64_t samples, CacheFile open)
    : file_(std::move(file)),
      part_(file_ + ".part"),
      samples_(samples),
      layout_(samples),
      out_(std::move(open)),
      taken_(static_cast<std::size_t>(samples)) {}

std::unique_ptr<CachePart> CachePart::open(const std::string& file, std::uint64_t key, std::uint64_t samples) {
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), failed);
  const std::string name = file + ".part";
  const auto without = [&](const std::string& why) {
    log::warn(fmt::format("{} {}; this run goes without the cache", name, why));
    return nullptr;
  };
  for (;;) {
    CacheFile out(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!out) fail_cache(name, "be opened");
    std::unique_ptr<CachePart> part(new CachePart(file, samples, std::move(out)));
    const SetUpLock lock(part->out_);
    if (!lock.held()) return without("cannot be locked: " + std::generic_category().message(errno));
    if (!has_name(part->out_, name)) continue;  // it has just got its real name, or been removed
    const bool alone = part->out_.lock(F_WRLCK, kPresence, false);
    if (alone) part->begin(key);
    if (!part->out_.lock(F_RDLCK, kPresence, false)) return without("is being written by another process");
    if (!alone && !part->join(key))
      return without("is being written by another process, for other data or on another machine");
    return part;
  }
}

/// Of nobody else; whatever is in it.
void CachePart::begin(std::uint64_t key) {
  if (ftruncate(out_.get(), 0) != 0) fail_cache(part_, "be emptied");
  if (const int error = posix_fallocate(out_.get(), 0, static_cast<off_t>(layout_.rows)); error != 0) {
    errno = error;
    fail_cache(part_, fmt::format("hold flags of {} samples", samples_));
  }
  map_index();
  CacheHeader& begun = header();
  std::memcpy(begun.magic, kCacheMagic, sizeof kCacheMagic);
  begun.key = key;
  begun.samples = samples_;
  begun.machine = this_machine();
}

/// Begun by a process that wants the same samples; then its first part is mapped here, too.
bool CachePart::join(std::uint64_t key) {
  CacheHeader begun;
  struct stat facts {};
  const bool same = pread(out_.get(), &begun, sizeof begun, 0) == static_cast<ssize_t>(sizeof begun) &&
                    std::memcmp(begun.magic, kCacheMagic, sizeof kCacheMagic) == 0 && begun.key == key &&
                    begun.samples == samples_ && begun.machine == this_machine() && fstat(out_.get(), &facts) == 0 &&
                    static_cast<std::uint64_t>(facts.st_size) >= layout_.rows;
  if (same) map_index();
  return same;
}

CachePart::~CachePart() {
  const SetUpLock lock(out_);
  const bool whole = index_.get() != nullptr && is_finished();
  if (lock.held() && !whole && out_.lock(F_WRLCK, kPresence, false) && has_name(out_, part_)) unlink(part_.c_str());
}

void CachePart::map_index() {
  index_ = CacheMapping(out_, layout_.rows, true);
  if (index_.get() == nullptr) fail_cache(part_, "be mapped into memory");
}

/// Where the samples have a shape.
void CachePart::map_whole() {
  const CacheHeader& shaped = header();
  whole_ = CacheMapping(out_, layout_.bytes(shaped), true);
  if (whole_.get() == nullptr) fail_cache(part_, "be mapped into memory");
  shape_ = Shape(std::vector<std::int64_t>(shaped.dims, shaped.dims + shaped.rank));
}

/// That of all samples is the first one's, whoever has that.
void CachePart::give_shape(const Array& sample) {
  const SetUpLock lock(out_);
  if (!lock.held()) fail_cache(part_, "be locked");
  CacheHeader& shaped = header();
  if (!is_shaped()) {
    shaped.type = type_of(sample);
    shaped.bytes = static_cast<std::uint64_t>(sample.shape.elements()) * (shaped.type == 0 ? 1 : sizeof(float));
    shaped.rank = static_cast<std::uint64_t>(sample.shape.rank());
    if (shaped.rank > std::size(shaped.dims)) throw Error(ErrorKind::kInternal, "cache: samples of more than 8 axes");
    std::ranges::copy(sample.shape.dims(), shaped.dims);
    const std::uint64_t bytes = layout_.bytes(shaped);
    if (const int error = posix_fallocate(out_.get(), 0, static_cast<off_t>(bytes)); error != 0) {
      errno = error;
      fail_cache(part_, fmt::format("hold {} samples of {}, {}", samples_, sample.shape.str(), human_bytes(bytes)));
    }
    std::atomic_ref(shaped.shaped).store(1, std::memory_order_release);
  }
  map_whole();
}

bool CachePart::find(std::size_t index, ImageView& out) {
  if (flag(index).load(std::memory_order_acquire) != kThere) return false;
  shaped_.run([this] { map_whole(); });
  out.shape = shape_;
  out.type = header().type == 0 ? DType::kU8 : DType::kF32;
  out.data = row(index);
  return true;
}

void CachePart::keep(std::size_t index, const Array& sample) {
  if (is_finished()) return;
  shaped_.run([&] { give_shape(sample); });
  if (sample.shape != shape_ || type_of(sample) != header().type) return give_up(index);
  if (taken_[index].exchange(true) || flag(index).load() != kMissing) return;
  const std::uint64_t bytes = header().bytes;
  std::memcpy(row(index), sample.type == DType::kU8 ? static_cast<const void*>(sample.u8.data()) : sample.f32.data(),
              bytes);
  const std::uint32_t crc = cache_crc(row(index), bytes);
  std::memcpy(index_.get() + layout_.crcs + index * sizeof crc, &crc, sizeof crc);
  settle(index, kThere);
}

void CachePart::give_up(std::size_t index) {
  if (!is_finished()) settle(index, kUnreadable);
}

void CachePart::settle(std::size_t index, CacheFlag what) {
  std::uint8_t missing = kMissing;
  if (!flag(index).compare_exchange_strong(missing, what)) return;
  if (std::atomic_ref(header().tried).fetch_add(1) + 1 == samples_ && is_shaped()) finish();
}

/// By whoever wrote the last flag, with all that the others have written.
void CachePart::finish() {
  shaped_.run([this] { map_whole(); });
  const bool good = msync(whole_.get(), whole_.bytes(), MS_SYNC) == 0 && fsync(out_.get()) == 0 &&
                    rename(part_.c_str(), file_.c_str()) == 0;
  if (!good) fail_cache(file_, "be written");
  std::atomic_ref(header().finished).store(1, std::memory_order_release);
  const CacheFile folder(
      ::open(std::filesystem::path(file_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) fsync(folder.get());
}

}  // namespace dptrain::data
