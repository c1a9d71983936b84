// What running statistics of norms were before a step, for a step that fails: its forward pass has
// changed them before anybody knows.
#ifndef LRA_TRAIN_STATISTICS_BEFORE_H_
#define LRA_TRAIN_STATISTICS_BEFORE_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "models/base/parameters.h"

namespace lra {

class StatisticsBefore {
 public:
  // Copies the statistics of `store` (ParameterStore::CreateStatistic) on their device. Throws as
  // LibTorch does, as all of this class.
  explicit StatisticsBefore(const ParameterStore& store);

  // Makes the statistics what they were.
  void Restore() const;
  // The same where `fails`, a number on their device, is not 0. The host waits for nothing.
  void RestoreIf(const at::Tensor& fails) const;

 private:
  at::Tensor Flat() const;
  void Fill(const at::Tensor& flat) const;

  std::vector<at::Tensor> statistics_;
  at::Tensor before_;  // all of them in a row; undefined: there are none
};

}  // namespace lra

#endif  // LRA_TRAIN_STATISTICS_BEFORE_H_
