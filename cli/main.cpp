#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <exception>
#include <new>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "answer.hpp"
#include "command.hpp"
#include "configuration.hpp"
#include "interrupt.hpp"
#include "model/contains.hpp"
#include "model/json.hpp"
#include "report/terminal.hpp"
#include "schema/schema.hpp"

namespace culprit::cli {

namespace {
constexpr const Command* kCommands[] = {
    &kDiagnose,   &kBatch,   &kFleet,       &kOutcome,    &kLike,     &kClaim,
    &kCompare,    &kIngest,  &kMerge,       &kClassify,   &kReport,   &kShow,
    &kExplain,    &kStacks,  &kCollectives, &kDrift,      &kOutliers, &kChangepoints,
    &kEfficiency, &kReplay,  &kRedact,      &kExport,     &kSql,      &kMcp,
    &kProve,      &kPlan,    &kCollect,     &kNext,       &kSimulate, &kScore,
    &kRules,      &kFormats, &kSchema,      &kCompletion, &kVersion,  &kHelp};
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
bool json_errors = false;  // --json, as the words say; the command may not be known yet

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return static_cast<int>(Exit::usage);
    case ErrorKind::input: return static_cast<int>(Exit::input);
    case ErrorKind::internal: break;
  }
  return static_cast<int>(Exit::internal);
}

// schemas/error-v1.json, on one line. signal: what stopped us, when that is why.
std::string error_document(const Error& error, int signal) {
  constexpr std::string_view kKinds[] = {"usage", "input", "internal"};
  nlohmann::ordered_json place;
  if (error.where && !error.where->file.empty()) {
    place = {{"file", error.where->file}};
    if (error.where->line > 0) place["line"] = error.where->line;
  }
  return json_text(
             nlohmann::ordered_json{
                 {"schema", "culprit.error/1"},
                 {"error",
                  signal != 0 ? "interrupted" : kKinds[static_cast<std::size_t>(error.kind)]},
                 {"place", std::move(place)},
                 {"reason", error.what},
                 {"help", error.help},
                 {"status", signal != 0 ? 128 + signal : status_of(error.kind)}},
             -1) +
         "\n";
}

void tell(const Error& error, int signal) {
  if (json_errors) return complain(error_document(error, signal));
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

}  // namespace

void remark(const Arguments& arguments, std::string_view text) {
  if (!arguments.has("quiet")) complain(fmt::format("culprit: {}\n", report::visible(text)));
}

void print_error(const Error& error) { tell(error, 0); }

namespace {

// Something that is there, or that can only be meant as a path. Of a word that is neither a command
// can be misspelt.
bool names_file(const std::string& word) {
  if (access(word.c_str(), F_OK) == 0 || contains(word, '/')) return true;
  return contains(word, '.');
}

bool asks_json(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i)
    if (words[i] == "--json" || words[i] == "--format=json" || words[i] == "--format=jsonl" ||
        (words[i] == "--format" && i + 1 < words.size() && words[i + 1].starts_with("json")))
      return true;
  return false;
}

// What must work whatever is configured.
bool configured(const Command& command) {
  return command.name != "help" && command.name != "version" && command.name != "completion";
}

// All that is decided before the command runs.
Result<> prepare(const Command& command, Arguments& arguments) {
  if (configured(command)) CULPRIT_CHECK(apply_configuration(command, arguments));
  CULPRIT_CHECK(check_color(arguments));
  if (arguments.get("format") == "json" || arguments.has("json")) json_errors = true;
  if (arguments.has("output")) return answer_into(arguments.get("output"));
  return {};
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) {
    const auto code = find_command("help")->run(*Arguments::parse("help", {}, {}));
    return code ? static_cast<int>(Exit::usage) : static_cast<int>(Exit::internal);
  }
  json_errors = asks_json(words);
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
      const auto named = std::ranges::find_if(words, [](const std::string& word) {
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
  if (const auto prepared = prepare(*command, *arguments); !prepared) {
    print_error(prepared.error());
    return status_of(prepared.error().kind);
  }
  auto outcome = command->run(*arguments);
  if (!outcome) {
    if (const int signal = noted_signal(); signal != 0) {
      if (!arguments->has("quiet")) tell(outcome.error(), signal);
      end_by(signal);
    }
    // No error without a remedy.
    if (outcome.error().kind == ErrorKind::internal && outcome.error().help.empty())
      outcome.error().help = kOurFault;
    if (outcome.error().kind == ErrorKind::usage && outcome.error().help.empty())
      outcome.error().help = fmt::format("`culprit help {}` tells what it takes", command->name);
    print_error(outcome.error());
    return status_of(outcome.error().kind);
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

// Told without memory.
void say_out_of_memory() noexcept {
  constexpr std::string_view kText =
      "culprit: error: out of memory\n"
      "  = help: give it more memory, or a part of the bundle\n";
  constexpr std::string_view kJson =
      R"({"schema":"culprit.error/1","error":"internal","place":null,"reason":"out of memory",)"
      R"("help":"give it more memory, or a part of the bundle","status":70})"
      "\n";
  const std::string_view text = json_errors ? kJson : kText;
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  drop_answer();
}

// Without unwinding: RE2 corrupts memory when an exception goes through its frames, and glibc needs
// memory to take one through its own. A database is as after a kill: the member that is open is
// undone.
void end_without_memory() {
  say_out_of_memory();
  _exit(static_cast<int>(Exit::internal));
}

// A part of an answer must not pass for the whole.
int checked(int status) {
  const bool failed_before = status == static_cast<int>(Exit::usage) ||
                             status == static_cast<int>(Exit::input) ||
                             status == static_cast<int>(Exit::internal);
  const auto finished = finish_answer(!failed_before);
  if (finished) return status;
  print_error(finished.error());
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
  std::set_new_handler(culprit::cli::end_without_memory);
  try {
    const int status =
        culprit::cli::checked(culprit::cli::run(std::vector<std::string>(argv + 1, argv + argc)));
#ifdef CULPRIT_SANITIZE  // looks for leaks at the end
    return status;
#else
    // Tables are not freed, which takes a twentieth of a short run. Everything is written by now.
    std::quick_exit(status);
#endif
  } catch (const std::bad_alloc&) {
    culprit::cli::say_out_of_memory();
    return static_cast<int>(culprit::cli::Exit::internal);
  } catch (const std::exception& error) {
    culprit::cli::print_error(
        culprit::internal_error(std::string("internal error: ") + error.what())
            .hint(culprit::cli::kOurFault));
  }
  culprit::cli::drop_answer();
  return static_cast<int>(culprit::cli::Exit::internal);
}
