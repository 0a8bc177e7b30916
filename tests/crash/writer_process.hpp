// SPDX-License-Identifier: MIT
#pragma once
// The writer process of the store campaign, as seen from outside.

#include "store_writer.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace triage::test {

// A writing process and its reports.
class Writer {
 public:
  explicit Writer(const WriterOrder& order) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    std::vector<std::string> words{"store_campaign",
                                   "write",
                                   order.url,
                                   order.run,
                                   std::to_string(order.seed),
                                   std::to_string(order.batches),
                                   order.clock,
                                   std::to_string(order.file_bytes),
                                   order.far ? "far" : "near"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments.data(), environ) != 0) {
      std::abort();
    }
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    out_ = ::fdopen(ends[0], "r");
  }
  ~Writer() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);  // The processes it has started end with it.
      ::waitpid(pid_, nullptr, 0);
    }
    std::fclose(out_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // To the writing process.
  void send(int signal) const { ::kill(far_ > 0 ? far_ : pid_, signal); }
  // The next line without its end; empty at the end of the output.
  std::string line() {
    char* text = nullptr;
    std::size_t room = 0;
    const auto size = ::getline(&text, &room, out_);
    std::string found(text == nullptr || size < 0 ? "" : text);
    std::free(text);
    if (!found.empty() && found.back() == '\n') found.pop_back();
    if (!found.starts_with("P ")) return found;
    far_ = std::stoi(found.substr(2));
    return line();
  }

 private:
  pid_t pid_ = -1;
  pid_t far_ = -1;
  std::FILE* out_ = nullptr;
};

}  // namespace triage::test
