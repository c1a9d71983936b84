#include "models/base/fake_streams.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <c10/util/intrusive_ptr.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lra::internal {
namespace {

const at::Device kDeviceOfStreams(at::kPrivateUse1, 0);
constexpr c10::StreamId kDefault = 0;
constexpr size_t kFewStorages = 1 << 14;

// How much of each stream's work is known to be done: its first ticks.
class Clock {
 public:
  int64_t At(c10::StreamId stream) const {
    const auto place = static_cast<size_t>(stream);
    return place < ticks_.size() ? ticks_[place] : 0;
  }
  void Set(c10::StreamId stream, int64_t tick) {
    const auto place = static_cast<size_t>(stream);
    if (place >= ticks_.size()) ticks_.resize(place + 1, 0);
    ticks_[place] = tick;
  }
  void Join(const Clock& other) {
    for (size_t i = 0; i < other.ticks_.size(); ++i) {
      const auto stream = static_cast<c10::StreamId>(i);
      if (other.ticks_[i] > At(stream)) Set(stream, other.ticks_[i]);
    }
  }

 private:
  std::vector<int64_t> ticks_;
};

struct Moment {
  c10::StreamId stream = kDefault;
  int64_t tick = 0;
};

// Who wrote to a storage last, and who read it since. The reference keeps the key from being used
// for another storage.
struct Accesses {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  Moment write;
  std::map<c10::StreamId, int64_t> reads;
};

// A copy from pinned memory that the host does not know to be done.
struct Upload {
  Moment moment;
  const char* data;
  std::string bytes;  // as they were
};

struct Streams {
  std::mutex mutex;
  std::vector<Clock> clocks = {Clock()};  // by stream
  // The last tick of the default stream before another one was made: until then only its work is
  // counted.
  int64_t untracked_tick = 0;
  Clock host;
  std::unordered_map<const c10::StorageImpl*, Accesses> storages;
  size_t purge_at = kFewStorages;
  std::vector<Upload> uploads;
  std::map<const char*, size_t> pinned;  // bytes by address
};

Streams& All() {
  static Streams* const streams = new Streams;  // events outlive static objects
  return *streams;
}

thread_local c10::StreamId current = kDefault;

c10::Stream StreamOf(c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, kDeviceOfStreams, id);
}

bool IsTracked(const Streams& all) { return all.clocks.size() > 1; }

Clock& ClockOf(Streams& all, c10::StreamId stream) {
  return all.clocks.at(static_cast<size_t>(stream));
}

bool IsKnown(const Clock& clock, const Moment& moment) {
  return clock.At(moment.stream) >= moment.tick;
}

// Begins work on a stream: the host asked for it, so whatever the host knows is done.
Moment NextTick(Streams& all, c10::StreamId stream) {
  Clock& clock = ClockOf(all, stream);
  clock.Join(all.host);
  clock.Set(stream, clock.At(stream) + 1);
  return {stream, clock.At(stream)};
}

void ForgetFreed(Streams& all) {
  if (all.storages.size() < all.purge_at) return;
  std::erase_if(all.storages, [](const auto& entry) { return entry.second.storage.expired(); });
  all.purge_at = std::max(kFewStorages, 2 * all.storages.size());
}

// Memory that is not known yet was written before there was another stream than the default one.
Accesses& AccessesOf(Streams& all, const at::Tensor& tensor) {
  ForgetFreed(all);
  const auto known = all.storages.find(tensor.storage().unsafeGetStorageImpl());
  if (known != all.storages.end()) return known->second;
  return all.storages
      .emplace(tensor.storage().unsafeGetStorageImpl(),
               Accesses{tensor.storage().getWeakStorageImpl(), {kDefault, all.untracked_tick}, {}})
      .first->second;
}

void CheckOrder(const Clock& clock, const Moment& moment, const at::Tensor& tensor,
                const char* before, const char* now) {
  TORCH_CHECK(IsKnown(clock, moment), "stream ", current, " ", now, " what stream ", moment.stream,
              " ", before, " (", tensor.scalar_type(), " ", tensor.sizes(),
              "), and nothing makes it wait for that");
}

// The host now knows this. Throws for a block that was changed while a copy from it was under way.
void Learn(Streams& all, const Clock& clock) {
  all.host.Join(clock);
  std::vector<Upload> left;
  bool is_damaged = false;
  for (Upload& upload : all.uploads) {
    if (!IsKnown(all.host, upload.moment)) {
      left.push_back(std::move(upload));
    } else if (!std::equal(upload.bytes.begin(), upload.bytes.end(), upload.data)) {
      is_damaged = true;
    }
  }
  all.uploads = std::move(left);
  TORCH_CHECK(!is_damaged, "the host wrote to pinned memory before a copy from it was done");
}

