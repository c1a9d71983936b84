// Streams, events and pinned memory of the fake device. Its work is done at once, in the order in
// which the host asks for it; a GPU does the work of different streams in any order that events do
// not forbid. So what each stream and the host know to be done is kept as a clock, and code that
// relies on an order which nothing forces throws:
//
//   - An operator that reads or writes what another stream wrote, or writes what it reads, without
//     a wait for it.
//   - A pinned block that the host wrote to before it knew that a copy from it was done; found
//     when the host learns of the copy.
//
// Private to this folder.
#ifndef LRA_MODELS_BASE_FAKE_STREAMS_H_
#define LRA_MODELS_BASE_FAKE_STREAMS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

namespace lra::internal {

// The calling thread's stream; the default one (id 0) unless exchanged. Nothing is checked before
// the first other stream is made.
c10::Stream CurrentFakeStream();
c10::Stream ExchangeFakeStream(c10::Stream next);
c10::Stream NewFakeStream();

// What c10::impl::DeviceGuardImplInterface asks of a device.
void RecordFakeEvent(void** event, c10::Stream stream);
void BlockOnFakeEvent(const void* event, c10::Stream stream);
void DestroyFakeEvent(void* event);
// Whether the host knows that what was recorded is done.
bool QueryFakeEvent(const void* event);
// The host waits; throws c10::Error for a pinned block that was written to too early.
void SynchronizeFakeEvent(const void* event);
void SynchronizeFakeStream(c10::Stream stream);
void SynchronizeFakeDevice();

// What an operator does with a tensor of the device, on the calling thread's stream. Throws
// c10::Error where another stream is in the way.
void NoteFakeAccess(const at::Tensor& on_device, bool is_write);
// The same of a tensor whose memory the operator made.
void NoteFakeNew(const at::Tensor& on_device);
// A copy to the device that the host does not wait for.
void NoteFakeUpload(const at::Tensor& on_host);

c10::Allocator* FakePinnedAllocator();
bool IsFakePinned(const void* data);

}  // namespace lra::internal

#endif  // LRA_MODELS_BASE_FAKE_STREAMS_H_
