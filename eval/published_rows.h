// Published rows as a table shows them, with our differences from them.
#ifndef LRA_EVAL_PUBLISHED_ROWS_H_
#define LRA_EVAL_PUBLISHED_ROWS_H_

#include <optional>
#include <string>
#include <vector>

#include "eval/published.pb.h"
#include "eval/statistics.h"

namespace lra {

// Ours - published, of one method in one column.
struct PublishedDifference {
  double value = 0;  // in the table's metric
  // That of ours, moved: the published number is taken as exact.
  std::optional<Interval> interval;
};

struct PublishedRows {
  PublishedTable table;  // source, protocol, notes
  // A measured row of the same method beside it.
  struct Beside {
    std::string label;
    std::vector<std::optional<PublishedDifference>> cells;  // by column
    std::optional<PublishedDifference> average;
  };
  struct Row {
    PublishedRow row;
    std::vector<std::optional<PublishedCell>> cells;  // by column
    // The printed average, set only if the columns are exactly those that it is over.
    std::optional<double> average;
    std::vector<Beside> ours;
  };
  std::vector<Row> rows;
};

}  // namespace lra

#endif  // LRA_EVAL_PUBLISHED_ROWS_H_
