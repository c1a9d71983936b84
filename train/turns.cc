#include "train/turns.h"

#include <ATen/Parallel.h>

#include <chrono>
#include <thread>

#include "lra/seconds.h"

namespace lra {
namespace {

thread_local int my_place = 0;

}  // namespace

void Turns::Await(int place, std::unique_lock<std::mutex>* lock) {
  changed_.wait(*lock, [&] { return turn_ == place; });
}

void Turns::GiveOn() {
  const int count = static_cast<int>(is_working_.size());
  for (int step = 1; step <= count; ++step) {
    const int next = (turn_ + step) % count;
    if (!is_working_[next]) continue;
    turn_ = next;
    break;
  }
  changed_.notify_all();
}

void Turns::Run(int count, const std::function<void(int)>& work) {
  is_working_.assign(count, true);
  turn_ = 0;
  std::vector<std::thread> threads;
  for (int place = 0; place < count; ++place) {
    threads.emplace_back([this, place, &work] {
      my_place = place;
      std::unique_lock<std::mutex> lock(mutex_);
      Await(place, &lock);
      lock.unlock();
      at::init_num_threads();  // as many for an operation as the process was told
      work(place);
      lock.lock();
      is_working_[place] = false;
      GiveOn();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

double Turns::Pass() {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  GiveOn();
  Await(my_place, &lock);
  return SecondsSince(begin);
}

}  // namespace lra
