// What a user should know of a run's data before the hours that it takes.
#ifndef LRA_TRAIN_DATA_NOTES_H_
#define LRA_TRAIN_DATA_NOTES_H_

#include <string>
#include <vector>

#include "lra/config.pb.h"

namespace lra {

// Sentences without a stop, for data in DataFolderOf(): that the run scores a part of the test
// split, so that tables will leave it out; that the task's default folder holds other data than
// configs/tasks/ pins. Empty where there is no data: training refuses that.
std::vector<std::string> DataNotes(const ExperimentConfig& config, const std::string& data_dir);

}  // namespace lra

#endif  // LRA_TRAIN_DATA_NOTES_H_
