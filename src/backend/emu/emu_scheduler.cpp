#include "backend/emu/emu_scheduler.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "backend/emu/emu_capture.h"
#include "core/format.h"

namespace dptrain::backend::emu {

namespace {

constinit thread_local int entered = 0;

/// Converts the current exception to an error of the device.
Error error_of(const EmuDevice& device, const std::string& operation) {
  try {
    throw;
  } catch (const Error& error) {
    return error.within(fmt::format("{}, {}", device.name, operation));
  } catch (const std::exception& error) {
    return {ErrorKind::kDevice, fmt::format("{}, {}: {}", device.name, operation, error.what())};
  }
}

/// The recording that contains the mark, or null after its end.
std::shared_ptr<Capture> open_capture(const Mark& mark) {
  const std::shared_ptr<Capture> capture = mark.capture.lock();
  return capture == nullptr || capture->closed() ? nullptr : capture;
}

/// A query or a wait for a recorded stream or event fails and makes the recording fail, whichever thread records it.
void forbid_while_recorded(Capture* capture, const std::string& what) {
  if (capture == nullptr) return;
  capture->invalidate(what + " was called while a stream was recorded");
  throw Error(ErrorKind::kDevice, what + ": the stream is being recorded");
}

}  // namespace

int entered_device() { return entered; }
void enter_device(int id) { entered = id; }

void EmuStream::push(std::string_view name, std::function<void()> work) {
  if (entered != device_.id) {
    throw Error(ErrorKind::kDevice,
                fmt::format("{}: '{}' started by a thread that has entered emu:{}; call enter() first", device_.name,
                            name, entered));
  }
  Scheduler::instance().push(*this, {std::string(name), nullptr, std::move(work), nullptr});
}

Scheduler& Scheduler::instance() {
  static Scheduler the_scheduler;
  return the_scheduler;
}

Scheduler::Scheduler() : random_(simt::seed()) {}

void Scheduler::reseed(std::uint64_t seed) {
  const Lock lock(mutex_);
  random_.seed(seed);
  favourite_ = nullptr;
}

void Scheduler::add(EmuStream& stream) {
  const Lock lock(mutex_);
  streams_.push_back(&stream);
}

void Scheduler::remove(EmuStream& stream) noexcept {
  Lock lock(mutex_);
  run_until(lock, [&] { return stream.queue_.empty() && !stream.busy_; });
  if (stream.capture_ != nullptr) stream.capture_->invalidate("a stream was destroyed while it was recorded");
  std::erase(streams_, &stream);
  if (favourite_ == &stream) favourite_ = nullptr;
}

void Scheduler::push(EmuStream& stream, Operation operation) {
  const Lock lock(mutex_);
  insert(stream, std::move(operation));
}

void Scheduler::insert(EmuStream& stream, Operation operation) {
  if (stream.capture_ != nullptr) {
    stream.capture_->add(stream.branch_, std::move(operation));
  } else {
    stream.queue_.push_back(std::move(operation));
  }
}

std::shared_ptr<Mark> Scheduler::record(EmuStream& stream) {
  const Lock lock(mutex_);
  auto mark = std::make_shared<Mark>();
  if (stream.capture_ != nullptr) {
    mark->captured = true;
    mark->capture = stream.capture_;
    mark->branch = stream.branch_;
    mark->index = stream.capture_->length(stream.branch_);
  }
  insert(stream, {"record", nullptr, nullptr, mark});
  return mark;
}

void Scheduler::wait(EmuStream& stream, const std::shared_ptr<Mark>& mark) {
  if (mark == nullptr) return;  // never recorded
  const Lock lock(mutex_);
  const std::shared_ptr<Capture> capture = mark->capture.lock();
  if (mark->captured && (capture == nullptr || capture->closed())) {
    throw Error(ErrorKind::kDevice, "wait for an event whose last record is in a recording that has ended");
  }
  if (stream.capture_ == nullptr && capture != nullptr) {
    stream.capture_ = capture;  // the stream becomes a branch of the recording
    stream.branch_ = capture->join(stream);
  }
  if (stream.capture_ != capture) {
    throw Error(ErrorKind::kDevice, "a recorded stream waits for an event that was recorded outside of the recording");
  }
  insert(stream, {"wait", mark, nullptr, nullptr});
}

bool Scheduler::is_recorded(const EmuStream& stream) {
  const Lock lock(mutex_);
  return stream.capture_ != nullptr;
}

void Scheduler::begin_capture(EmuStream& stream) {
  const Lock lock(mutex_);
  if (stream.capture_ != nullptr)
    throw Error(ErrorKind::kDevice, "begin_recording: the stream is being recorded already");
  stream.capture_ = std::make_shared<Capture>(stream, std::this_thread::get_id());
  stream.branch_ = 0;
  captures_.push_back(stream.capture_);
}

std::shared_ptr<Capture> Scheduler::end_capture(EmuStream& stream) {
  const Lock lock(mutex_);
  std::shared_ptr<Capture> capture = stream.capture_;
  if (capture == nullptr || stream.branch_ != 0) {
    throw Error(ErrorKind::kDevice, "end_recording: no recording was begun on this stream");
  }
  for (EmuStream* each : streams_) {
    if (each->capture_ == capture) each->capture_ = nullptr;
  }
  std::erase(captures_, capture);
  capture->close();
  return capture;
}

void Scheduler::forbid_while_recording(const std::string& what) {
  const Lock lock(mutex_);
  for (const auto& capture : captures_) {
    if (capture->thread() != std::this_thread::get_id()) continue;
    capture->invalidate(what + " was called while a stream was recorded");
    throw Error(ErrorKind::kDevice, what + " is not allowed while this thread records a stream");
  }
}

void Scheduler::invalidate_recording(const std::string& what) noexcept {
  const Lock lock(mutex_);
  for (const auto& capture : captures_) {
    if (capture->thread() == std::this_thread::get_id())
      capture->invalidate(what + " was called while a stream was recorded");
  }
}

void Scheduler::replay(const Capture& capture, EmuStream& stream) {
  const Lock lock(mutex_);
  // Every branch becomes a temporary stream, which starts at this point of `stream`, and which `stream` waits for.
  std::map<const Mark*, std::shared_ptr<Mark>> fresh;
  const auto fresh_mark = [&](const std::shared_ptr<Mark>& old) {
    if (old == nullptr) return std::shared_ptr<Mark>();
    std::shared_ptr<Mark>& mark = fresh[old.get()];
    if (mark == nullptr) mark = std::make_shared<Mark>();
    return mark;
  };
  if (stream.capture_ != nullptr) throw Error(ErrorKind::kDevice, "replay into a stream that is being recorded");
  const auto start = std::make_shared<Mark>();
  insert(stream, {"start of graph", nullptr, nullptr, start});
  for (const Capture::Branch& branch : capture.branches()) {
    branches_.push_back(std::make_unique<EmuStream>(*branch.device));
    EmuStream& own = *branches_.back();
    own.transient_ = true;
    streams_.push_back(&own);
    insert(own, {"branch of graph", start, nullptr, nullptr});
    for (const Operation& each : branch.operations) {
      insert(own, {each.name, fresh_mark(each.awaits), each.work, fresh_mark(each.passes), each.ready});
    }
    const auto end = std::make_shared<Mark>();
    insert(own, {"end of branch", nullptr, nullptr, end});
    insert(stream, {"end of graph", end, nullptr, nullptr});
  }
}

/// A stream whose first operation is ready, or null. Prefers one stream for a while, so that it runs far ahead.
EmuStream* Scheduler::pick() {
  std::vector<EmuStream*> ready;
  for (EmuStream* stream : streams_) {
    if (stream->busy_ || stream->queue_.empty()) continue;
    const Operation& next = stream->queue_.front();
    if ((next.awaits == nullptr || next.awaits->passed) && (!next.ready || next.ready())) ready.push_back(stream);
  }
  if (ready.empty()) return nullptr;
  const std::uint64_t draw = random_();
  EmuStream* chosen = ready[(draw >> 8) % ready.size()];
  if (draw % 8 == 0) favourite_ = chosen;
  const bool favoured = draw % 4 != 1 && std::find(ready.begin(), ready.end(), favourite_) != ready.end();
  return favoured ? favourite_ : chosen;
}

/// Whether a stream waits for `ready`, which depends on code outside the emulator.
bool Scheduler::waits_for_external_work() const {
  return std::ranges::any_of(
      streams_, [](const EmuStream* stream) { return !stream->queue_.empty() && stream->queue_.front().ready; });
}

/// Runs one operation without holding the lock. Returns false if none is ready.
bool Scheduler::run_one(Lock& lock) {
  EmuStream* stream = pick();
  if (stream == nullptr) return false;
  EmuDevice& device = stream->device_;
  Operation operation = std::move(stream->queue_.front());
  stream->queue_.pop_front();
  if (operation.work && !device.error) {
    stream->busy_ = true;
    ++running_;
    lock.unlock();
    std::optional<Error> error;
    try {
      operation.work();
    } catch (...) {
      error = error_of(device, operation.name);
    }
    operation.work = nullptr;
    lock.lock();
    --running_;
    stream->busy_ = false;
    if (error && !device.error) device.error = error;
  }
  if (operation.passes != nullptr) operation.passes->passed = true;
  if (stream->transient_ && stream->queue_.empty()) {
    if (favourite_ == stream) favourite_ = nullptr;
    std::erase(streams_, stream);
    std::erase_if(branches_, [&](const auto& each) { return each.get() == stream; });
  }
  changed_.notify_all();
  return true;
}

void Scheduler::run_until(Lock& lock, const std::function<bool()>& reached) {
  while (!reached()) {
    if (run_one(lock)) continue;
    if (running_ == 0 && waits_for_external_work()) {
      changed_.wait_for(lock, std::chrono::milliseconds(1));
      continue;
    }
    if (running_ == 0) throw Error(ErrorKind::kInternal, "the emulated GPUs' streams wait for each other");
    changed_.wait(lock);
  }
}

void Scheduler::throw_error_of(const EmuDevice& device) const {
  if (device.error) throw Error(*device.error);
}

void Scheduler::synchronize(EmuStream& stream) {
  forbid_while_recording("synchronize");
  ++stream_waits_;
  Lock lock(mutex_);
  forbid_while_recorded(stream.capture_.get(), "synchronize");
  run_until(lock, [&] { return stream.queue_.empty() && !stream.busy_; });
  throw_error_of(stream.device_);
}

bool Scheduler::idle(EmuStream& stream) {
  forbid_while_recording("idle");
  ++stream_waits_;
  Lock lock(mutex_);
  forbid_while_recorded(stream.capture_.get(), "idle");
  if (!stream.queue_.empty()) run_one(lock);
  throw_error_of(stream.device_);
  return stream.queue_.empty() && !stream.busy_;
}

void Scheduler::synchronize(const Mark& mark, const EmuDevice& device) {
  forbid_while_recording("synchronize_event");
  ++event_waits_;
  Lock lock(mutex_);
  forbid_while_recorded(open_capture(mark).get(), "synchronize_event");
  run_until(lock, [&] { return mark.passed; });
  throw_error_of(device);
}

bool Scheduler::passed(const Mark& mark, const EmuDevice& device) {
  forbid_while_recording("passed");
  Lock lock(mutex_);
  forbid_while_recorded(open_capture(mark).get(), "passed");
  if (!mark.passed) run_one(lock);
  throw_error_of(device);
  return mark.passed;
}

/// Requires the lock.
bool Scheduler::has_pending_collective() const {
  return std::ranges::any_of(streams_, [](const EmuStream* stream) {
    const std::deque<Operation>& queue = stream->queue_;
    // `ready` holds before the operation in front of it has run, so it is called for the first operation only.
    const auto found = std::ranges::find_if(queue, [](const Operation& each) { return each.ready != nullptr; });
    if (found == queue.end()) return false;
    return found != queue.begin() || stream->busy_ || !found->ready() ||
           std::any_of(found + 1, queue.end(), [](const Operation& each) { return each.ready != nullptr; });
  });
}

bool Scheduler::is_collective_pending() {
  const Lock lock(mutex_);
  return has_pending_collective();
}

void Scheduler::note_blocking_call(const std::string& call) {
  const Lock lock(mutex_);
  if (has_pending_collective() && blocking_calls_.size() < kMaxBlockingCalls) blocking_calls_.push_back(call);
}

std::vector<std::string> Scheduler::take_blocking_calls() {
  const Lock lock(mutex_);
  return std::exchange(blocking_calls_, {});
}

HostWaits Scheduler::host_waits() const { return {.streams = stream_waits_, .events = event_waits_}; }

void Scheduler::finish(const EmuDevice& device) noexcept {
  Lock lock(mutex_);
  run_until(lock, [&] {
    return std::all_of(streams_.begin(), streams_.end(), [&](const EmuStream* stream) {
      return &stream->device_ != &device || (stream->queue_.empty() && !stream->busy_);
    });
  });
}

}  // namespace dptrain::backend::emu
