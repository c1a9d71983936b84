#include "ranks/group.h"

#include <ATen/ops/empty.h>
#include <arpa/inet.h>
#include <c10/util/Logging.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "torch/csrc/distributed/c10d/PrefixStore.hpp"
#include "torch/csrc/distributed/c10d/ProcessGroupGloo.hpp"
#include "torch/csrc/distributed/c10d/TCPStore.hpp"

namespace lra {
namespace {

// How long one rank may keep the others waiting, in a validation for example, while it counts.
constexpr std::chrono::hours kLongestWait{24 * 7};
// After this without a count a rank is taken for gone.
constexpr std::chrono::milliseconds kSilence{30000};
// A connection closed: so long the others may have counted and the one that is gone has not.
constexpr std::chrono::milliseconds kShortSilence{2500};
constexpr std::chrono::milliseconds kGlance{2000};

c10::intrusive_ptr<c10d::Store> OpenStore(const Launch& launch, bool is_server,
                                          std::chrono::milliseconds patience) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(launch.port);
  options.isServer = is_server;
  options.waitWorkers = false;
  options.timeout = patience;
  return c10::make_intrusive<c10d::PrefixStore>(
      absl::StrCat("lra/attempt-", launch.attempt),
      c10::make_intrusive<c10d::TCPStore>(launch.address, options));
}

// This machine's address on the way to the meeting point, which the others can reach then; empty
// where it cannot be found. Connecting a datagram socket sends nothing.
std::string OwnAddress(const Launch& launch) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(launch.address.c_str(), "9", &hints, &found) != 0) return "";
  char text[NI_MAXHOST] = "";
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  const int file = socket(found->ai_family, SOCK_DGRAM, 0);
  if (file >= 0 && connect(file, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(file, reinterpret_cast<sockaddr*>(&own), &length) == 0) {
    getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text, sizeof text, nullptr, 0,
                NI_NUMERICHOST);
  }
  if (file >= 0) close(file);
  freeaddrinfo(found);
  return text;
}

std::shared_ptr<gloo::transport::Device> OpenNetwork(const Launch& launch) {
  const char* const interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0')
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  const std::string own = OwnAddress(launch);
  return own.empty() ? c10d::ProcessGroupGloo::createDefaultDevice()
                     : c10d::ProcessGroupGloo::createDeviceForHostname(own);
}

std::string HereName(const Launch& launch) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '?';
  return absl::StrCat("rank ", launch.rank, " (", host, ", process ", getpid(), ")");
}

// Tells the others where this rank runs, and learns it of them.
std::vector<std::string> ExchangeNames(const Launch& launch, c10d::Store* store) {
  const std::string mine = HereName(launch);
  store->set(absl::StrCat("lra/name/", launch.rank), mine);
  std::vector<std::string> names;
  for (int rank = 0; rank < launch.size; ++rank) {
    const std::vector<uint8_t> name = store->get(absl::StrCat("lra/name/", rank));
    names.emplace_back(name.begin(), name.end());
  }
  return names;
}

// The first line of what LibTorch or Gloo says, without Gloo's own source lines and guesses.
std::string FirstLine(const std::exception& error) {
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  text = text.substr(0, text.find(". This is typically"));
  const size_t place = text.find("] ");
  return !text.empty() && text[0] == '[' && place != std::string::npos ? text.substr(place + 2)
                                                                       : text;
}

// LibTorch would warn of a lost connection with a stack; our own message says it. And the store's
// server writes to connections that may have been closed, which ends a process by default.
void PrepareForLosses() {
  std::signal(SIGPIPE, SIG_IGN);
  constexpr int kFatal = 3;
  FLAGS_caffe2_log_level = std::max(FLAGS_caffe2_log_level, kFatal);
}

}  // namespace

Ranks::Group::Group() = default;

// A group that lost a member has threads that wait for it; they end with the process.
Ranks::Group::~Group() {
  if (!is_broken_) return;
  backend_.release();
  heartbeat_.release();
}

