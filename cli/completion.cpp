// Completion for shells, made from the commands and their option tables: what --help shows can be
// completed.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "command.hpp"
#include "model/contains.hpp"
#include "schema/schema.hpp"

namespace culprit::cli {

namespace {

using Words = std::vector<std::string>;

std::string letter(const OptionSpec& option) {
  const std::string_view name = option.name;
  const std::size_t comma = name.find(',');
  return comma == std::string_view::npos ? "" : std::string(name.substr(comma + 1));
}

bool repeatable(const OptionSpec& option) {
  return contains(std::string_view(option.help), "may be repeated");
}

std::vector<OptionSpec> options_of(const Command& command) {
  std::vector<OptionSpec> out(command.options.begin(), command.options.end());
  out.insert(out.end(), shared_options().begin(), shared_options().end());
  return out;
}

// Commands and their subcommands, each under a key of one word: "plan", "plan-standby".
struct Door {
  std::string key;
  const Command* command;
};

std::vector<Door> doors() {
  std::vector<Door> out;
  for (const Command* one : commands()) {
    out.push_back({std::string(one->name), one});
    for (const Command* sub : one->subcommands)
      out.push_back({fmt::format("{}-{}", one->name, last_word(sub->name)), sub});
  }
  return out;
}

// "standby|backup": the names of a command's subcommands, as a pattern of a shell.
std::string subcommand_names(const Command& command, std::string_view between) {
  Words out;
  for (const Command* one : command.subcommands) out.emplace_back(last_word(one->name));
  return fmt::format("{}", fmt::join(out, between));
}

// The words that an option takes, when they are few and known. The help names those of a format.
Words values_of(const OptionSpec& option) {
  if (option.value == nullptr) return {};
  const std::string_view value = option.value;
  if (value == "WHEN") return {"auto", "always", "never"};
  if (value == "LEVEL") return {"info", "warning", "distributed", "critical"};
  if (value != "FORMAT") return {};
  Words out;
  std::string help = option.help;
  help.resize(std::min(help.find('('), help.size()));
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = std::min(help.find_first_of(" ,", at), help.size());
    const std::string word = help.substr(at, end - at);
    if (!word.empty() && word != "or" && word != "and") out.push_back(word);
    at = end + 1;
  }
  return out;
}

enum class Place { none, anything, file, folder };

// Where an option's value is looked for when it is none of a few words.
Place place_of(const OptionSpec& option) {
  const std::string_view value = option.value == nullptr ? "" : option.value;
  if (value == "DIR") return Place::folder;
  if (value == "FILE" || value == "BUNDLE") return Place::file;
  return value.empty() ? Place::none : Place::anything;
}

// Usage is "rules list|show|check [ARGUMENT...]": what the first argument can be, and whether
// arguments are files.
struct Positional {
  Words first;
  bool files = false;
};

Positional positional_of(const Command& command) {
  Positional out;
  std::string_view usage = command.usage;
  usage.remove_prefix(std::min(usage.size(), command.name.size() + 1));
  std::string_view word = usage.substr(0, usage.find(' '));
  out.files = word == "BUNDLE..." || contains(usage, "[ARGUMENT...]");
  if (!command.subcommands.empty()) {
    for (const Command* one : command.subcommands) out.first.emplace_back(last_word(one->name));
  } else if (word == "[COMMAND]") {
    for (const Command* one : commands()) out.first.emplace_back(one->name);
  } else if (word == "[NAME...]") {
    for (const EmbeddedFile& file : embedded_schemas()) out.first.emplace_back(file.name);
  } else if (contains(word, '|')) {
    while (!word.empty()) {
      const std::size_t end = std::min(word.find('|'), word.size());
      out.first.emplace_back(word.substr(0, end));
      word.remove_prefix(std::min(word.size(), end + 1));
    }
  }
  return out;
}

// Within single quotes of a shell; fish reads backslashes there, the others do not.
std::string in_quotes(std::string_view text, bool fish = false) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += fish ? "\\'" : "'\\''";
    else if (c == '\\' && fish)
      out += "\\\\";
    else
      out += c;
  }
  return out + "'";
}

// --- bash
// -------------------------------------------------------------------------------------------------

