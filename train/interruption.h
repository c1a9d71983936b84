// Requests to a training loop from outside; the signal handlers of the program and of lra.train
// call these.
#ifndef LRA_TRAIN_INTERRUPTION_H_
#define LRA_TRAIN_INTERRUPTION_H_

namespace lra {

// Asks the loop to save and stop after the current step. Safe in a signal handler.
void RequestStop();
bool StopRequested();
// Takes the request back, so that this process can train another run after a stop.
void ForgetStopRequest();

// Asks all loops to save after the current step and continue. Safe in a signal handler.
void RequestSave();
// How often that was asked for: each loop remembers how often it saved.
int SaveRequests();

}  // namespace lra

#endif  // LRA_TRAIN_INTERRUPTION_H_
