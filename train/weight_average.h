// The exponential moving average of a model's weights (Polyak & Juditsky 1992; optimizer.
// average_decay in lra/config.proto): training goes on as without, and what is validated, saved and
// tested is the average.
#ifndef LRA_TRAIN_WEIGHT_AVERAGE_H_
#define LRA_TRAIN_WEIGHT_AVERAGE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/base/parameters.h"

namespace lra {

class WeightAverage {
 public:
  // The average begins as the values of `store`, whose tensors it shares: parameters and buffers
  // (running statistics of norms) of floating types.
  WeightAverage(double decay, const ParameterStore& store);
  // Begins again, as the values are now: those that the model was made with were replaced.
  void Begin();

  // After update t = 1, 2, ...: average = d average + (1 - d) value, d = min(decay, t / (9 + t)):
  // the values before training are soon forgotten.
  // `is_void`, if defined, is float32 [] on the model's device: where it is 1, nothing changes.
  // `share`, if defined, is NextShare() as float32 [] there, for what a graph repeats.
  void Add(const at::Tensor& is_void = at::Tensor(), const at::Tensor& share = at::Tensor());
  // 1 - d of the next update.
  double NextShare() const;
  // Counts updates that a graph repeated, or takes back that of a call that only captured it.
  void CountUpdates(int64_t more) { updates_.add_(more); }

  // Whether the model's values are the averages now.
  bool is_in_use() const { return is_in_use_; }

  // The values that are not the model's, "trained/<name>" while the averages are in use, and the
  // number of updates. To restore what was saved while they were in use: fill the model with the
  // saved weights, which are averages, and these tensors; then FinishRestore().
  std::vector<std::pair<std::string, at::Tensor>> State() const;
  void FinishRestore() { Exchange(); }

  // While it lives, the model's values are the averages; of nullptr, it does nothing.
  class Scope {
   public:
    explicit Scope(WeightAverage* average);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WeightAverage* const average_;
  };

 private:
  struct Pair {
    std::string name;
    at::Tensor value, other;
  };
  void Exchange();

  const double decay_;
  std::vector<Pair> pairs_;
  at::Tensor updates_;  // a scalar
  bool is_in_use_ = false;
};

}  // namespace lra

#endif  // LRA_TRAIN_WEIGHT_AVERAGE_H_
