// Requests to a training loop from outside; the program's signal handlers call these.
#ifndef LRA_TRAIN_INTERRUPTION_H_
#define LRA_TRAIN_INTERRUPTION_H_

namespace lra {

// Asks the loop to save and stop after the current step. Safe in a signal handler.
void RequestStop();
bool StopRequested();

// Asks all loops to save after the current step and continue. Safe in a signal handler.
void RequestSave();
// How often that was asked for: each loop remembers how often it saved.
int SaveRequests();

}  // namespace lra

#endif  // LRA_TRAIN_INTERRUPTION_H_
