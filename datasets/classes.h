// What label counts say of a score: whether the splits of a data set have the same classes.
#ifndef LRA_DATASETS_CLASSES_H_
#define LRA_DATASETS_CLASSES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "datasets/manifest.pb.h"

namespace lra {

// Sentences about validation and test beside train, none where their classes are the same: how many
// examples have a class that train lacks, and which of train's classes are lacking by more than
// chance. Nothing is said of splits that are cut from others.
std::vector<std::string> DescribeClasses(const Manifest& manifest);

// Which classes no split has an example of, with a question where class 0 is among them; empty
// where there are none.
std::string EmptyClassesNote(const Manifest& manifest);

// InvalidArgument, with the classes of both, if train and test share none: nothing that is learned
// can be seen in a score.
absl::Status CheckClasses(const Manifest& manifest);

}  // namespace lra

#endif  // LRA_DATASETS_CLASSES_H_
