// SPDX-License-Identifier: MIT
// triage checkpoint export and import: runs as JSON Lines, out of one store and into another; or
// from and to a store of triage-agent.

#include "arguments/open_store.hpp"
#include "arguments/run_argument.hpp"
#include "arguments/store_argument.hpp"
#include "command.hpp"
#include "documents/output_file.hpp"
#include "render/output.hpp"
#include "triage/detail/file_descriptor.hpp"
#include "triage/detail/try.hpp"
#include "triage/stores/interchange_reference.hpp"
#include "triage/stores/memory.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

struct CheckpointTransferArguments {
  StoreArgument where{};
  std::vector<std::string> runs{};
  std::string file{};
  std::string format{};
  std::string agent{};
  std::string task{};
  std::size_t newest = 0;
  bool leave_same = false;
  bool leave_out = false;
};

constexpr const char* own_format = "jsonl";
constexpr const char* reference_format = "triage-agent";

// Options that belong to the other format are mistakes.
Result<void> check_format(const CheckpointTransferArguments& given) {
  const bool extra = given.newest != 0 || !given.agent.empty() || !given.task.empty();
  if (given.format == own_format && extra) {
    return Error{Errc::invalid_argument,
                 "--newest, --agent and --task are for --format triage-agent"};
  }
  if (given.format == reference_format && given.file.empty()) {
    return Error{Errc::invalid_argument,
                 "--out must name a file or redis://HOST for --format triage-agent"};
  }
  for (const std::string_view scheme : {"memory:", "file:", "postgresql:", "postgres:"}) {
    if (given.format != reference_format || !given.file.starts_with(scheme)) continue;
    return Error{Errc::invalid_argument,
                 "\"" + printable(given.file) +
                     "\" is no store of triage-agent; allowed are the path of a file, sqlite:PATH "
                     "and redis://HOST"};
  }
  return outcome::success();
}

Error no_file(const std::string& file, int why = errno) {
  return {why == ENOENT ? Errc::not_found : Errc::io,
          "file \"" + printable(file) + "\": " + std::strerror(why)};
}

// A copy that ends with its stream: an import reads its file twice, which a pipe does not allow.
Result<std::ifstream> copy_of(std::ifstream& in, const std::string& file) {
  std::error_code nowhere;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(nowhere);
  const auto failed = [&] {
    return Error{Errc::io, "a temporary copy of \"" + printable(file) + "\" in \"" +
                               printable(folder.string()) + "\": " + std::strerror(errno)};
  };
  if (nowhere) {
    errno = nowhere.value();
    return failed();
  }
  std::string name = (folder / "triage-import-XXXXXX").string();
  const detail::FileDescriptor made(::mkstemp(name.data()));
  if (!made) return failed();
  std::ofstream out(name, std::ios::binary);
  std::ifstream copy(name, std::ios::binary);
  ::unlink(name.c_str());
  errno = 0;
  std::array<char, 65'536> block;
  while (out && copy && (in.read(block.data(), block.size()) || in.gcount() > 0)) {
    out.write(block.data(), in.gcount());
  }
  if (in.bad()) return no_file(file);
  out.close();
  if (!out || !copy) return failed();
  return outcome::success(std::move(copy));
}

// At its beginning, and seekable.
Result<std::ifstream> open_export(const std::string& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) return no_file(file);
  std::error_code unknown;
  if (std::filesystem::is_directory(file, unknown)) return no_file(file, EISDIR);
  if (in.seekg(0)) return outcome::success(std::move(in));
  in.clear();
  return copy_of(in, file);
}

// Before anything is written.
Result<std::vector<RunId>> runs_in_full(CheckpointStore& store,
                                        const std::vector<std::string>& given) {
  std::vector<RunId> runs;
  for (const std::string& text : given) {
    TRIAGE_TRY(run, in_full(store, text));
    const auto there = run_info(store, run);
    if (!there && there.error().code == Errc::not_found) return there.error();
    runs.push_back(std::move(run));
  }
  return outcome::success(std::move(runs));
}

