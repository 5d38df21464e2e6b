// Options of the commands. Each command has a table of them; parsing, help and completion are made
// from it.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.hpp"

namespace culprit::cli {

struct OptionSpec {
  const char* name;   // "db,d": long name, short letter
  const char* value;  // what it takes, for help; nullptr for a flag
  const char* help;
};

class Arguments {
 public:
  // The table of a command and the options all commands share. Errors are usage errors with a
  // suggestion.
  static Result<Arguments> parse(std::string_view command, std::span<const OptionSpec> table,
                                 const std::vector<std::string>& words);

  bool has(const std::string& name) const { return values_.count(name) > 0; }
  std::string get(const std::string& name, const std::string& otherwise = "") const;
  std::vector<std::string> all(const std::string& name) const;
  // A number with an optional binary suffix (64K, 2G, 1T); a usage error when it is none.
  Result<std::uint64_t> number(const std::string& name, std::uint64_t otherwise) const;
  const std::vector<std::string>& positional() const { return positional_; }
  // What an option is when the command line does not give it.
  void otherwise(const std::string& name, std::vector<std::string> values) {
    values_.try_emplace(name, std::move(values));
  }

 private:
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positional_;
};

// One table of options made of several.
template <std::size_t... n>
constexpr auto joined(const OptionSpec (&... parts)[n]) {
  std::array<OptionSpec, (n + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(std::begin(parts), std::end(parts), at)), ...);
  return all;
}

// "db" of "db,d".
std::string long_name(const OptionSpec& option);
std::span<const OptionSpec> shared_options();
// auto, always or never: an error (usage) when --color says something else.
Result<> check_color(const Arguments& arguments);
std::string option_help(std::span<const OptionSpec> table);

}  // namespace culprit::cli
