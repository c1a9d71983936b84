// SHA-256 (OpenSSL), the checksum of everything that is stored.
#ifndef LRA_SHA256_H_
#define LRA_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct evp_md_ctx_st;

namespace lra {

using Sha256Digest = std::array<uint8_t, 32>;

// Hashes data in pieces. Movable; not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(const void* data, size_t size_bytes);
  void Update(absl::string_view data) { Update(data.data(), data.size()); }
  // Returns the digest of the message; afterwards the object starts a new one.
  Sha256Digest Finish();

 private:
  evp_md_ctx_st* context_;
};

Sha256Digest Sha256Of(absl::string_view data);
// The digest as 64 lower-case hexadecimal digits.
std::string ToHex(const Sha256Digest& digest);
std::string Sha256Hex(absl::string_view data);

}  // namespace lra

#endif  // LRA_SHA256_H_
