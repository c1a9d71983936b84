// Ranks of one process, for tests.
#ifndef LRA_RANKS_RANKS_TEST_UTIL_H_
#define LRA_RANKS_RANKS_TEST_UTIL_H_

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "ranks/launch.h"
#include "ranks/ranks.h"

namespace lra {

// A port that nobody listens on.
inline int FreePort() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(file, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(file, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(file);
  return ntohs(address.sin_port);
}

// Runs body(ranks) in `size` threads, each of which is one rank, with these cards.
inline void WithRanks(int size, const std::function<void(Ranks&)>& body, int agent_port = 0,
                      const std::vector<std::string>& cards = {}) {
  const int port = agent_port > 0 ? agent_port : FreePort();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([=, &body] {
      Launch launch = {"test", rank, size, rank, size, "127.0.0.1", port};
      launch.has_store = agent_port > 0;
      if (!cards.empty()) launch.cards = cards[rank];
      const auto ranks = Ranks::Join(launch);
      ASSERT_TRUE(ranks.ok()) << ranks.status();
      body(**ranks);
      EXPECT_TRUE((*ranks)->Leave().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace lra

#endif  // LRA_RANKS_RANKS_TEST_UTIL_H_
