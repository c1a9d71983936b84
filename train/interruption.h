// What a user asks of a training loop from outside: signals of the program lead here.
#ifndef LRA_TRAIN_INTERRUPTION_H_
#define LRA_TRAIN_INTERRUPTION_H_

namespace lra {

// Asks the loop to save and stop after the current step; safe in a signal handler.
void RequestStop();
bool StopRequested();

// Asks the loop to save after the current step and to go on; safe in a signal handler.
void RequestSave();
// Whether RequestSave() was called since the last time.
bool TakeSaveRequest();

}  // namespace lra

#endif  // LRA_TRAIN_INTERRUPTION_H_
