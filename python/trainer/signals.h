// What signals do to a process of Python while lra.train trains in it.
#ifndef LRA_PYTHON_TRAINER_SIGNALS_H_
#define LRA_PYTHON_TRAINER_SIGNALS_H_

#include <csignal>

namespace lra {

// While it lives, SIGINT and SIGTERM let the run save and stop after the step, and SIGUSR1 save and
// go on (train/interruption.h). A second SIGINT or SIGTERM does what it did before. Python's own
// handlers would wait until C++ returns.
class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;
  // The signal that asked the run to stop; 0 = none did.
  static int StoppedBy();
};

}  // namespace lra

#endif  // LRA_PYTHON_TRAINER_SIGNALS_H_
