#include "ranks/ranks.h"

#include <ATen/ops/empty.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lra/sha256.h"
#include "lra/status_macros.h"
#include "ranks/group.h"

namespace lra {

Ranks::Ranks() = default;
Ranks::Ranks(const Launch& launch, std::unique_ptr<Group> group)
    : launch_(launch), group_(std::move(group)) {}
Ranks::~Ranks() = default;

absl::StatusOr<std::shared_ptr<Ranks>> Ranks::Join(const Launch& launch,
                                                   std::chrono::milliseconds patience) {
  if (launch.size == 1) return std::make_shared<Ranks>();
  LRA_ASSIGN_OR_RETURN(std::unique_ptr<Group> group, Group::Join(launch, patience));
  std::shared_ptr<Ranks> ranks(new Ranks(launch, std::move(group)));
  LRA_RETURN_IF_ERROR(ranks->CountCardSharers());
  return ranks;
}

// Texts of any length are gathered as digests.
absl::Status Ranks::CountCardSharers() {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '?';
  const Sha256Digest mine = Sha256Of(absl::StrCat(host, " ", launch_.cards));
  const at::Tensor bytes = at::empty({static_cast<int64_t>(mine.size())}, at::kByte);
  std::copy(mine.begin(), mine.end(), bytes.mutable_data_ptr<uint8_t>());
  LRA_ASSIGN_OR_RETURN(const at::Tensor all, Gather(bytes));  // [size, 32]
  const uint8_t* const digests = all.const_data_ptr<uint8_t>();
  std::map<std::string, int> counts;  // by digest
  for (int rank = 0; rank < size(); ++rank) {
    const uint8_t* const digest = digests + rank * mine.size();
    card_sharers_ = std::max(card_sharers_, ++counts[std::string(digest, digest + mine.size())]);
  }
  return absl::OkStatus();
}

absl::Status Ranks::Sum(const std::vector<at::Tensor>& values) {
  return is_alone() ? absl::OkStatus() : group_->Sum(values);
}

absl::StatusOr<at::Tensor> Ranks::Gather(const at::Tensor& values) {
  if (is_alone()) return values.unsqueeze(0);
  return group_->Gather(values);
}

absl::Status Ranks::Share(at::Tensor values) {
  return is_alone() ? absl::OkStatus() : group_->Share(values);
}

absl::StatusOr<std::string> Ranks::Share(std::string bytes) {
  if (is_alone()) return bytes;
  at::Tensor length = at::empty({1}, at::kLong);
  length.mutable_data_ptr<int64_t>()[0] = static_cast<int64_t>(bytes.size());
  LRA_RETURN_IF_ERROR(Share(length));
  const int64_t count = length.const_data_ptr<int64_t>()[0];
  if (count == 0) return std::string();
  const at::Tensor text = at::empty({count}, at::kByte);
  if (is_first()) std::copy(bytes.begin(), bytes.end(), text.mutable_data_ptr<uint8_t>());
  LRA_RETURN_IF_ERROR(Share(text));
  const uint8_t* const data = text.const_data_ptr<uint8_t>();
  return std::string(data, data + count);
}

absl::Status Ranks::Agree(const absl::Status& mine) {
  if (is_alone()) return mine;
  at::Tensor code = at::empty({1}, at::kInt);
  code.mutable_data_ptr<int32_t>()[0] = mine.raw_code();
  LRA_ASSIGN_OR_RETURN(const at::Tensor codes, Gather(code));  // [size, 1]
  if (!mine.ok()) return mine;
  const int32_t* const values = codes.const_data_ptr<int32_t>();
  for (int rank = 0; rank < size(); ++rank) {
    if (values[rank] == 0) continue;
    return absl::Status(
        static_cast<absl::StatusCode>(values[rank]),
        absl::StrCat("rank ", rank, " of ", size(), " stopped, its own message says why"));
  }
  return absl::OkStatus();
}

absl::Status Ranks::Leave() { return is_alone() ? absl::OkStatus() : Agree(absl::OkStatus()); }

}  // namespace lra