std::string said(const Interchanged& done, const char* what) {
  std::string text = counted(done.runs.size(), "run") + ", " +
                     counted(static_cast<std::size_t>(done.records), "record") + " " + what;
  if (done.damaged > 0) text += "; " + std::to_string(done.damaged) + " damaged or missing";
  if (const std::uint64_t there = done.left_out - done.damaged; there > 0) {
    text += "; " + counted(static_cast<std::size_t>(there), "run") +
            (there == 1 ? " was there already" : " were there already");
  }
  return text + ".";
}

Result<Interchanged> export_lines(CheckpointStore& store,
                                  const CheckpointTransferArguments& given) {
  Interchanged done;
  TRIAGE_TRY(runs, runs_in_full(store, given.runs));
  const auto write = [&](std::ostream& out) -> Result<void> {
    TRIAGE_TRY(written, export_runs(store, runs, out, {.leave_out_damaged = given.leave_out}));
    done = std::move(written);
    return outcome::success();
  };
  if (given.file.empty()) {
    TRIAGE_TRYV(write(std::cout));
  } else {
    TRIAGE_TRYV(write_output(given.file, write));
  }
  return outcome::success(std::move(done));
}

ExitStatus export_to_reference(CheckpointStore& store, const CheckpointTransferArguments& given) {
  if (given.leave_out) {
    return report({Errc::invalid_argument, "--leave-out-damaged is for --format jsonl"});
  }
  const auto runs = runs_in_full(store, given.runs);
  if (!runs) return report(runs.error());
  const auto target = open_reference(given.file, true);
  if (!target) return report(target.error());
  const auto done =
      export_reference(store, runs.value(), *target.value(), {.newest = given.newest});
  if (!done) return report(done.error());
  warn(counted(done.value().runs.size(), "run") + ", " +
       counted(static_cast<std::size_t>(done.value().records), "checkpoint") + " exported.");
  return ExitStatus::done;
}

ExitStatus import_from_reference(const std::string& store_url,
                                 const CheckpointTransferArguments& given) {
  ReferenceImportOptions options{.leave_same = given.leave_same,
                                 .leave_out_damaged = given.leave_out};
  if (!given.agent.empty()) options.agent = given.agent;
  if (!given.task.empty()) options.task = given.task;
  const auto source = open_reference(given.file, false);
  if (!source) return report(source.error());
  // What is refused must not leave an empty store behind.
  const auto there = open_store_to_read(store_url);
  if (!there && there.error().code != Errc::not_found) return report(there.error());
  if (!there) {
    const auto whole = import_reference(*MemoryStore::create(), *source.value(), options);
    if (!whole) return report(whole.error());
  }
  const auto store = open_store_for_runs(store_url);
  if (!store) return report(store.error());
  const auto done = import_reference(*store.value(), *source.value(), options);
  if (!done) return report(done.error());
  warn(said(done.value(), "imported"));
  return done.value().damaged == 0 ? ExitStatus::done : ExitStatus::unreadable;
}

// The file that is written, if it is one.
OutputFile output_of(const CheckpointTransferArguments& given) {
  if (given.format == own_format) return {"--out", given.file};
  if (given.file.starts_with("redis:") || given.file.starts_with("rediss:")) return {"--out"};
  const std::string_view scheme = "sqlite:";
  return {"--out", given.file.substr(given.file.starts_with(scheme) ? scheme.size() : 0), true};
}

ExitStatus export_from(const CheckpointTransferArguments& given) {
  const auto fits = check_format(given);
  if (!fits) return report(fits.error());
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  const auto store = open_store_to_read(meant.value().store);
  if (!store) return report(store.error());
  const OutputFile out = output_of(given);
  if (const auto fine = check_outputs({&out, 1}, {}); !fine) return report(fine.error());
  if (given.format == reference_format) return export_to_reference(*store.value(), given);
  const auto done = export_lines(*store.value(), given);
  if (!done) return report(done.error());
  for (const Error& one : done.value().unread) warn(one.detail);
  warn(said(done.value(), "exported"));
  return done.value().damaged == 0 ? ExitStatus::done : ExitStatus::corrupt;
}

