// An attention that is written in Python, in the program's encoder. The package's mixer
// (python/lra/mixer.py) makes one for each layer.
#ifndef LRA_PYTHON_TRAINER_PYTHON_ATTENTION_H_
#define LRA_PYTHON_TRAINER_PYTHON_ATTENTION_H_

#include <nanobind/nanobind.h>

#include "models/attention/python.pb.h"

namespace lra {

// While it lives, models with attention "python" take theirs from this mixer; one at a time.
// Needs the GIL at both ends.
class MixerScope {
 public:
  explicit MixerScope(nanobind::object mixer);
  ~MixerScope();
  MixerScope(const MixerScope&) = delete;
  MixerScope& operator=(const MixerScope&) = delete;
};

// What a mixer says of itself. Needs the GIL.
PythonOptions OptionsOfMixer(nanobind::handle mixer);

}  // namespace lra

#endif  // LRA_PYTHON_TRAINER_PYTHON_ATTENTION_H_
