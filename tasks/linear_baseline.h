// Baselines that are multinomial logistic regressions on features of an example.
#ifndef LRA_TASKS_LINEAR_BASELINE_H_
#define LRA_TASKS_LINEAR_BASELINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tasks/baseline_method.h"
#include "tasks/features.h"

namespace lra {

// Passes over the training split. The model after the pass with the best accuracy on validation is
// kept; where the validation split is the test split, that after the last pass.
inline constexpr int kLinearPasses = 8;

// The features of examples as the view shows them.
using MakeFeatures = std::function<std::unique_ptr<FeatureExtractor>(const TaskSpec& seen)>;
std::unique_ptr<BaselineMethod> MakeLinearBaseline(BaselineFacts facts, float learning_rate,
                                                   MakeFeatures make_features);

// "bag_of_units": how often each id occurs. Blind to order, so it is the bar of any task whose
// inputs are sequences.
std::unique_ptr<BaselineMethod> MakeBagOfUnits();
// "ngram_linear": which n-grams of 1 to 4 ids occur. It takes about half a second for a million
// tokens of the training split; the task says whether that is quick.
std::unique_ptr<BaselineMethod> MakeNgramLinear(bool is_quick);
// "lengths", for pairs: the length of each text and the difference of both.
std::unique_ptr<BaselineMethod> MakeLengths();
// "overlap", for pairs: how much of their n-grams the texts share (OverlapFeatures). It takes about
// as long as ngram_linear.
std::unique_ptr<BaselineMethod> MakeOverlap(bool is_quick);
// "pixel_linear": the value of each pixel, standardised over its picture (PixelFeatures), so that
// neither brightness nor contrast of a picture as a whole is seen.
std::unique_ptr<BaselineMethod> MakePixelLinear();
// It alone, for tasks of pictures.
std::vector<std::unique_ptr<BaselineMethod>> PixelBaselines();
// Those of any texts: bag_of_units and ngram_linear; for pairs also lengths and overlap.
std::vector<std::unique_ptr<BaselineMethod>> TextBaselines(bool is_pair);

}  // namespace lra

#endif  // LRA_TASKS_LINEAR_BASELINE_H_