ExitStatus import_into(const CheckpointTransferArguments& given) {
  const auto fits = check_format(given);
  if (!fits) return report(fits.error());
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  if (given.format == reference_format) return import_from_reference(meant.value().store, given);
  if (given.leave_out) {
    return report({Errc::invalid_argument, "--leave-out-damaged is for --format triage-agent"});
  }
  auto opened = open_export(given.file);
  if (!opened) return report(opened.error());
  std::ifstream& in = opened.value();
  if (looks_like_database(in)) {
    return report({Errc::corrupt, "file \"" + printable(given.file) +
                                      "\" is a SQLite database; if triage-agent has written it, "
                                      "--format triage-agent reads it"});
  }
  // What is refused must not leave an empty store behind.
  if (const auto there = open_store_to_read(meant.value().store); !there) {
    const auto whole = check_export(in);
    if (!whole) return report(whole.error());
    in.clear();
    in.seekg(0);
  }
  const auto store = open_store_for_runs(meant.value().store);
  if (!store) return report(store.error());
  const auto done = import_runs(*store.value(), in, {.leave_same = given.leave_same});
  if (!done) return report(done.error());
  warn(said(done.value(), "imported"));
  return ExitStatus::done;
}

void declare_format(CLI::App& arguments, CheckpointTransferArguments& given) {
  arguments
      .add_option("--format", given.format,
                  "jsonl, or triage-agent: the SQLite file or Redis server of that Python library.")
      ->check(CLI::IsMember({own_format, reference_format}))
      ->default_str(own_format);
  given.format = own_format;
}

}  // namespace

std::function<ExitStatus()> checkpoint_export(CLI::App& arguments) {
  auto given = std::make_shared<CheckpointTransferArguments>();
  declare_store(arguments, given->where);
  arguments.add_option("--run", given->runs, "Only this run; may be given several times.")
      ->check(not_empty());
  arguments.add_option("--out", given->file, "The file to write; default: standard output.")
      ->check(not_empty());
  declare_format(arguments, *given);
  arguments
      .add_option("--newest", given->newest,
                  "triage-agent: only so many checkpoints of each run; each holds all steps "
                  "before it. Default: all.")
      ->check(whole_number(1, 1'000'000'000));
  arguments.add_flag("--leave-out-damaged", given->leave_out,
                     "Export what is intact of damaged runs; the exit status is 3 then.");
  arguments.footer(
      "Example: triage checkpoint export runs.db --out runs.jsonl\n"
      "         triage checkpoint export runs.db --format triage-agent --out old.db\n\n"
      "The file holds everything in clear text, and belongs to its owner only.");
  return [given] { return export_from(*given); };
}

std::function<ExitStatus()> checkpoint_import(CLI::App& arguments) {
  auto given = std::make_shared<CheckpointTransferArguments>();
  declare_store(arguments, given->where);
  arguments
      .add_option("--in", given->file,
                  "The file that `checkpoint export` wrote; or triage-agent's SQLite file or "
                  "redis://HOST.")
      ->required()
      ->check(not_empty());
  declare_format(arguments, *given);
  arguments.add_flag(
      "--leave-same", given->leave_same,
      "Leave runs that are there already with the same records; they get only what they "
      "lack.");
  arguments.add_flag(
      "--leave-out-damaged", given->leave_out,
      "triage-agent: leave out checkpoints that cannot be read; the exit status is 4 "
      "then.");
  arguments
      .add_option("--agent", given->agent,
                  "triage-agent: the agent's name that the runs get. Default: triage-agent.")
      ->check(not_empty());
  arguments
      .add_option("--task", given->task,
                  "triage-agent: the task that the runs get, which that library does not "
                  "keep; without it they can be branched from, not resumed.")
      ->check(not_empty());
  arguments.footer(
      "Example: triage checkpoint import --store redis://localhost --in runs.jsonl\n"
      "         triage checkpoint import runs.db --format triage-agent --in old.db\n\n"
      "A file that is cut off or changed is refused, and nothing of it is written.");
  return [given] { return import_into(*given); };
}

}  // namespace triage::inline v0_1::cli
