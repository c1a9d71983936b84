#include "datasets/gunzip.h"

#include <zlib.h>

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lra/check.h"
#include "lra/status_macros.h"

namespace lra {
namespace {

constexpr size_t kInflatedBytes = 1 << 16;
constexpr absl::string_view kGzipMagic = "\x1f\x8b";

}  // namespace

struct Gunzip::State {
  explicit State(Source from) : source(std::move(from)), block(kInflatedBytes, '\0') {
    LRA_CHECK(inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);  // + 16: gzip alone
  }
  ~State() { inflateEnd(&stream); }

  // Whether there are packed bytes.
  absl::StatusOr<bool> Refill() {
    if (stream.avail_in > 0) return true;
    LRA_ASSIGN_OR_RETURN(const absl::string_view packed, source());
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    return !packed.empty();
  }

  const Source source;
  std::string block;
  z_stream stream{};
  bool is_behind_member = false;
};

bool Gunzip::Knows(absl::string_view head) { return absl::StartsWith(head, kGzipMagic); }

Gunzip::Gunzip(Source source) : state_(std::make_unique<State>(std::move(source))) {}
Gunzip::~Gunzip() = default;

absl::StatusOr<absl::string_view> Gunzip::Next() {
  z_stream& stream = state_->stream;
  while (true) {
    LRA_ASSIGN_OR_RETURN(const bool has_packed, state_->Refill());
    if (state_->is_behind_member) {
      if (!has_packed || *stream.next_in != static_cast<Bytef>(kGzipMagic[0])) return "";
      LRA_CHECK(inflateReset(&stream) == Z_OK);
      state_->is_behind_member = false;
    }
    if (!has_packed) return absl::DataLossError("gzip: it was cut off");
    stream.next_out = reinterpret_cast<Bytef*>(state_->block.data());
    stream.avail_out = kInflatedBytes;
    const int code = inflate(&stream, Z_NO_FLUSH);
    state_->is_behind_member = code == Z_STREAM_END;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      return absl::DataLossError(
          absl::StrCat("gzip: it is damaged: ", stream.msg == nullptr ? "" : stream.msg));
    }
    const size_t bytes = kInflatedBytes - stream.avail_out;
    if (bytes > 0) return absl::string_view(state_->block).substr(0, bytes);
  }
}

}  // namespace lra