std::string bash() {
  Words names;
  for (const Command* one : commands()) names.emplace_back(one->name);
  std::string out = fmt::format(
      "# culprit(1) completion for bash: eval \"$(culprit completion bash)\"\n"
      "_culprit() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} "
      "command=${{COMP_WORDS[1]}} words=\n"
      "  COMPREPLY=()\n"
      "  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then "
      "prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi\n"
      "  if (( COMP_CWORD == 1 )); then\n"
      "    COMPREPLY=($(compgen -W {} -- \"$cur\"))\n"
      "    return\n"
      "  fi\n"
      "  case $command in {}) ;; *) command=diagnose ;; esac  # a bare bundle\n",
      in_quotes(fmt::format("{} --help --version", fmt::join(names, " "))), fmt::join(names, "|"));
  for (const Command* one : commands())
    if (!one->subcommands.empty())
      out += fmt::format(
          "  if [[ $command == {} ]] && (( COMP_CWORD > 2 )); then\n    case ${{COMP_WORDS[2]}} in "
          "{}) command={}-${{COMP_WORDS[2]}} ;; esac\n  fi\n",
          one->name, subcommand_names(*one, "|"), one->name);
  out += "  case $command:$prev in\n";
  for (const auto& [key, one] : doors())
    for (const OptionSpec& option : options_of(*one)) {
      if (option.value == nullptr) continue;
      out += fmt::format("    {}:--{}", key, long_name(option));
      if (!letter(option).empty()) out += fmt::format("|{}:-{}", key, letter(option));
      if (const Words values = values_of(option); !values.empty())
        out += fmt::format(") words={} ;;\n", in_quotes(fmt::format("{}", fmt::join(values, " "))));
      else if (place_of(option) == Place::folder)
        out += ") compopt +o default -o dirnames 2>/dev/null; return ;;\n";
      else if (place_of(option) == Place::file)
        out += ") return ;;\n";
      else
        out += ") compopt +o default 2>/dev/null; return ;;\n";
    }
  out += "    *)\n      case $command:$cur in\n";
  for (const auto& [key, one] : doors()) {
    Words all;
    for (const OptionSpec& option : options_of(*one)) {
      all.push_back("--" + long_name(option));
      if (!letter(option).empty()) all.push_back("-" + letter(option));
    }
    out += fmt::format("        {}:-*) words={} ;;\n", key,
                       in_quotes(fmt::format("{}", fmt::join(all, " "))));
  }
  for (const auto& [key, one] : doors()) {
    const Positional positional = positional_of(*one);
    if (positional.files && positional.first.empty()) continue;
    out += fmt::format("        {}:*)", key);
    if (!positional.first.empty())
      out += fmt::format(" (( COMP_CWORD == 2 )) && words={}",
                         in_quotes(fmt::format("{}", fmt::join(positional.first, " "))));
    if (!positional.files)
      out += positional.first.empty() ? " compopt +o default 2>/dev/null"
                                      : "; compopt +o default 2>/dev/null";
    out += " ;;\n";
  }
  out +=
      "      esac ;;\n"
      "  esac\n"
      "  [[ -z $words ]] || COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "}\n"
      "complete -o default -F _culprit culprit\n";
  return out;
}

// --- zsh
// -------------------------------------------------------------------------------------------------

// Help between the brackets of an _arguments specification.
std::string zsh_help(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == '\\' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_value(const OptionSpec& option) {
  if (option.value == nullptr) return "";
  const Words values = values_of(option);
  std::string action = " ";
  if (!values.empty())
    action = fmt::format("({})", fmt::join(values, " "));
  else if (place_of(option) == Place::folder)
    action = "_files -/";
  else if (place_of(option) == Place::file)
    action = "_files";
  return fmt::format(":{}:{}", option.value, action);
}

std::string zsh() {
  std::string out =
      "#compdef culprit\n"
      "# culprit(1) completion for zsh: in a folder of $fpath as _culprit, or eval \"$(culprit "
      "completion zsh)\"\n"
      "_culprit() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a commands\n"
      "    commands=(\n";
  for (const Command* one : commands())
    out += fmt::format("      {}\n",
                       in_quotes(fmt::format("{}:{}", one->name, zsh_help(one->summary))));
  out +=
      "    )\n"
      "    _describe -t commands command commands\n"
      "    _files\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  (( CURRENT-- ))\n";
  for (const Command* one : commands())
    if (!one->subcommands.empty())
      out += fmt::format(
          "  if [[ $command == {} && CURRENT -gt 2 && $words[2] == ({}) ]]; then\n    "
          "command={}-$words[2]\n    shift words\n    (( CURRENT-- ))\n  fi\n",
          one->name, subcommand_names(*one, "|"), one->name);
  out += "  case $command in\n";
  // A bare bundle is diagnosed, so diagnose comes last and takes what is no command.
  std::vector<Door> order = doors();
  std::stable_partition(order.begin(), order.end(),
                        [](const Door& door) { return door.key != "diagnose"; });
  for (const auto& [key, one] : order) {
    out += fmt::format("    {})\n      _arguments -s", key == "diagnose" ? "*" : key);
    for (const OptionSpec& option : options_of(*one)) {
      const std::string name = "--" + long_name(option) + (option.value == nullptr ? "" : "=");
      const std::string rest = in_quotes("[" + zsh_help(option.help) + "]" + zsh_value(option));
      const std::string star = repeatable(option) ? "'*'" : "";
      if (letter(option).empty())
        out += fmt::format(" \\\n        {}{}{}", star, name, rest);
      else
        out += fmt::format(" \\\n        '(-{0} --{1})'{{-{0}{2},{3}}}{4}", letter(option),
                           long_name(option), option.value == nullptr ? "" : "+", name, rest);
    }
    const Positional positional = positional_of(*one);
    if (!positional.first.empty())
      out += fmt::format(" \\\n        '1: :({})'", fmt::join(positional.first, " "));
    if (positional.files) out += " \\\n        '*:file:_files'";
    out += " ;;\n";
  }
  out +=
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _culprit ]; then _culprit \"$@\"; else compdef _culprit culprit; "
      "fi\n";
  return out;
}

