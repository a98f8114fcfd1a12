#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/shape.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/cache.h"
#include "data/sources/hash.h"

namespace dptrain::data {
namespace {

/// The file contains a page with this header, a CacheFlag per sample, a CRC-32 per sample, and from a page boundary on
/// the samples, all of the same shape.
struct CacheHeader {
  char magic[16];
  std::uint64_t key, samples, bytes;  ///< bytes: per sample
  std::uint64_t type, rank;           ///< type: 0 is uint8, 1 is float32
  std::int64_t dims[8];
  // Used only while processes write the file.
  std::uint64_t machine;  ///< this_machine() of these processes
  std::uint64_t tried;    ///< number of samples whose flag is set
  std::uint32_t shaped;   ///< 1: `bytes`, `type`, `rank` and `dims` are set, and the file has its final size
  std::uint32_t finished;
};
inline constexpr char kCacheMagic[16] = "dptrain cache 3";

/// State of a sample. Readers treat any other value as kMissing.
enum CacheFlag : std::uint8_t { kMissing = 0, kThere = 1, kUnreadable = 2 };

struct CacheLayout {
  explicit CacheLayout(std::uint64_t samples);
  std::uint64_t flags = 0, crcs = 0, rows = 0;  ///< byte offsets in the file
  std::uint64_t bytes(const CacheHeader& header) const { return rows + header.samples * header.bytes; }
};

/// Throws Error{kWrite}: "FILE: cannot WHAT: " and the message of errno.
[[noreturn]] void fail_cache(const std::string& file, const std::string& what);

/// Owns a file descriptor. Closing it releases its locks.
class CacheFile {
 public:
  explicit CacheFile(int descriptor = -1) : descriptor_(descriptor) {}
  ~CacheFile();
  CacheFile(CacheFile&& other) noexcept;
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

  /// Sets (F_WRLCK exclusive, F_RDLCK shared) or clears (F_UNLCK) a lock on one byte. The lock belongs to this open
  /// file description, not to the process. Returns false, with errno, on an error, or if the lock is held and !wait.
  bool lock(short kind, std::int64_t byte, bool wait) const;

 private:
  int descriptor_;
};

/// A shared mapping of a file into memory (MAP_SHARED).
class CacheMapping {
 public:
  CacheMapping() = default;
  CacheMapping(const CacheFile& file, std::uint64_t bytes, bool write);
  ~CacheMapping();
  CacheMapping(CacheMapping&& other) noexcept;
  CacheMapping& operator=(CacheMapping&& other) noexcept;
  std::uint8_t* get() const { return at_; }  ///< null if the mapping failed
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint8_t* at_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// An incomplete cache file, FILE.part. The processes of this machine that need the same samples map it and fill it
/// together. The process that writes the last sample renames the file. Any thread.
///
/// A set flag means that the sample is complete. Two processes that compute the same sample write the same bytes. Every
/// process holds the lock kPresence shared. A process that can lock it exclusively is the only one, and discards the
/// contents that a killed process left. kSetUp is held exclusively while a process opens, resizes or closes the file.
class CachePart {
 public:
  /// Returns null, with a warning, if the file cannot be locked, or processes on another machine or for other samples
  /// write it. Throws Error{kWrite}.
  static std::unique_ptr<CachePart> open(const std::string& file, std::uint64_t key, std::uint64_t samples);
  /// The last process removes an incomplete file.
  ~CachePart();
  CachePart(const CachePart&) = delete;
  CachePart& operator=(const CachePart&) = delete;

  /// As in CacheStore.
  bool find(std::size_t index, ImageView& out);
  void store_sample(std::size_t index, const Array& sample);
  void mark_unreadable(std::size_t index);

 private:
  CachePart(std::string file, std::uint64_t samples, CacheFile open);

  CacheHeader& header() const { return *reinterpret_cast<CacheHeader*>(index_.get()); }
  std::atomic_ref<std::uint8_t> flag(std::size_t i) const { return std::atomic_ref(index_.get()[layout_.flags + i]); }
  std::uint8_t* row(std::size_t i) const { return whole_.get() + layout_.rows + i * header().bytes; }
  bool is_finished() const { return std::atomic_ref(header().finished).load(std::memory_order_acquire) != 0; }
  bool is_shaped() const { return std::atomic_ref(header().shaped).load(std::memory_order_acquire) != 0; }
  void begin(std::uint64_t key);
  bool join(std::uint64_t key);
  void map_index();
  void map_whole();
  void give_shape(const Array& sample);
  void complete_sample(std::size_t i, CacheFlag what);
  void finish();

