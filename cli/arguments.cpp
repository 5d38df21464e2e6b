#include "arguments.hpp"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include "schema/schema.hpp"

namespace culprit::cli {

namespace po = boost::program_options;

namespace {

constexpr OptionSpec kShared[] = {
    {"help,h", nullptr, "show this help"},
    {"color", "WHEN", "auto, always or never (NO_COLOR is honoured)"},
    {"output", "FILE", "write the answer to this file, whole or not at all"},
    {"quiet,q", nullptr, "no progress, no remarks"},
    {"verbose,v", nullptr, "more remarks"},
};

}  // namespace

std::string long_name(const OptionSpec& option) {
  const std::string_view name = option.name;
  return std::string(name.substr(0, name.find(',')));
}

std::span<const OptionSpec> shared_options() { return kShared; }

Result<Arguments> Arguments::parse(std::string_view command, std::span<const OptionSpec> table,
                                   const std::vector<std::string>& words) {
  po::options_description description;
  std::vector<std::string> names;
  for (const auto options : {table, std::span<const OptionSpec>(kShared)})
    for (const OptionSpec& option : options) {
      names.push_back("--" + long_name(option));
      if (option.value != nullptr)
        description.add_options()(option.name, po::value<std::vector<std::string>>()->composing(),
                                  option.help);
      else
        description.add_options()(option.name,
                                  po::value<std::vector<std::string>>()->zero_tokens()->composing(),
                                  option.help);
    }
  Arguments out;
  try {
    // "-" is an argument (standard input), and names of options must be whole.
    // "-9" is one, too (`explain exit -9`): no option is a number.
    const auto negative_number = [](std::vector<std::string>& rest) {
      std::vector<po::option> found;
      const std::string& word = rest.front();
      if (word.size() < 2 || word[0] != '-' ||
          word.find_first_not_of("0123456789", 1) != std::string::npos)
        return found;
      po::option option;
      option.value = {word};
      option.original_tokens = {word};
      found.push_back(std::move(option));
      rest.erase(rest.begin());
      return found;
    };
    const auto parsed =
        po::command_line_parser(words)
            .options(description)
            .style((po::command_line_style::unix_style & ~po::command_line_style::allow_guessing))
            .extra_style_parser(negative_number)
            .run();
    for (const auto& option : parsed.options) {
      if (option.position_key >= 0 || option.string_key.empty()) {
        out.positional_.insert(out.positional_.end(), option.value.begin(), option.value.end());
        continue;
      }
      auto& values = out.values_[option.string_key];
      if (option.value.empty())
        values.emplace_back();
      else
        values.insert(values.end(), option.value.begin(), option.value.end());
    }
  } catch (const po::unknown_option& error) {
    const std::string near = schema::nearest(error.get_option_name(), names);
    return usage_error(fmt::format("{} has no option {}", command, error.get_option_name()))
        .hint(near.empty() ? fmt::format("`culprit {} --help` lists them", command)
                           : fmt::format("did you mean {}?", near));
  } catch (const po::error& error) {
    return usage_error(fmt::format("{}: {}", command, error.what()))
        .hint(fmt::format("`culprit {} --help` shows how", command));
  }
  return out;
}

Result<> check_color(const Arguments& arguments) {
  const std::string when = arguments.get("color", "auto");
  if (when == "auto" || when == "always" || when == "never") return {};
  return usage_error(fmt::format("--color takes auto, always or never, not '{}'", when));
}

std::string Arguments::get(const std::string& name, const std::string& otherwise) const {
  const auto it = values_.find(name);
  return it == values_.end() || it->second.empty() ? otherwise : it->second.back();
}

std::vector<std::string> Arguments::all(const std::string& name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? std::vector<std::string>{} : it->second;
}

Result<std::uint64_t> Arguments::number(const std::string& name, std::uint64_t otherwise) const {
  if (!has(name)) return otherwise;
  const std::string text = get(name);
  std::uint64_t value = 0;
  std::size_t at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && value < (1ULL << 56); ++at)
    value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
  unsigned shift = 0;
  if (at > 0 && at + 1 == text.size()) {
    constexpr std::string_view kSuffixes = "KMGT";
    const std::size_t i =
        kSuffixes.find(static_cast<char>(toupper(static_cast<unsigned char>(text[at]))));
    if (i != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(i) + 1);
      ++at;
    }
  }
  if (at == 0 || at != text.size() || (shift > 0 && value >= (1ULL << (63 - shift))))
    return usage_error(fmt::format("--{} takes a number such as 100 or 64M, not '{}'", name, text));
  return value << shift;
}

std::string option_help(std::span<const OptionSpec> table) {
  std::string out;
  for (const OptionSpec& option : table) {
    const std::string name = option.name;
    const std::size_t comma = name.find(',');
    std::string left = comma == std::string::npos
                           ? "    --" + name
                           : "-" + name.substr(comma + 1) + ", --" + name.substr(0, comma);
    if (option.value != nullptr) left += std::string(" ") + option.value;
    out += fmt::format("  {:<28} {}\n", left, option.help);
  }
  return out;
}

}  // namespace culprit::cli
