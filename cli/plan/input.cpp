#include "input.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "model/hostlist.hpp"
#include "model/json.hpp"
#include "model/number.hpp"
#include "pack.hpp"
#include "schema/schema.hpp"

namespace culprit::cli {

namespace {

using nlohmann::json;

// A row for each of 100,000 ranks is about 10 MiB.
constexpr std::size_t kMostInputBytes = 64u << 20;

std::string key_of(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::size_t at = 0;
  for (;;) {
    const std::size_t comma = text.find(',', at);
    out.push_back(text.substr(at, comma == std::string::npos ? comma : comma - at));
    if (comma == std::string::npos) return out;
    at = comma + 1;
  }
}

// The whole text as a number that is one: neither NaN nor infinite.
std::optional<double> real_of(const std::string& text) {
  const auto value = whole_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// What stood there, for an error. Never a whole array: it may be nested deeper than the stack
// reaches.
std::string shown(const json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  return json_text(value, -1).substr(0, 60);
}

}  // namespace

Result<std::string> read_plan_file(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
      return usage_error("this is a folder, not a file")
          .at({path, 0})
          .hint("name the file in it, or - for standard input");
    file.open(path, std::ios::binary);
    if (!file)
      return usage_error("cannot read this file")
          .at({path, 0})
          .hint("is the name right, and may you read it? - is standard input");
  }
  std::istream& stream = path == "-" ? std::cin : file;
  std::string out;
  char block[1 << 16];
  while (stream.read(block, sizeof block) || stream.gcount() > 0) {
    out.append(block, static_cast<std::size_t>(stream.gcount()));
    if (out.size() > kMostInputBytes)
      return usage_error("the input of a plan has 64 MiB at most")
          .at({path, 0})
          .hint("is it the right file?");
  }
  if (stream.bad() || (path != "-" && !stream.eof()))
    return fail("cannot read this file")
        .at({path, 0})
        .hint("it was there, and reading it failed: look at the disk or the file system");
  return out;
}

Result<json> parse_plan_json(const std::string& text, const std::string& path,
                             const std::string& what) {
  const std::string hint = "it is " + what;
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    return usage_error("this file is empty").at({path, 0}).hint(hint);
  auto parsed = schema::parse_strict(text, path);
  if (parsed) return std::move(parsed).value();
  Error error = std::move(parsed).error();
  error.kind = ErrorKind::usage;
  if (error.help.empty()) error.help = hint;
  return error;
}

Result<PlanInput> PlanInput::read(const Arguments& arguments, std::span<const OptionSpec> table,
                                  bool may_solve) {
  const auto& words = arguments.positional();
  const bool solve = may_solve && !words.empty() && words[0] == "solve";
  const bool incident = std::ranges::any_of(
      table, [](const OptionSpec& option) { return long_name(option) == "db"; });
  if (!arguments.positional().empty() && !incident)
    return usage_error(fmt::format("this plan takes no argument '{}'", arguments.positional()[0]))
        .hint("give values as options: `culprit help plan NAME` lists them");
  // A bundle, for plans that can be told by one. A number in its place is a forgotten option.
  for (const std::string& path : solve ? std::vector<std::string>{} : words) {
    std::error_code error;
    if (path != "-" && !std::filesystem::exists(path, error))
      return usage_error(fmt::format("'{}' is neither an option nor a bundle", path))
          .hint(
              "values are options, `culprit help plan NAME` lists them; a bundle is a folder or "
              "archive of logs");
  }
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  PlanInput out;
  out.arguments_ = &arguments;
  out.table_ = table;
  out.json_ = arguments.has("json") || arguments.get("format") == "json";
  if (!arguments.has("input")) return out;
  out.path_ = arguments.get("input");
  CULPRIT_TRY(bytes, read_plan_file(out.path_));
  CULPRIT_TRY(parsed, parse_plan_json(bytes, out.path_,
                                      "an object with the options as keys: {\"machines\": 24}"));
  if (!parsed.is_object())
    return usage_error("the input of a plan is one JSON object")
        .at({out.path_, 0})
        .hint("its keys are the options: {\"machines\": 24}");
  std::vector<std::string> keys;
  for (const OptionSpec& option : table)
    if (const std::string name = long_name(option);
        name != "input" && name != "format" && name != "json" && name != "db")
      keys.push_back(key_of(name));
  for (const auto& [key, value] : parsed.items()) {
    if (contains(keys, key)) continue;
    const std::string near = schema::nearest(key, keys);
    return usage_error(fmt::format("unknown key '{}'", key))
        .at({out.path_, 0})
        .hint(near.empty() ? fmt::format("the keys are {}", fmt::join(keys, ", "))
                           : fmt::format("did you mean '{}'?", near));
  }
  out.file_ = std::make_shared<const json>(std::move(parsed));
  return out;
}

const json* PlanInput::node(const std::string& name) const {
  if (arguments_->has(name) || file_ == nullptr) return nullptr;
  const auto it = file_->find(key_of(name));
  return it == file_->end() ? nullptr : &*it;
}

bool PlanInput::has(const std::string& name) const {
  return arguments_->has(name) || node(name) != nullptr;
}

std::string PlanInput::spelled(const std::string& name) const {
  return node(name) == nullptr ? "--" + name : fmt::format("the key '{}'", key_of(name));
}

Error PlanInput::complaint(const std::string& name, const std::string& what) const {
  Error error = usage_error(fmt::format("{} {}", spelled(name), what));
  if (node(name) != nullptr) error.where = Where{path_, 0};
  // What the option means is what helps with a value that it does not take.
  for (const OptionSpec& option : table_)
    if (long_name(option) == name) error.help = fmt::format("{} is {}", spelled(name), option.help);
  return error;
}

Result<std::int64_t> PlanInput::integer(const std::string& name, std::int64_t otherwise,
                                        std::int64_t low, std::int64_t high) const {
  if (!has(name)) return otherwise;
  const std::string range = fmt::format("takes a whole number from {} to {}", low, high);
  std::int64_t value = 0;
  if (const json* n = node(name)) {
    // An unsigned number beyond int64 wraps when it is read as one.
    if (!n->is_number_integer() ||
        (n->is_number_unsigned() &&
         n->get<std::uint64_t>() >
             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())))
      return complaint(name, fmt::format("{}, not {}", range, shown(*n)));
    value = n->get<std::int64_t>();
  } else {
    const std::string text = arguments_->get(name);
    if (!parse_whole(text, value)) return complaint(name, fmt::format("{}, not '{}'", range, text));
  }
  if (value < low || value > high) return complaint(name, fmt::format("{}, not {}", range, value));
  return value;
}

