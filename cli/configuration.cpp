#include "configuration.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "line/trimmed.hpp"
#include "model/contains.hpp"
#include "schema/schema.hpp"

namespace culprit::cli {

namespace {

constexpr std::uintmax_t kMostBytes = 1 << 20;

// What may be set for all commands at once, and by the environment. In the section of a command its
// other options may be set, too.
constexpr std::string_view kForAll[] = {
    "color",       "fail-on",         "history", "max-depth",  "max-expansion", "max-member-bytes",
    "max-members", "max-total-bytes", "quiet",   "report-url", "rules",         "strict",
    "threads",     "timezone",        "verbose"};

struct Setting {
  std::string name, value;
  Where where;  // of an environment: the variable
};

const OptionSpec* option_of(const Command& command, std::string_view name) {
  for (const auto table : {command.options, shared_options()})
    for (const OptionSpec& option : table)
      if (long_name(option) == name) return &option;
  return nullptr;
}

bool names_path(const OptionSpec& option) {
  const std::string_view value = option.value == nullptr ? "" : option.value;
  return value == "DIR" || value == "FILE";
}

// "~/rules" is in the home folder, "rules" beside the file that says so.
std::string placed(const std::string& path, const std::filesystem::path& folder) {
  const char* home = std::getenv("HOME");
  if (path.starts_with("~/") && home != nullptr) return std::string(home) + path.substr(1);
  return path.empty() || path[0] == '/' || folder.empty() ? path : (folder / path).string();
}

Result<> apply(const Setting& setting, const OptionSpec& option, const std::string& folder,
               std::map<std::string, std::vector<std::string>>& given) {
  auto& values = given[setting.name];
  if (option.value != nullptr) {
    values.push_back(names_path(option) ? placed(setting.value, folder) : setting.value);
    return {};
  }
  constexpr std::array<std::string_view, 4> kYes{"1", "true", "yes", "on"},
      kNo{"0", "false", "no", "off"};
  if (contains(kYes, setting.value)) {
    values.emplace_back();
    return {};
  }
  if (contains(kNo, setting.value)) return {};
  return usage_error(fmt::format("{} takes yes or no, not '{}'", setting.name, setting.value))
      .at(setting.where);
}

// Of the whole file: a mistake in the section of another command is one, too.
Result<std::vector<Setting>> settings_of(const std::string& path, const Command& command) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::vector<Setting> out;
  const Command* section = nullptr;
  for (std::uint64_t number = 1; std::getline(file, text); ++number) {
    const Where here{path, number};
    const std::string_view line = line::trimmed(text);
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[' && line.back() == ']') {
      const std::string name(line::trimmed(line.substr(1, line.size() - 2)));
      section = nullptr;
      std::vector<std::string> names;
      for (const Command* one : commands()) {
        names.emplace_back(one->name);
        for (const Command* sub : one->subcommands) names.emplace_back(sub->name);
        if (one->name == name) section = one;
        for (const Command* sub : one->subcommands)
          if (sub->name == name) section = sub;
      }
      if (section == nullptr) {
        const std::string near = schema::nearest(name, names);
        return usage_error(fmt::format("there is no command '{}'", name))
            .at(here)
            .hint(near.empty() ? "a section is named like a command: [diagnose]"
                               : fmt::format("did you mean [{}]?", near));
      }
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return usage_error("this line is neither 'option = value' nor '[command]'")
          .at(here)
          .hint("threads = 4");
    const std::string name(line::trimmed(line.substr(0, equals)));
    std::vector<std::string> names;
    if (section == nullptr) {
      names.assign(std::begin(kForAll), std::end(kForAll));
    } else {
      for (const auto table : {section->options, shared_options()})
        for (const OptionSpec& option : table) names.push_back(long_name(option));
      std::erase(names, "help");
    }
    if (!contains(names, name)) {
      const std::string near = schema::nearest(name, names);
      return usage_error(section == nullptr
                             ? fmt::format("'{}' cannot be set for all commands", name)
                             : fmt::format("{} has no option '{}'", section->name, name))
          .at(here)
          .hint(near.empty() ? fmt::format("{}", fmt::join(names, ", "))
                             : fmt::format("did you mean '{}'?", near));
    }
    if (section == nullptr || section == &command)
      out.push_back({name, std::string(line::trimmed(line.substr(equals + 1))), here});
  }
  if (file.bad())
    return usage_error("cannot read this file: " + std::generic_category().message(errno))
        .at({path, 0});
  return out;
}

// CULPRIT_CONFIG, else the user's; "" when there is none.
Result<std::string> configuration_file() {
  std::error_code error;
  if (const char* named = std::getenv("CULPRIT_CONFIG"); named != nullptr) {
    if (*named != '\0' && !std::filesystem::is_regular_file(named, error))
      return usage_error("CULPRIT_CONFIG names a file that is not there")
          .at({named, 0})
          .hint("CULPRIT_CONFIG= (empty) means that there is none");
    return std::string(named);
  }
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if ((folder == nullptr || *folder == '\0') && (home == nullptr || *home == '\0'))
    return std::string();
  const std::filesystem::path base = folder != nullptr && *folder != '\0'
                                         ? std::filesystem::path(folder)
                                         : std::filesystem::path(home) / ".config";
  const std::filesystem::path path = base / "culprit" / "config";
  return std::filesystem::is_regular_file(path, error) ? path.string() : std::string();
}

std::string variable_of(std::string_view option) {
  std::string out = "CULPRIT_";
  for (const char c : option)
    out += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

}  // namespace

Result<> apply_configuration(const Command& command, Arguments& arguments) {
  std::map<std::string, std::vector<std::string>> given;
  CULPRIT_TRY(path, configuration_file());
  if (!path.empty()) {
    std::error_code error;
    if (std::filesystem::file_size(path, error) > kMostBytes)
      return usage_error("this is not a configuration: it is larger than 1 MB").at({path, 0});
    const std::string folder = std::filesystem::path(path).parent_path().string();
    CULPRIT_TRY(settings, settings_of(path, command));
    for (const Setting& setting : settings)
      if (const OptionSpec* option = option_of(command, setting.name))
        CULPRIT_CHECK(apply(setting, *option, folder, given));
  }
  for (const std::string_view name : kForAll) {
    const std::string variable = variable_of(name);
    const char* value = std::getenv(variable.c_str());
    const OptionSpec* option = option_of(command, name);
    if (value == nullptr || *value == '\0' || option == nullptr) continue;
    given.erase(std::string(name));
    CULPRIT_CHECK(apply({std::string(name), value, {variable, 0}}, *option, "", given));
  }
  for (auto& [name, values] : given)
    if (!values.empty()) arguments.otherwise(name, std::move(values));
  return {};
}

}  // namespace culprit::cli