// --- fish
// -------------------------------------------------------------------------------------------------

std::string fish() {
  std::string out =
      "# culprit(1) completion for fish: culprit completion fish > "
      "~/.config/fish/completions/culprit.fish\n"
      "function __culprit_in\n"
      "    set -l words (commandline -opc)\n"
      "    test (count $words) -ge 2; and contains -- $words[2] $argv\n"
      "end\n"
      "function __culprit_sub\n"
      "    set -l words (commandline -opc)\n"
      "    test (count $words) -ge 3; and test $words[2] = $argv[1]; and test $words[3] = "
      "$argv[2]\n"
      "end\n"
      "function __culprit_first\n"
      "    test (count (commandline -opc)) -eq $argv[1]\n"
      "end\n";
  for (const Command* one : commands())
    out += fmt::format("complete -c culprit -n '__culprit_first 1' -a {} -d {}\n", one->name,
                       in_quotes(one->summary, true));
  for (const auto& [key, one] : doors()) {
    const std::size_t space = one->name.find(' ');
    const std::string in =
        space == std::string_view::npos
            ? fmt::format("complete -c culprit -n '__culprit_in {}'", one->name)
            : fmt::format("complete -c culprit -n '__culprit_sub {}'", one->name);
    for (const OptionSpec& option : options_of(*one)) {
      out += fmt::format("{} -l {}", in, long_name(option));
      if (!letter(option).empty()) out += " -s " + letter(option);
      if (const Words values = values_of(option); !values.empty())
        out += fmt::format(" -x -a {}", in_quotes(fmt::format("{}", fmt::join(values, " "))));
      else if (place_of(option) == Place::folder)
        out += " -x -a '(__fish_complete_directories (commandline -ct))'";
      else if (place_of(option) == Place::file)
        out += " -r -F";
      else if (place_of(option) == Place::anything)
        out += " -x";
      out += fmt::format(" -d {}\n", in_quotes(option.help, true));
    }
    const Positional positional = positional_of(*one);
    if (!positional.files) out += in + " -f\n";
    if (!positional.first.empty())
      out += fmt::format("complete -c culprit -n '__culprit_in {}; and __culprit_first 2' -a {}\n",
                         one->name, in_quotes(fmt::format("{}", fmt::join(positional.first, " "))));
  }
  return out;
}

struct Shell {
  const char* name;
  std::string (*script)();
};
constexpr std::array<Shell, 3> kShells{{{"bash", bash}, {"zsh", zsh}, {"fish", fish}}};

Result<Exit> run_completion(const Arguments& arguments) {
  if (arguments.positional().size() != 1)
    return usage_error("completion needs one of bash, zsh, fish")
        .hint("eval \"$(culprit completion bash)\"");
  const std::string& wanted = arguments.positional()[0];
  Words names;
  for (const Shell& shell : kShells) {
    if (shell.name == wanted) {
      print(shell.script());
      return Exit::finished;
    }
    names.emplace_back(shell.name);
  }
  const std::string near = schema::nearest(wanted, names);
  return usage_error(fmt::format("completion knows bash, zsh and fish, not '{}'", wanted))
      .hint(near.empty() ? "" : fmt::format("did you mean '{}'?", near));
}

}  // namespace

constinit const Command kCompletion{
    "completion",
    "completion of commands and options for a shell",
    "completion bash|zsh|fish",
    "  eval \"$(culprit completion bash)\"                          in ~/.bashrc\n"
    "  culprit completion zsh > ~/.zfunc/_culprit                 in a folder of $fpath\n"
    "  culprit completion fish > ~/.config/fish/completions/culprit.fish\n",
    {},
    run_completion};

}  // namespace culprit::cli
