// SPDX-License-Identifier: MIT
// triage checkpoint export and import: runs as JSON Lines, from one store to another.

#include "command.hpp"
#include "open_store.hpp"
#include "render/output.hpp"
#include "store_argument.hpp"
#include "triage/stores/interchange.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>

namespace triage::inline v0_1::cli {
namespace {

struct CheckpointTransferArguments {
  StoreArgument where{};
  std::vector<std::string> runs{};
  std::string file{};
  bool leave_out = false;
};

Error no_file(const std::string& file) {
  return {errno == ENOENT ? Errc::not_found : Errc::io,
          "file \"" + printable(file) + "\": " + std::strerror(errno)};
}

std::string said(const Interchanged& done, const char* what, const char* left_out) {
  std::string text = count(done.runs.size(), "run") + ", " +
                     count(static_cast<std::size_t>(done.records), "record") + " " + what;
  if (done.left_out > 0) text += "; " + std::to_string(done.left_out) + " " + left_out;
  return text + ".";
}

// Writes the file atomically and accessible only to its owner.
Result<Interchanged> export_to_file(CheckpointStore& store,
                                    const CheckpointTransferArguments& given) {
  const std::string part = given.file + ".part";
  const int made = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (made < 0) return no_file(part);
  ::close(made);
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  auto done = export_runs(store, given.runs, out, {.leave_out_damaged = given.leave_out});
  out.close();
  if (done && ::rename(part.c_str(), given.file.c_str()) != 0) done = no_file(given.file);
  if (!done) ::unlink(part.c_str());
  return done;
}

ExitStatus export_from(const CheckpointTransferArguments& given) {
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  const auto store = open_store(meant.value().store);
  if (!store) return report(store.error());
  const auto done = given.file.empty() ? export_runs(*store.value(), given.runs, std::cout,
                                                     {.leave_out_damaged = given.leave_out})
                                       : export_to_file(*store.value(), given);
  if (!done) return report(done.error());
  warn(said(done.value(), "exported", "damaged records left out"));
  return done.value().left_out == 0 ? ExitStatus::done : ExitStatus::corrupt;
}

ExitStatus import_into(const CheckpointTransferArguments& given) {
  const auto meant = meant_store(given.where);
  if (!meant) return report(meant.error());
  errno = 0;
  std::ifstream in(given.file, std::ios::binary);
  if (!in) return report(no_file(given.file));
  const auto store = open_store_for_runs(meant.value().store);
  if (!store) return report(store.error());
  const auto done = import_runs(*store.value(), in, {.leave_same = given.leave_out});
  if (!done) return report(done.error());
  warn(said(done.value(), "imported", "runs were there already"));
  return ExitStatus::done;
}

}  // namespace

std::function<ExitStatus()> checkpoint_export(CLI::App& arguments) {
  auto given = std::make_shared<CheckpointTransferArguments>();
  declare_store(arguments, given->where);
  arguments.add_option("--run", given->runs, "Only this run; may be given several times.");
  arguments.add_option("--out", given->file, "The file to write; default: standard output.");
  arguments.add_flag("--leave-out-damaged", given->leave_out,
                     "Export what is intact; the exit status is 3 then.");
  arguments.footer(
      "Example: triage checkpoint export runs.db --out runs.jsonl\n\n"
      "The file holds everything in clear text, and belongs to its owner only.");
  return [given] { return export_from(*given); };
}

std::function<ExitStatus()> checkpoint_import(CLI::App& arguments) {
  auto given = std::make_shared<CheckpointTransferArguments>();
  declare_store(arguments, given->where);
  arguments.add_option("--in", given->file, "The file that `checkpoint export` wrote.")->required();
  arguments.add_flag("--leave-same", given->leave_out,
                     "Leave runs alone that are there already with the same records.");
  arguments.footer(
      "Example: triage checkpoint import --store redis://localhost --in runs.jsonl\n\n"
      "A file that is cut off or changed is refused, and nothing of it is written.");
  return [given] { return import_into(*given); };
}

}  // namespace triage::inline v0_1::cli
