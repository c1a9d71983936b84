#include "eval/schema1.h"

#include "eval/metric.h"
#include "eval/run_record.h"

namespace lra {
namespace {

void ConvertResult(SplitResult* result) {
  Sums& sums = *result->mutable_sums();
  (*sums.mutable_counts())[kTargets] = result->examples();
  (*sums.mutable_counts())[kCorrect] = result->correct();
  (*sums.mutable_totals())[kNats] = result->loss_sum();
  result->clear_correct();
  result->clear_loss_sum();
}

}  // namespace

void ConvertSchema1(CurvePoint* point) {
  if (!point->train().empty()) return;
  (*point->mutable_train())[kAccuracy] = point->train_accuracy();
  point->clear_train_accuracy();
  if (!point->has_validation_accuracy()) return;
  (*point->mutable_validation())[kAccuracy] = point->validation_accuracy();
  point->clear_validation_accuracy();
}

void ConvertSchema1(RunRecord* record) {
  if (record->schema_version() != 1) return;
  for (CurvePoint& point : *record->mutable_curve()) ConvertSchema1(&point);
  for (SplitResult& result : *record->mutable_results()) ConvertResult(&result);
  for (Trial& trial : *record->mutable_trials()) {
    trial.set_validation(trial.validation_accuracy());
    trial.clear_validation_accuracy();
  }
  record->set_selected_validation(record->selected_validation_accuracy());
  record->clear_selected_validation_accuracy();
  record->set_schema_version(kRecordSchemaVersion);
}

}  // namespace lra