  const std::string file_, part_;
  const std::uint64_t samples_;
  const CacheLayout layout_;
  CacheFile out_;
  CacheMapping index_;  ///< the file up to the first sample
  CacheMapping whole_;  ///< the whole file, once the shape is set
  Shape shape_;
  Once shaped_;
  std::vector<std::atomic<bool>> taken_;  ///< per sample: a thread of this process writes it
};

constexpr std::uint64_t kPage = 4096, kCrcBytes = 4;
static_assert(sizeof(CacheHeader) <= kPage);

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

CacheLayout::CacheLayout(std::uint64_t samples)
    : flags(kPage), crcs(round_up(flags + samples, kCrcBytes)), rows(round_up(crcs + samples * kCrcBytes, kPage)) {}

void fail_cache(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::kWrite, fmt::format("{}: cannot {}: {}", file, what, std::generic_category().message(errno)));
}

CacheFile::~CacheFile() {
  if (descriptor_ >= 0) close(descriptor_);
}
CacheFile::CacheFile(CacheFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
bool CacheFile::lock(short kind, std::int64_t byte, bool wait) const {
  struct flock wanted {};
  wanted.l_type = kind;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = byte;
  wanted.l_len = 1;
  while (fcntl(descriptor_, wait ? F_OFD_SETLKW : F_OFD_SETLK, &wanted) != 0)
    if (errno != EINTR) return false;
  return true;
}

CacheMapping::CacheMapping(const CacheFile& file, std::uint64_t bytes, bool write) : bytes_(bytes) {
  void* const at = mmap(nullptr, bytes, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), 0);
  if (at != MAP_FAILED) at_ = static_cast<std::uint8_t*>(at);
}
CacheMapping::~CacheMapping() {
  if (at_ != nullptr) munmap(at_, bytes_);
}
CacheMapping::CacheMapping(CacheMapping&& other) noexcept
    : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}
CacheMapping& CacheMapping::operator=(CacheMapping&& other) noexcept {
  std::swap(at_, other.at_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::uint32_t cache_crc(const std::uint8_t* row, std::uint64_t bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, row, static_cast<z_size_t>(bytes)));
}

constexpr std::int64_t kPresence = 0, kSetUp = 1;  // offsets of the bytes that are locked

/// Hash of the boot id, or of the host name without one. Processes with the same value share mapped pages.
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

/// Holds the lock kSetUp for its lifetime. held() is false if locking failed.
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
    log::warn(fmt::format("{} {}; this run does not use the cache", name, why));
    return nullptr;
  };
  for (;;) {
    CacheFile out(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!out) fail_cache(name, "be opened");
    std::unique_ptr<CachePart> part(new CachePart(file, samples, std::move(out)));
    const SetUpLock lock(part->out_);
    if (!lock.held()) return without("cannot be locked: " + std::generic_category().message(errno));
    if (!has_name(part->out_, name)) continue;  // the file was just renamed or removed
    const bool alone = part->out_.lock(F_WRLCK, kPresence, false);
    if (alone) part->begin(key);
    if (!part->out_.lock(F_RDLCK, kPresence, false)) return without("is being written by another process");
    if (!alone && !part->join(key))
      return without("is being written by another process, for other data or on another machine");
    return part;
  }
}

/// Discards the contents and writes a new header. No other process uses the file.
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

/// Maps the index of a file that another process started. Returns false if its header has another key, number of
/// samples or machine.
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

/// Requires a header with the shape of the samples.
void CachePart::map_whole() {
  const CacheHeader& shaped = header();
  whole_ = CacheMapping(out_, layout_.bytes(shaped), true);
  if (whole_.get() == nullptr) fail_cache(part_, "be mapped into memory");
  shape_ = Shape(std::vector<std::int64_t>(shaped.dims, shaped.dims + shaped.rank));
}

/// Sets the shape of all samples to that of `sample`, unless a process already set one, and maps the whole file.
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

void CachePart::store_sample(std::size_t index, const Array& sample) {
  if (is_finished()) return;
  shaped_.run([&] { give_shape(sample); });
  if (sample.shape != shape_ || type_of(sample) != header().type) return mark_unreadable(index);
  if (taken_[index].exchange(true) || flag(index).load() != kMissing) return;
  const std::uint64_t bytes = header().bytes;
  std::memcpy(row(index), sample.type == DType::kU8 ? static_cast<const void*>(sample.u8.data()) : sample.f32.data(),
              bytes);
  const std::uint32_t crc = cache_crc(row(index), bytes);
  std::memcpy(index_.get() + layout_.crcs + index * sizeof crc, &crc, sizeof crc);
  complete_sample(index, kThere);
}

void CachePart::mark_unreadable(std::size_t index) {
  if (!is_finished()) complete_sample(index, kUnreadable);
}

void CachePart::complete_sample(std::size_t index, CacheFlag what) {
  std::uint8_t missing = kMissing;
  if (!flag(index).compare_exchange_strong(missing, what)) return;
  if (std::atomic_ref(header().tried).fetch_add(1) + 1 == samples_ && is_shaped()) finish();
}

/// Flushes and renames the file. The process that sets the last flag calls it.
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