void Ranks::Group::Meet(const Launch& launch, std::chrono::milliseconds patience) {
  PrepareForLosses();
  size_ = launch.size;
  store_ = OpenStore(launch, launch.rank == 0 && !launch.has_store, patience);
  Heartbeat::Announce(launch.rank, store_.get());  // so that who has all names finds all counts
  const std::vector<std::string> names = ExchangeNames(launch, store_.get());
  const auto options = c10d::ProcessGroupGloo::Options::create(kLongestWait);
  options->devices.push_back(OpenNetwork(launch));
  backend_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store_, launch.rank, launch.size, options);
  heartbeat_ = std::make_unique<Heartbeat>(OpenStore(launch, false, patience), launch.rank, names);
}

absl::StatusOr<std::unique_ptr<Ranks::Group>> Ranks::Group::Join(
    const Launch& launch, std::chrono::milliseconds patience) {
  std::unique_ptr<Group> group(new Group());
  try {
    group->Meet(launch, patience);
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat(
        "rank ", launch.rank, " of ", launch.size, " (", launch.starter, ") did not meet the ",
        "others at ", launch.address, ":", launch.port, ": ", FirstLine(error),
        "; all of them must run, reach that address, and no other job may use that port"));
  }
  return group;
}

absl::Status Ranks::Group::Lost(const std::string& detail) {
  is_broken_ = true;
  std::string who = heartbeat_->Silent(kSilence);
  // Whoever closed the connection may have counted just before.
  for (int tries = 0; tries < 8 && who.empty(); ++tries) {
    std::this_thread::sleep_for(kShortSilence / 5);
    who = heartbeat_->Silent(kShortSilence);
  }
  return absl::UnavailableError(absl::StrCat(who.empty() ? "another rank" : who,
                                             " is gone or does not answer (", detail,
                                             "), so all ranks stop; see its own output"));
}

// Waits in short pieces, to look in between whether the others are still there.
absl::Status Ranks::Group::Await(const Works& work) {
  while (true) {
    try {
      work->wait(kGlance);
      return absl::OkStatus();
    } catch (const std::exception& error) {
      if (work->isCompleted()) return Lost(FirstLine(error));
    }
    const std::string silent = heartbeat_->Silent(kSilence);
    if (silent.empty()) continue;
    Works(work).release();  // its thread goes on waiting
    return Lost("silent for 30 s");
  }
}

template <class Begin>
absl::Status Ranks::Group::Run(Begin begin) {
  if (is_broken_) return absl::UnavailableError("the ranks have lost one of them before");
  try {
    return Await(begin());
  } catch (const std::exception& error) {
    return Lost(FirstLine(error));
  }
}

absl::Status Ranks::Group::Sum(const std::vector<at::Tensor>& values) {
  std::vector<Works> works;
  const absl::Status begun = Run([&] {
    for (const at::Tensor& tensor : values) {
      std::vector<at::Tensor> one = {tensor};
      works.push_back(backend_->allreduce(one));
    }
    return works.front();
  });
  if (!begun.ok()) return begun;
  for (const Works& work : works) {
    const absl::Status done = Await(work);
    if (!done.ok()) return done;
  }
  return absl::OkStatus();
}

absl::StatusOr<at::Tensor> Ranks::Group::Gather(const at::Tensor& values) {
  std::vector<int64_t> shape = values.sizes().vec();
  shape.insert(shape.begin(), size_);
  const at::Tensor all = at::empty(shape, values.options());
  std::vector<std::vector<at::Tensor>> rows(1);
  for (int rank = 0; rank < size_; ++rank) rows[0].push_back(all.select(0, rank));
  std::vector<at::Tensor> mine = {values};
  const absl::Status status = Run([&] { return backend_->allgather(rows, mine); });
  if (!status.ok()) return status;
  return all;
}

absl::Status Ranks::Group::Share(at::Tensor values) {
  std::vector<at::Tensor> tensors = {std::move(values)};
  return Run([&] { return backend_->broadcast(tensors); });
}

}  // namespace lra
