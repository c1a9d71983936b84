// What SIGINT and SIGTERM do to programs that save before they end.
#ifndef LRA_CLI_STOP_SIGNALS_H_
#define LRA_CLI_STOP_SIGNALS_H_

namespace lra {

// The first signal calls `stop`, which must be safe in a signal handler. One that comes a second or
// more after it ends the program at once. What comes sooner is the same request: a batch system
// signals all processes of a job, and those that have children pass it on to them.
void OnStopSignals(void (*stop)());

}  // namespace lra

#endif  // LRA_CLI_STOP_SIGNALS_H_