const Clock& Recorded(const void* event) { return *static_cast<const Clock*>(event); }

void ReleasePinned(void* data) {
  Streams& all = All();
  {
    const std::lock_guard<std::mutex> lock(all.mutex);
    const char* const begin = static_cast<const char*>(data);
    all.pinned.erase(begin);
    // LibTorch's allocator waits for copies before it gives a block away.
    std::erase_if(all.uploads, [&](const Upload& upload) { return upload.data == begin; });
  }
  c10::GetCPUAllocator()->raw_deallocate(data);
}

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const data = c10::GetCPUAllocator()->raw_allocate(bytes);
    Streams& all = All();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (data != nullptr) all.pinned[static_cast<const char*>(data)] = bytes;
    return {data, data, &ReleasePinned, at::Device(at::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &ReleasePinned; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

c10::Stream CurrentFakeStream() { return StreamOf(current); }

c10::Stream ExchangeFakeStream(c10::Stream next) {
  return StreamOf(std::exchange(current, next.id()));
}

c10::Stream NewFakeStream() {
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (!IsTracked(all)) all.untracked_tick = ClockOf(all, kDefault).At(kDefault);
  all.clocks.emplace_back();
  return StreamOf(static_cast<c10::StreamId>(all.clocks.size() - 1));
}

void RecordFakeEvent(void** event, c10::Stream stream) {
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (*event == nullptr) *event = new Clock;
  Clock& clock = ClockOf(all, stream.id());
  clock.Join(all.host);
  *static_cast<Clock*>(*event) = clock;
}

void BlockOnFakeEvent(const void* event, c10::Stream stream) {
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  ClockOf(all, stream.id()).Join(Recorded(event));
}

void DestroyFakeEvent(void* event) { delete static_cast<Clock*>(event); }

bool QueryFakeEvent(const void* event) {
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Clock both = all.host;
  both.Join(Recorded(event));
  for (size_t i = 0; i < all.clocks.size(); ++i) {
    const auto stream = static_cast<c10::StreamId>(i);
    if (both.At(stream) != all.host.At(stream)) return false;
  }
  return true;
}

void SynchronizeFakeEvent(const void* event) {
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Learn(all, Recorded(event));
}

void SynchronizeFakeStream(c10::Stream stream) {
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Learn(all, ClockOf(all, stream.id()));
}

void SynchronizeFakeDevice() {
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  Clock everything;
  for (const Clock& clock : all.clocks) everything.Join(clock);
  Learn(all, everything);
}

void NoteFakeAccess(const at::Tensor& on_device, bool is_write) {
  if (!on_device.defined() || !on_device.is_privateuseone()) return;
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const Moment now = NextTick(all, current);
  if (!IsTracked(all)) return;
  const Clock& clock = ClockOf(all, current);
  Accesses& accesses = AccessesOf(all, on_device);
  CheckOrder(clock, accesses.write, on_device, "wrote", is_write ? "writes" : "reads");
  if (!is_write) {
    accesses.reads[now.stream] = now.tick;
    return;
  }
  for (const auto& [stream, tick] : accesses.reads)
    CheckOrder(clock, {stream, tick}, on_device, "reads", "writes");
  accesses.reads.clear();
  accesses.write = now;
}

void NoteFakeNew(const at::Tensor& on_device) {
  if (!on_device.defined() || !on_device.is_privateuseone()) return;
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const Moment now = NextTick(all, current);
  if (!IsTracked(all)) return;
  Accesses& accesses = AccessesOf(all, on_device);
  accesses.write = now;
  accesses.reads.clear();
}

void NoteFakeUpload(const at::Tensor& on_host) {
  const char* const data = static_cast<const char*>(on_host.const_data_ptr());
  if (!IsFakePinned(data)) return;  // copied before the call returns
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (!IsTracked(all)) return;
  all.uploads.push_back({NextTick(all, current), data, std::string(data, on_host.nbytes())});
}

c10::Allocator* FakePinnedAllocator() {
  static PinnedAllocator* const allocator = new PinnedAllocator;
  return allocator;
}

bool IsFakePinned(const void* data) {
  Streams& all = All();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const char* const address = static_cast<const char*>(data);
  auto after = all.pinned.upper_bound(address);
  if (after == all.pinned.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return address < begin + bytes;
}

}  // namespace lra::internal
