#include "lra/cpu_time.h"

#include <sys/resource.h>

#include "lra/seconds.h"

namespace lra {

double ProcessCpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
}

}  // namespace lra
