// Several runs of one process side by side: each has a thread of its own, and one of them goes on
// at a time, until it passes its turn to the next. So a device has the work of all of them, each on
// a stream of its own, while the host needs no locks, and what a run computes does not depend on
// the others.
#ifndef LRA_TRAIN_TURNS_H_
#define LRA_TRAIN_TURNS_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

namespace lra {

class Turns {
 public:
  // Calls work(i) for i = 0 .. count - 1, each in a thread of its own, and returns once all have
  // returned. The first turn is that of 0; whoever returns passes the turn on.
  void Run(int count, const std::function<void(int)>& work);

  // Within work(i): lets each of the others have a turn, in order; returns the seconds that they
  // took.
  double Pass();

 private:
  void Await(int place, std::unique_lock<std::mutex>* lock);
  void GiveOn();  // with the lock held

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  int turn_ = 0;
  std::vector<bool> is_working_;
};

}  // namespace lra

#endif  // LRA_TRAIN_TURNS_H_