Result<double> PlanInput::real(const std::string& name, double otherwise, double low,
                               double high) const {
  if (!has(name)) return otherwise;
  const std::string range = fmt::format("takes a number from {} to {}", low, high);
  double value = 0;
  if (const json* n = node(name)) {
    if (!n->is_number()) return complaint(name, fmt::format("{}, not {}", range, shown(*n)));
    value = n->get<double>();
  } else {
    const auto read = real_of(arguments_->get(name));
    if (!read) return complaint(name, fmt::format("{}, not '{}'", range, arguments_->get(name)));
    value = *read;
  }
  if (!(value >= low && value <= high))
    return complaint(name, fmt::format("{}, not {}", range, value));
  return value;
}

Result<> PlanInput::set(const std::string& name, std::int64_t& place, std::int64_t low,
                        std::int64_t high) const {
  CULPRIT_TRY(value, integer(name, place, low, high));
  place = value;
  return {};
}

Result<> PlanInput::set(const std::string& name, double& place, double low, double high) const {
  CULPRIT_TRY(value, real(name, place, low, high));
  place = value;
  return {};
}

Result<std::string> PlanInput::text(const std::string& name, const std::string& otherwise) const {
  if (const json* n = node(name)) {
    if (!n->is_string()) return complaint(name, fmt::format("takes a text, not {}", shown(*n)));
    return n->get<std::string>();
  }
  return arguments_->get(name, otherwise);
}

Result<std::vector<double>> PlanInput::reals(const std::string& name, double low, double high,
                                             std::size_t most) const {
  std::vector<double> out;
  if (!has(name)) return out;
  const std::string range = fmt::format("takes numbers from {} to {}", low, high);
  if (const json* n = node(name)) {
    if (!n->is_array())
      return complaint(name, fmt::format("is an array of numbers, not {}", shown(*n)));
    for (const json& one : *n) {
      if (!one.is_number()) return complaint(name, fmt::format("{}, not {}", range, shown(one)));
      out.push_back(one.get<double>());
      if (out.size() > most) break;
    }
  } else {
    for (const std::string& word : split(arguments_->get(name))) {
      const auto value = real_of(word);
      if (!value)
        return complaint(name, fmt::format("{} with commas between, not '{}'", range, word));
      out.push_back(*value);
    }
  }
  if (out.size() > most) return complaint(name, fmt::format("has {} numbers at most", most));
  for (const double value : out)
    if (!(value >= low && value <= high))
      return complaint(name, fmt::format("{}, not {}", range, value));
  return out;
}

