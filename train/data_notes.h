// What a user should know of a run's data before the hours that it takes.
#ifndef LRA_TRAIN_DATA_NOTES_H_
#define LRA_TRAIN_DATA_NOTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/split_view.h"
#include "lra/config.pb.h"

namespace lra {

// Sentences without a stop, for data in DataFolderOf(): that the run scores a part of the test
// split, so that tables will leave it out; that the task's default folder holds other data than
// configs/tasks/ pins. Empty where there is no data: training refuses that.
std::vector<std::string> DataNotes(const ExperimentConfig& config, const std::string& data_dir);

// What is wrong with scoring only the first `limit` examples of the split (0 = all): that they are
// of one class, where the data is sorted by class. Empty where they are of several, as the split.
std::string OneClassWarning(const SplitView& split, int64_t limit, const std::string& field);

}  // namespace lra

#endif  // LRA_TRAIN_DATA_NOTES_H_
