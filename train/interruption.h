// Requests to a training loop from outside; the program's signal handlers call these.
#ifndef LRA_TRAIN_INTERRUPTION_H_
#define LRA_TRAIN_INTERRUPTION_H_

namespace lra {

// Asks the loop to save and stop after the current step. Safe in a signal handler.
void RequestStop();
bool StopRequested();

// Asks the loop to save after the current step and continue. Safe in a signal handler.
void RequestSave();
// Whether RequestSave() was called since this was last asked.
bool TakeSaveRequest();

}  // namespace lra

#endif  // LRA_TRAIN_INTERRUPTION_H_
