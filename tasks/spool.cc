#include "tasks/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "datasets/manifest.h"
#include "lra/check.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr size_t kBufferBytes = size_t{4} << 20;

void Append(const std::vector<uint16_t>& values, bool bytes, std::string* out) {
  if (bytes) {
    out->append(values.begin(), values.end());
  } else {
    out->append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(uint16_t));
  }
}

std::vector<uint16_t> Parse(absl::string_view stored, bool bytes) {
  std::vector<uint16_t> values;
  if (bytes) {
    const auto* first = reinterpret_cast<const uint8_t*>(stored.data());
    values.assign(first, first + stored.size());
  } else {
    values.resize(stored.size() / sizeof(uint16_t));
    stored.copy(reinterpret_cast<char*>(values.data()), stored.size());
  }
  return values;
}

}  // namespace

absl::StatusOr<Spool> Spool::Create(absl::string_view directory, const TaskSpec& spec) {
  std::string path = absl::StrCat(directory, "/spool-XXXXXX");
  const int descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make \"", path, "\""));
  }
  unlink(path.c_str());
  return Spool(directory, descriptor, spec);
}

absl::Status Spool::Error(absl::string_view verb) const {
  return absl::ErrnoToStatus(
      errno, absl::StrCat("cannot ", verb, " the spool file in \"", directory_, "\""));
}

Spool::Spool(Spool&& other) noexcept
    : directory_(std::move(other.directory_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      spec_(std::move(other.spec_)),
      buffer_(std::move(other.buffer_)),
      written_bytes_(other.written_bytes_),
      places_(std::move(other.places_)) {}

Spool::~Spool() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status Spool::Add(uint64_t key, const EncodedExample& example) {
  LRA_CHECK(example.extra.empty() && !example.is_ambiguous);  // imported data has neither
  const Place place{written_bytes_ + static_cast<int64_t>(buffer_.size()),
                    static_cast<int32_t>(example.tokens.size()),
                    static_cast<int32_t>(example.tokens_b.size()), example.label};
  if (!places_.try_emplace(key, place).second) {
    return absl::InvalidArgumentError("the same example was there before");
  }
  Append(example.tokens, StoresBytes(spec_), &buffer_);
  Append(example.tokens_b, StoresBytes(spec_), &buffer_);
  return buffer_.size() < kBufferBytes ? absl::OkStatus() : Flush();
}

absl::Status Spool::Flush() {
  size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t count = write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Error("write");
    done += static_cast<size_t>(count);
  }
  written_bytes_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
  return absl::OkStatus();
}

absl::StatusOr<EncodedExample> Spool::Read(uint64_t key) const {
  const auto it = places_.find(key);
  if (it == places_.end()) return absl::NotFoundError(absl::StrCat("no example has key ", key));
  const Place& place = it->second;
  const bool bytes = StoresBytes(spec_);
  const size_t width = bytes ? 1 : sizeof(uint16_t);
  const size_t size_a = place.tokens * width, size = size_a + place.tokens_b * width;
  std::string stored;
  if (place.offset_bytes >= written_bytes_) {
    stored = buffer_.substr(place.offset_bytes - written_bytes_, size);
  } else {
    stored.resize(size);
    for (size_t done = 0; done < size;) {
      const ssize_t count = pread(descriptor_, stored.data() + done, size - done,
                                  place.offset_bytes + static_cast<int64_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Error("read");
      if (count == 0) {
        return absl::DataLossError(
            absl::StrCat("the spool file in \"", directory_, "\" ends before example ", key));
      }
      done += static_cast<size_t>(count);
    }
  }
  EncodedExample example;
  example.tokens = Parse(absl::string_view(stored).substr(0, size_a), bytes);
  example.tokens_b = Parse(absl::string_view(stored).substr(size_a), bytes);
  example.label = place.label;
  return example;
}

}  // namespace lra
