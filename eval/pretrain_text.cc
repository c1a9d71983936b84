#include "eval/pretrain_text.h"

#include <limits>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lra {

std::string DescribeNats(double nats) {
  return absl::StrFormat("%.3f bits (%.3f nats) a token", nats / std::numbers::ln2, nats);
}

std::string DescribeReference(const PretrainResult& result) {
  if (result.entropy_examples() == 0) return "";
  return absl::StrFormat(" (unigram %.2f, bigram %.2f)", result.unigram_nats() / std::numbers::ln2,
                         result.bigram_nats() / std::numbers::ln2);
}

std::string DescribeEntropies(const PretrainResult& result) {
  return absl::StrCat("unigram ", DescribeNats(result.unigram_nats()), ", bigram ",
                      DescribeNats(result.bigram_nats()));
}

double GoalNats(PretrainConfig::Until until, const PretrainResult& result) {
  switch (until) {
    case PretrainConfig::UNIGRAM:
      return result.unigram_nats();
    case PretrainConfig::BIGRAM:
      return result.bigram_nats();
    default:
      return std::numeric_limits<double>::infinity();
  }
}

}  // namespace lra