Result<std::vector<std::string>> PlanInput::names(const std::string& name, std::size_t most) const {
  std::vector<std::string> out;
  if (!has(name)) return out;
  const json* n = node(name);
  if (n != nullptr && n->is_array()) {
    for (const json& one : *n) {
      if (!one.is_string()) return complaint(name, fmt::format("takes names, not {}", shown(one)));
      out.push_back(one.get<std::string>());
      if (out.size() > most) return complaint(name, fmt::format("has {} names at most", most));
    }
    return out;
  }
  if (n != nullptr && !n->is_string())
    return complaint(name, fmt::format("takes names, not {}", shown(*n)));
  Hostlist list =
      expand_hostlist(n == nullptr ? arguments_->get(name) : n->get<std::string>(), most);
  if (list.broken) return complaint(name, "is not a list of names such as a1,node[01-04]");
  if (list.capped) return complaint(name, fmt::format("has {} names at most", most));
  return std::move(list.hosts);
}

Result<std::vector<std::vector<double>>> PlanInput::table(const std::string& name,
                                                          std::span<const char* const> columns,
                                                          double low, double high,
                                                          std::size_t most) const {
  std::vector<std::vector<double>> out;
  const std::string range = fmt::format("takes numbers from {} to {}", low, high);
  if (const json* n = node(name)) {
    if (!n->is_array()) return complaint(name, "is an array of objects");
    const std::vector<std::string> keys(columns.begin(), columns.end());
    for (const json& one : *n) {
      const std::string which = fmt::format("[{}]", out.size());
      if (out.size() == most) return complaint(name, fmt::format("has {} rows at most", most));
      if (!one.is_object())
        return complaint(name, fmt::format("{} is not an object with the keys {}", which,
                                           fmt::join(keys, ", ")));
      std::vector<double> row;
      for (const std::string& key : keys) {
        const auto it = one.find(key);
        if (it == one.end())
          return complaint(name, fmt::format("{} lacks the key '{}'", which, key));
        if (!it->is_number())
          return complaint(name, fmt::format("{}.{} {}, not {}", which, key, range, shown(*it)));
        row.push_back(it->get<double>());
      }
      if (one.size() != keys.size())
        for (const auto& [key, value] : one.items())
          if (!contains(keys, key))
            return complaint(name, fmt::format("{} has the unknown key '{}'", which, key))
                .hint(fmt::format("the keys are {}", fmt::join(keys, ", ")));
      out.push_back(std::move(row));
    }
  } else {
    for (const std::string& text : arguments_->all(name)) {
      const auto words = split(text);
      if (out.size() == most)
        return complaint(name, fmt::format("is given {} times at most", most));
      if (words.size() != columns.size())
        return complaint(name, fmt::format("takes {}, not '{}'", fmt::join(columns, ","), text));
      std::vector<double> row;
      for (const std::string& word : words) {
        const auto value = real_of(word);
        if (!value) return complaint(name, fmt::format("{}, not '{}'", range, word));
        row.push_back(*value);
      }
      out.push_back(std::move(row));
    }
  }
  for (const auto& row : out)
    for (const double value : row)
      if (!(value >= low && value <= high))
        return complaint(name, fmt::format("{}, not {}", range, value));
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> PlanInput::pairs(const std::string& name,
                                                                          std::size_t most) const {
  std::vector<std::pair<std::string, std::string>> out;
  if (!has(name)) return out;
  if (const json* n = node(name)) {
    if (!n->is_object())
      return complaint(name, fmt::format("is an object of texts, not {}", shown(*n)));
    for (const auto& [key, value] : n->items()) {
      if (out.size() == most) return complaint(name, fmt::format("has {} keys at most", most));
      std::string text;
      if (value.is_array()) {
        for (const json& one : value) {
          if (!one.is_string())
            return complaint(name, fmt::format("['{}'] takes texts, not {}", key, shown(one)));
          text += (text.empty() ? "" : ",") + one.get<std::string>();
        }
      } else if (value.is_string()) {
        text = value.get<std::string>();
      } else {
        return complaint(name, fmt::format("['{}'] takes a text or an array of them, not {}", key,
                                           shown(value)));
      }
      out.emplace_back(key, std::move(text));
    }
    return out;
  }
  for (const std::string& text : arguments_->all(name)) {
    if (out.size() == most) return complaint(name, fmt::format("is given {} times at most", most));
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return complaint(name, fmt::format("takes NAME=VALUE, not '{}'", text));
    out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

}  // namespace culprit::cli
