#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "command.hpp"
#include "interrupt.hpp"
#include "report/terminal.hpp"
#include "schema/schema.hpp"
#include "store/database.hpp"

namespace culprit::cli {

extern const Command kDiagnose, kBatch, kFleet, kCompare, kIngest, kClassify, kReport, kShow,
    kExplain, kStacks, kCollectives, kDrift, kOutliers, kChangepoints, kEfficiency, kReplay,
    kRedact, kExport, kPlan, kRules, kFormats, kSchema, kCompletion, kVersion, kHelp;

namespace {
constexpr const Command* kCommands[] = {
    &kDiagnose,   &kBatch,      &kFleet,   &kCompare,     &kIngest, &kClassify, &kReport,
    &kShow,       &kExplain,    &kStacks,  &kCollectives, &kDrift,  &kOutliers, &kChangepoints,
    &kEfficiency, &kReplay,     &kRedact,  &kExport,      &kPlan,   &kRules,    &kFormats,
    &kSchema,     &kCompletion, &kVersion, &kHelp};
}

std::span<const Command* const> commands() { return kCommands; }

const Command* find_command(std::string_view name) {
  for (const Command* command : kCommands)
    if (command->name == name) return command;
  return nullptr;
}

std::string_view last_word(std::string_view name) { return name.substr(name.rfind(' ') + 1); }

Result<const Command*> find_subcommand(const Command& command, const std::string& word) {
  std::vector<std::string> names;
  for (const Command* one : command.subcommands) {
    if (last_word(one->name) == word) return one;
    names.emplace_back(last_word(one->name));
  }
  const std::string near = schema::nearest(word, names);
  return usage_error(fmt::format("{} has no '{}'", command.name, word))
      .hint(near.empty() ? fmt::format("{}", fmt::join(names, ", "))
                         : fmt::format("did you mean `culprit {} {}`?", command.name, near));
}

std::string help_of(const Command& command) {
  std::string out = fmt::format("culprit {}: {}\n\nusage: culprit {}\n\n{}", command.name,
                                command.summary, command.usage, command.text);
  if (!command.subcommands.empty()) {
    out += "\nsubcommands:\n";
    for (const Command* one : command.subcommands)
      out += fmt::format("  {:<11} {}\n", last_word(one->name), one->summary);
    out += fmt::format("\n`culprit help {} NAME` tells more of one.\n", command.name);
  }
  out += "\noptions:\n" + option_help(command.options) + option_help(shared_options());
  return out;
}

namespace {
constexpr char kOurFault[] =
    "this is a fault of culprit, not of your input; please report it with the command line";
int output_error = 0;  // errno of the first write to stdout that failed
std::optional<Error>
    unread;  // an answer that was not printed, because rows of the database could not be read
}  // namespace

void print(std::string_view text) {
  if (output_error != 0 || unread || (unread = store::unread())) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    output_error = errno != 0 ? errno : EIO;
}

void remark(const Arguments& arguments, std::string_view text) {
  if (!arguments.has("quiet")) complain(fmt::format("culprit: {}\n", report::visible(text)));
}

void print_error(const Error& error) {
  std::string text = fmt::format("culprit: error: {}\n", report::visible(error.what));
  if (error.where && !error.where->file.empty()) {
    if (error.where->line > 0)
      text += fmt::format(" --> {}:{}\n", report::visible(error.where->file), error.where->line);
    else
      text += fmt::format(" --> {}\n", report::visible(error.where->file));
  }
  if (!error.help.empty()) text += fmt::format("  = help: {}\n", report::visible(error.help));
  complain(text);
}

namespace {

// Something that is there, or that can only be meant as a path. Of a word that is neither a command
// can be misspelt.
bool names_file(const std::string& word) {
  if (access(word.c_str(), F_OK) == 0 || word.find('/') != std::string::npos) return true;
  return word.find('.') != std::string::npos;
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) {
    const auto code = find_command("help")->run(*Arguments::parse("help", {}, {}));
    return code ? static_cast<int>(Exit::usage) : static_cast<int>(Exit::internal);
  }
  std::string name = words[0];
  std::vector<std::string> rest(words.begin() + 1, words.end());
  if (name == "--help" || name == "-h") name = "help";
  if (name == "--version" || name == "-V") name = "version";
  const Command* command = find_command(name);
  if (command == nullptr) {
    // A bare bundle just works, and so do options in front of it, or in front of a command.
    if (name.starts_with('-') || names_file(name)) {
      command = &kDiagnose;
      rest = words;
      const auto named = std::find_if(words.begin(), words.end(), [](const std::string& word) {
        return find_command(word) != nullptr && access(word.c_str(), F_OK) != 0;
      });
      if (name.starts_with('-') && name != "-" && named != words.end()) {
        command = find_command(*named);
        rest.erase(rest.begin() + (named - words.begin()));
      }
    } else {
      std::vector<std::string> names;
      for (const Command* one : commands()) names.emplace_back(one->name);
      const std::string near = schema::nearest(name, names);
      print_error(usage_error(fmt::format("'{}' is neither a command nor a file", name))
                      .hint(near.empty() ? "`culprit help` lists the commands"
                                         : fmt::format("did you mean `culprit {}`?", near)));
      return static_cast<int>(Exit::usage);
    }
  }
  if (!command->subcommands.empty() && !rest.empty() && !rest[0].starts_with('-')) {
    const auto chosen = find_subcommand(*command, rest[0]);
    if (!chosen) {
      print_error(chosen.error());
      return static_cast<int>(Exit::usage);
    }
    command = *chosen;
    rest.erase(rest.begin());
  }
  auto arguments = Arguments::parse(command->name, command->options, rest);
  if (!arguments) {
    print_error(arguments.error());
    return static_cast<int>(Exit::usage);
  }
  if (arguments->has("help")) {
    print(help_of(*command));
    return 0;
  }
  auto outcome = command->run(*arguments);
  if (!outcome) {
    if (const int signal = noted_signal(); signal != 0) {
      if (!arguments->has("quiet")) print_error(outcome.error());
      end_by(signal);
    }
    // No error without a remedy.
    if (outcome.error().kind == ErrorKind::internal && outcome.error().help.empty())
      outcome.error().help = kOurFault;
    if (outcome.error().kind == ErrorKind::usage && outcome.error().help.empty())
      outcome.error().help = fmt::format("`culprit help {}` tells what it takes", command->name);
    print_error(outcome.error());
    switch (outcome.error().kind) {
      case ErrorKind::usage: return static_cast<int>(Exit::usage);
      case ErrorKind::input: return static_cast<int>(Exit::input);
      case ErrorKind::internal: return static_cast<int>(Exit::internal);
    }
  }
  return static_cast<int>(*outcome);
}

// A descriptor that is closed would be given to the next file that is opened: a report would go
// into the database. Standard input and output are opened the wrong way round, so that whoever uses
// them is told.
void open_standard_streams() {
  for (const int fd : {0, 1, 2})
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
        open("/dev/null", fd == 0   ? O_WRONLY
                          : fd == 1 ? O_RDONLY
                                    : O_RDWR) != fd)
      _exit(static_cast<int>(Exit::internal));
}

