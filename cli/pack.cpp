#include "pack.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "rules/check.hpp"
#include "schema/schema.hpp"

namespace culprit::cli {

Result<rules::RulePack> load_pack(const Arguments& arguments, bool refuse_failing) {
  if (arguments.all("rules").empty()) return rules::RulePack::built_in();
  auto loaded = rules::load_rules(arguments.all("rules"));
  if (!loaded) {
    loaded.error().kind =
        ErrorKind::usage;  // a rule that cannot be used is a matter of configuration
    return std::move(loaded).error();
  }
  auto list = std::move(loaded).value();
  auto pack = rules::RulePack::compile(std::move(list));
  if (!pack) {
    pack.error().kind = ErrorKind::usage;
    return std::move(pack).error();
  }
  if (refuse_failing && !arguments.all("rules").empty()) {
    std::vector<std::string> files;
    for (const auto& rule : pack->rules())
      if (rule.file.rfind("rules/", 0) != 0) files.push_back(rule.file);
    if (!files.empty())
      if (const auto failures = rules::check_samples(*pack, files); !failures.empty()) {
        const auto& first = failures.front();
        return usage_error(fmt::format("{} of '{}' {}: {}", first.key, first.rule, first.reason,
                                       first.line))
            .at({first.file, 0})
            .hint("`culprit rules check --rules DIR` shows every failing sample");
      }
  }
  return pack;
}

Result<> check_format(const Arguments& arguments, std::span<const std::string_view> formats) {
  if (!arguments.has("format")) return {};
  const std::string format = arguments.get("format");
  if (contains(formats, format)) return {};
  std::vector<std::string> names(formats.begin(), formats.end());
  const std::string near = schema::nearest(format, names);
  return usage_error(fmt::format("--format takes {}, not '{}'", fmt::join(names, ", "), format))
      .hint(near.empty() ? "" : fmt::format("did you mean '{}'?", near));
}

bool wants_json(const Arguments& arguments) {
  return arguments.has("json") || arguments.get("format", "text") == "json";
}

}  // namespace culprit::cli
