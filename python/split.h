// A split of a data set through a view, as the extension hands it to Python.
#ifndef LRA_PYTHON_SPLIT_H_
#define LRA_PYTHON_SPLIT_H_

#include "datasets/dataset.h"
#include "datasets/split_view.h"
#include "lra/config.pb.h"

namespace lra {

struct OpenedSplit {
  Dataset data;
  DataView view;
  SplitView split;
};

}  // namespace lra

#endif  // LRA_PYTHON_SPLIT_H_
