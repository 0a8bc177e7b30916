// SPDX-License-Identifier: MIT
// The faulty site as a program: to try the crawl agent, or one of your own, by hand.
// Usage: faulty_site FOLDER [SEED [PORT]]     (seed 0: no faults; port 0 or none: a free one)

#include "site/faulty_site.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fputs("Usage: faulty_site FOLDER [SEED [PORT]]\n", stderr);
    return 2;
  }
  // Blocked before the server's threads begin, so that only sigwait sees them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  try {
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    const int port = argc > 3 ? std::atoi(argv[3]) : 0;
    site::Pages pages = site::render_folder(argv[1]);
    std::printf("%zu pages, seed %llu\n", pages.size(), static_cast<unsigned long long>(seed));
    const site::FaultySite server(std::move(pages), seed, site::FaultySite::usual_rate, port);
    std::printf("%s/index.html  (Ctrl-C ends it; /_log tells what was sent)\n",
                server.url().c_str());
    std::fflush(stdout);
    int received = 0;
    sigwait(&signals, &received);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "faulty_site: %s\n", error.what());
    return 1;
  }
}
