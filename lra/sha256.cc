#include "lra/sha256.h"

#include <openssl/evp.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "lra/check.h"

namespace lra {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  LRA_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

Sha256::Sha256(Sha256&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}

Sha256& Sha256::operator=(Sha256&& other) noexcept {
  std::swap(context_, other.context_);
  return *this;
}

void Sha256::Update(const void* data, size_t size_bytes) {
  LRA_CHECK(EVP_DigestUpdate(context_, data, size_bytes) == 1);
}

Sha256Digest Sha256::Finish() {
  Sha256Digest digest;
  LRA_CHECK(EVP_DigestFinal_ex(context_, digest.data(), nullptr) == 1);
  LRA_CHECK(EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
  return digest;
}

Sha256Digest Sha256Of(absl::string_view data) {
  Sha256 hash;
  hash.Update(data);
  return hash.Finish();
}

std::string ToHex(const Sha256Digest& digest) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::string Sha256Hex(absl::string_view data) { return ToHex(Sha256Of(data)); }

}  // namespace lra
