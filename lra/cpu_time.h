// What this process used of the machine's cores, whatever else runs on them.
#ifndef LRA_CPU_TIME_H_
#define LRA_CPU_TIME_H_

namespace lra {

// Seconds of cores that all threads of this process have used so far, those that ended among them;
// in the program and in the system's calls.
double ProcessCpuSeconds();

}  // namespace lra

#endif  // LRA_CPU_TIME_H_
