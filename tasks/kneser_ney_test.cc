#include "tasks/kneser_ney.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "lra/random.h"

namespace lra {
namespace {

using Ids = std::vector<int32_t>;

constexpr int32_t kStart = -1;

// The model from its definition, on all n-grams as vectors.
class Definition {
 public:
  Definition(const std::vector<Ids>& texts, int order, int64_t ids, int32_t first_id)
      : order_(order), ids_(ids), first_id_(first_id), counts_(order + 1) {
    for (const Ids& text : texts) {
      for (size_t n = 0; n < text.size(); ++n) {
        Ids gram = ContextAt(text, n);
        gram.push_back(text[n]);
        ++counts_[order][gram];
      }
    }
    for (int k = order - 1; k >= 1; --k) {
      std::set<std::pair<int32_t, Ids>> different;
      for (const auto& [gram, count] : counts_[k + 1])
        different.insert({gram[0], Ids(gram.begin() + 1, gram.end())});
      for (const auto& [front, gram] : different) ++counts_[k][gram];
    }
  }

  double P(const Ids& text, size_t n) const { return P(ContextAt(text, n), text[n]); }

 private:
  Ids ContextAt(const Ids& text, size_t n) const {
    Ids context;
    for (int back = order_ - 1; back > 0; --back)
      context.push_back(n < static_cast<size_t>(back) ? kStart : text[n - back]);
    return context;
  }

  double P(const Ids& context, int32_t id) const {
    const double shorter = context.empty() ? 1.0 / static_cast<double>(ids_ - first_id_)
                                           : P(Ids(context.begin() + 1, context.end()), id);
    const auto& counts = counts_[context.size() + 1];
    double once = 0, twice = 0, total = 0, different = 0, count = 0;
    for (const auto& [gram, c] : counts) {
      once += c == 1;
      twice += c == 2;
      if (!std::equal(context.begin(), context.end(), gram.begin())) continue;
      total += c;
      ++different;
      if (gram.back() == id) count = c;
    }
    if (total == 0) return shorter;
    const double discount = once > 0 ? once / (once + 2 * twice) : 0.5;
    return (std::max(count - discount, 0.0) + discount * different * shorter) / total;
  }

  const int order_;
  const int64_t ids_;
  const int32_t first_id_;
  std::vector<std::map<Ids, int>> counts_;
};

std::vector<Ids> Texts(int32_t first_id, int32_t ids) {
  RandomStream random(3, RandomDomain::kTest, {1, 0, 0});
  std::vector<Ids> texts(12);
  for (Ids& text : texts) {
    for (int64_t n = random.Between(1, 20); n > 0; --n) {
      const auto spread = static_cast<uint32_t>(ids - first_id);
      text.push_back(first_id + static_cast<int32_t>(random.Below(1 + random.Below(spread))));
    }
  }
  return texts;
}

class KneserNeyTest : public testing::TestWithParam<bool> {};

TEST_P(KneserNeyTest, IsItsDefinitionAndSumsToOne) {
  const bool zero_is_token = GetParam();
  constexpr int kIds = 6;
  const int32_t first = zero_is_token ? 0 : 1;
  const std::vector<Ids> texts = Texts(first, kIds);
  for (const int order : {1, 2, 3, 5}) {
    KneserNey model(order, kIds, zero_is_token);
    for (const Ids& text : texts) model.Count(text);
    model.Fit();
    const Definition definition(texts, order, kIds, first);
    for (Ids text : {Ids{first, 5, 2, 1, 4}, texts[0], Ids{5, 5, 5, 5, 5, 5}}) {
      for (size_t n = 0; n < text.size(); ++n) {
        const int32_t original = text[n];
        double sum = 0;
        for (text[n] = first; text[n] < kIds; ++text[n]) {
          EXPECT_NEAR(model.P(text, n), definition.P(text, n), 1e-12) << order << " " << n;
          EXPECT_LE(model.P(text, n), [&] {
            Ids likeliest = text;
            likeliest[n] = model.Best(text, n);
            return model.P(likeliest, n);
          }()) << n;
          sum += model.P(text, n);
        }
        text[n] = original;
        EXPECT_NEAR(sum, 1, 1e-12) << order << " " << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KneserNeyTest, testing::Bool());

// What stands in front of `first` is context, not counted.
TEST(KneserNeyTest, CountsWhatIsGuessedOnly) {
  KneserNey model(1, 3, false);
  model.Count(Ids{1, 1, 1, 2, 2}, 3);
  model.Fit();
  EXPECT_GT(model.P(Ids{2}, 0), model.P(Ids{1}, 0));
}

// 2^20 ids take 21 bits each: three tokens fit into a key.
TEST(KneserNeyTest, ManyIdsLowerTheOrder) {
  KneserNey model(5, 1 << 20, false);
  for (int i = 0; i < 3; ++i) model.Count(Ids{1, 1 << 19, (1 << 20) - 1, 7});
  model.Fit();
  EXPECT_GT(model.P(Ids{9, 1 << 19, (1 << 20) - 1, 7}, 3), 0.3);
  EXPECT_LT(model.P(Ids{9, 1 << 18, (1 << 20) - 1, 8}, 3), 0.3);
}

}  // namespace
}  // namespace lra
