#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "datasets/archive.h"
#include "tests/fuzz/fuzz_target.h"

namespace lra {
namespace {

constexpr size_t kMaxReadBytes = size_t{1} << 20;  // a few bytes can unpack to very many

void ReadAll(RawSource* source) {
  size_t read_bytes = 0;
  while (read_bytes < kMaxReadBytes) {
    const auto entry = source->Next();
    if (!entry.ok() || !entry->has_value()) return;
    for (const char byte : (*entry)->name) LRA_CHECK(static_cast<uint8_t>(byte) >= 0x20);
    ++read_bytes;
    char buffer[1000];
    while (read_bytes < kMaxReadBytes) {
      const auto count = source->Read(buffer, sizeof(buffer));
      if (!count.ok()) return;
      LRA_CHECK(*count <= sizeof(buffer));
      if (*count == 0) break;
      read_bytes += *count;
    }
  }
}

}  // namespace
}  // namespace lra

// libarchive reads files, so the input is written to a file without a name.
LRA_FUZZ_TARGET(archive) {
  const int descriptor = memfd_create("archive", MFD_CLOEXEC);
  LRA_CHECK(descriptor >= 0);
  LRA_CHECK(write(descriptor, input.data(), input.size()) == static_cast<ssize_t>(input.size()));
  const auto source = lra::OpenRawSource(absl::StrCat("/proc/self/fd/", descriptor));
  if (source.ok()) lra::ReadAll(source->get());
  close(descriptor);
}
