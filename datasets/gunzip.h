// Inflates gzip (RFC 1952) block by block and checks the CRC-32 and the length that each member
// ends with. libarchive's own filter (3.6) does not, so that a flipped bit would pass.
#ifndef LRA_DATASETS_GUNZIP_H_
#define LRA_DATASETS_GUNZIP_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lra {

class Gunzip {
 public:
  // The next packed bytes, which stay until it is called again; empty at the end.
  using Source = std::function<absl::StatusOr<absl::string_view>()>;

  // Whether these first bytes of a file are gzip's.
  static bool Knows(absl::string_view head);

  explicit Gunzip(Source source);
  ~Gunzip();

  // The next bytes of all members, one after the other; empty at the end. What follows the last
  // member and is none, such as a tape's zeros, is passed over. They stay until the next call.
  // DataLoss for what is damaged or cut off; the caller names the file.
  absl::StatusOr<absl::string_view> Next();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace lra

#endif  // LRA_DATASETS_GUNZIP_H_