/// A complete cache file, of this run or an earlier one. Any thread.
class WholeCache {
 public:
  /// Returns null if there is no file, or its key, number of samples or size differs.
  static std::unique_ptr<WholeCache> open(const std::string& file, std::uint64_t key, std::uint64_t samples) {
    CacheFile in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts {};
    CacheHeader header;
    if (!in || fstat(in.get(), &facts) != 0 ||
        pread(in.get(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
        std::memcmp(header.magic, kCacheMagic, sizeof kCacheMagic) != 0 || header.key != key ||
        header.samples != samples || header.rank > std::size(header.dims) || header.type > 1)
      return nullptr;
    const Shape shape(std::vector<std::int64_t>(header.dims, header.dims + header.rank));
    const auto elements = static_cast<std::uint64_t>(shape.elements());
    const std::uint64_t bytes = CacheLayout(samples).bytes(header);
    if (header.bytes != elements * (header.type == 0 ? 1 : sizeof(float)) ||
        static_cast<std::uint64_t>(facts.st_size) != bytes)
      return nullptr;
    CacheMapping map(in, bytes, false);
    if (map.get() == nullptr) return nullptr;
    return std::unique_ptr<WholeCache>(new WholeCache(file, std::move(in), std::move(map), header, shape));
  }

  bool find(std::size_t index, ImageView& out) {
    const std::uint8_t state = states_[index].load(std::memory_order_acquire);
    if (state == kBad || is_cut_short() || (state == kUnseen && !is_intact(index))) return false;
    out.shape = shape_;
    out.type = header_.type == 0 ? DType::kU8 : DType::kF32;
    out.data = row(index);
    return true;
  }

 private:
  /// State of a sample. kUnseen: not yet compared with its CRC.
  static constexpr std::uint8_t kBad = 0, kGood = 1, kUnseen = 2;

  WholeCache(std::string file, CacheFile in, CacheMapping map, const CacheHeader& header, Shape shape)
      : file_(std::move(file)),
        in_(std::move(in)),
        map_(std::move(map)),
        header_(header),
        layout_(header.samples),
        shape_(std::move(shape)),
        states_(static_cast<std::size_t>(header.samples)) {
    for (std::size_t i = 0; i < states_.size(); ++i)
      states_[i].store(map_.get()[layout_.flags + i] == kThere ? kUnseen : kBad);
  }

  const std::uint8_t* row(std::size_t i) const { return map_.get() + layout_.rows + i * header_.bytes; }

  /// Whether the file is now shorter than its mapping. Reading pages past its end would raise SIGBUS.
  bool is_cut_short() {
    struct stat facts {};
    const bool cut = fstat(in_.get(), &facts) != 0 || static_cast<std::uint64_t>(facts.st_size) < map_.bytes();
    if (cut && !warned_.exchange(true))
      log::warn(fmt::format("{}: the file was truncated; this run continues without the cache", file_));
    return cut;
  }

  bool is_intact(std::size_t i) {
    std::uint32_t crc = 0;
    std::memcpy(&crc, map_.get() + layout_.crcs + i * sizeof crc, sizeof crc);
    const bool intact = crc == cache_crc(row(i), header_.bytes);
    states_[i].store(intact ? kGood : kBad, std::memory_order_release);
    if (!intact && !warned_.exchange(true))
      log::warn(
          fmt::format("{}: sample {} does not match its checksum; damaged samples are read from the data set again; "
                      "delete the file",
                      file_, i));
    return intact;
  }

  const std::string file_;
  const CacheFile in_;
  const CacheMapping map_;
  const CacheHeader header_;
  const CacheLayout layout_;
  const Shape shape_;
  std::vector<std::atomic<std::uint8_t>> states_;
  std::atomic<bool> warned_{false};
};

class DiskStore final : public CacheStore {
 public:
  DiskStore(const std::string& file, std::uint64_t samples, std::uint64_t key)
      : whole_(WholeCache::open(file, key, samples)) {
    if (whole_) return;
    part_ = CachePart::open(file, key, samples);
    whole_ = WholeCache::open(file, key, samples);  // another process may have finished the file meanwhile
    if (whole_) part_.reset();
  }

  bool find(std::int64_t index, ImageView& out) const override {
    const auto i = static_cast<std::size_t>(index);
    return whole_ ? whole_->find(i, out) : part_ && part_->find(i, out);
  }
  void store_sample(std::int64_t index, const Array& sample) override {
    if (part_) part_->store_sample(static_cast<std::size_t>(index), sample);
  }
  void mark_unreadable(std::int64_t index) override {
    if (part_) part_->mark_unreadable(static_cast<std::size_t>(index));
  }

 private:
  std::unique_ptr<WholeCache> whole_;
  std::unique_ptr<CachePart> part_;
};

}  // namespace

std::unique_ptr<CacheStore> disk_store(const std::string& file, std::int64_t samples, const std::string& key) {
  return std::make_unique<DiskStore>(file, static_cast<std::uint64_t>(samples), hash_bytes(key.data(), key.size()));
}

}  // namespace dptrain::data