// A part of an answer must not pass for the whole.
int checked(int status) {
  if (std::fclose(stdout) != 0 && output_error == 0) output_error = errno;
  if (unread) {
    print_error(*unread);
    return static_cast<int>(Exit::input);
  }
  if (output_error == 0 || output_error == EPIPE) return status;
  print_error(fail("cannot write the answer: " + std::generic_category().message(output_error))
                  .hint("what stands on standard output is not complete"));
  const bool failed_before = status == static_cast<int>(Exit::usage) ||
                             status == static_cast<int>(Exit::input) ||
                             status == static_cast<int>(Exit::internal);
  return failed_before ? status : static_cast<int>(Exit::input);
}

}  // namespace

}  // namespace culprit::cli

int main(int argc, char** argv) {
  // Member names of archives are UTF-8 whatever the user's locale; only character types are
  // affected.
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) std::setlocale(LC_CTYPE, "");
  culprit::cli::open_standard_streams();
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_IGN);  // `ulimit -f`: a write that fails, and is told as such
  culprit::cli::catch_signals();
  try {
    return culprit::cli::checked(
        culprit::cli::run(std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const std::bad_alloc&) {
    culprit::cli::complain(
        "culprit: error: out of memory\n  = help: give it more memory, or a part of the bundle\n");
  } catch (const std::exception& error) {
    culprit::cli::complain(std::string("culprit: internal error: ") + error.what() +
                           "\n  = help: " + culprit::cli::kOurFault + "\n");
  }
  return static_cast<int>(culprit::cli::Exit::internal);
}
