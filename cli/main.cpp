#include <clocale>
#include <csignal>
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "command.hpp"
#include "report/terminal.hpp"
#include "schema/schema.hpp"

namespace culprit::cli {

extern const Command kDiagnose, kIngest, kClassify, kReport, kShow, kStacks, kCollectives, kDrift, kOutliers, kChangepoints, kEfficiency, kReplay, kPlan, kRules, kFormats, kSchema, kCompletion, kVersion, kHelp;

namespace {
constexpr const Command* kCommands[] = {&kDiagnose, &kIngest, &kClassify, &kReport, &kShow, &kStacks, &kCollectives, &kDrift, &kOutliers, &kChangepoints, &kEfficiency, &kReplay, &kPlan, &kRules, &kFormats, &kSchema, &kCompletion, &kVersion, &kHelp};
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
  return usage_error(fmt::format("{} has no '{}'", command.name, word)).hint(near.empty() ? fmt::format("{}", fmt::join(names, ", ")) : fmt::format("did you mean `culprit {} {}`?", command.name, near));
}

std::string help_of(const Command& command) {
  std::string out = fmt::format("culprit {}: {}\n\nusage: culprit {}\n\n{}", command.name, command.summary, command.usage, command.text);
  if (!command.subcommands.empty()) {
    out += "\nsubcommands:\n";
    for (const Command* one : command.subcommands) out += fmt::format("  {:<11} {}\n", last_word(one->name), one->summary);
    out += fmt::format("\n`culprit help {} NAME` tells more of one.\n", command.name);
  }
  out += "\noptions:\n" + option_help(command.options) + option_help(shared_options());
  return out;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void remark(const Arguments& arguments, std::string_view text) {
  if (!arguments.has("quiet")) fmt::print(stderr, "culprit: {}\n", report::visible(text));
}

void print_error(const Error& error) {
  fmt::print(stderr, "culprit: error: {}\n", report::visible(error.what));
  if (error.where && !error.where->file.empty()) {
    if (error.where->line > 0) fmt::print(stderr, " --> {}:{}\n", report::visible(error.where->file), error.where->line);
    else fmt::print(stderr, " --> {}\n", report::visible(error.where->file));
  }
  if (!error.help.empty()) fmt::print(stderr, "  = help: {}\n", report::visible(error.help));
}

namespace {

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
    // A bare bundle just works.
    if (std::FILE* file = std::fopen(name.c_str(), "rb")) {
      std::fclose(file);
      command = &kDiagnose;
      rest = words;
    } else {
      std::vector<std::string> names;
      for (const Command* one : commands()) names.emplace_back(one->name);
      const std::string near = schema::nearest(name, names);
      print_error(usage_error(fmt::format("'{}' is neither a command nor a file", name)).hint(near.empty() ? "`culprit help` lists the commands" : fmt::format("did you mean `culprit {}`?", near)));
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
    // No error without a remedy.
    if (outcome.error().kind == ErrorKind::usage && outcome.error().help.empty()) outcome.error().help = fmt::format("`culprit help {}` tells what it takes", command->name);
    print_error(outcome.error());
    switch (outcome.error().kind) {
      case ErrorKind::usage: return static_cast<int>(Exit::usage);
      case ErrorKind::input: return static_cast<int>(Exit::input);
      case ErrorKind::internal: return static_cast<int>(Exit::internal);
    }
  }
  return static_cast<int>(*outcome);
}

}  // namespace

}  // namespace culprit::cli

int main(int argc, char** argv) {
  // Member names of archives are UTF-8 whatever the user's locale; only character types are affected.
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) std::setlocale(LC_CTYPE, "");
  std::signal(SIGPIPE, SIG_DFL);
  try {
    return culprit::cli::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    fmt::print(stderr, "culprit: internal error: {}\n  = help: this is a fault of culprit, not of your input; please report it with the command line\n", error.what());
    return static_cast<int>(culprit::cli::Exit::internal);
  }
}
