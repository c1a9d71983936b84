// What records and checkpoints held while accuracy was the only metric (schema 1), in the form of
// today. Reading converts; nothing else knows the old fields.
#ifndef LRA_EVAL_SCHEMA1_H_
#define LRA_EVAL_SCHEMA1_H_

#include "eval/run_record.pb.h"

namespace lra {

// Converts a record of schema 1; any other stays as it is.
void ConvertSchema1(RunRecord* record);
// Converts a point of such a record's curve, or of a checkpoint's; a point of today stays as it is.
void ConvertSchema1(CurvePoint* point);

}  // namespace lra

#endif  // LRA_EVAL_SCHEMA1_H_
