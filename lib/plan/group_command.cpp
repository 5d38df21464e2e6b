#include "plan/group_command.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/hostlist.hpp"
#include "model/shell.hpp"
#include "model/sort.hpp"

namespace culprit::plan {

namespace {

bool host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == ':';
}

}  // namespace

std::string folded_command(std::string_view command, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  char quote = 0;
  std::size_t begin = 0;
  const auto put = [&](std::string_view word) {
    if (used > 0 && used + 1 + word.size() + 2 > width) {
      out += " \\\n" + std::string(indent, ' ');
      used = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\n') return std::string(command);  // it has lines of its own
    if (c == '\\' && quote != '\'') {
      ++i;
      continue;
    }
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '\'' || c == '"') quote = c;
    if (c != ' ') continue;
    put(command.substr(begin, i - begin));
    begin = i + 1;
  }
  put(command.substr(begin));
  return out;
}

Result<std::string> fill_words(std::string_view text,
                               const std::map<std::string_view, std::string>& values) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool doubled = at + 1 < text.size() && text[at + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      out += c;
      ++at;
      continue;
    }
    if (c == '$' && at + 1 < text.size() && text[at + 1] == '{') {
      const std::size_t end = std::min(text.find('}', at), text.size() - 1);
      out += text.substr(at, end - at + 1);
      at = end;
      continue;
    }
    if (c == '}')
      return usage_error("the command template has a } without its {").hint("}} is a brace");
    if (c != '{') {
      out += c;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos)
      return usage_error("the command template has a { without its }").hint("{{ is a brace");
    const auto it = values.find(text.substr(at + 1, end - at - 1));
    if (it == values.end()) {
      std::vector<std::string_view> names;
      for (const auto& [name, value] : values) names.push_back(name);
      return usage_error(fmt::format("the command template has no value for {}",
                                     text.substr(at, std::min<std::size_t>(end - at + 1, 60))))
          .hint(fmt::format("it knows {{{}}}; {{{{ is a brace", fmt::join(names, "} {")));
    }
    out += it->second;
    at = end;
  }
  return out;
}

Result<std::string> fill_template(std::string_view text, const GroupRun& run) {
  const std::map<std::string_view, std::string> values{
      {"hosts", shell_quoted(fmt::format("{}", fmt::join(run.hosts, ",")))},
      {"hostlist", shell_quoted(fold_hostlist(run.hosts))},
      {"first", run.hosts.empty() ? "''" : shell_quoted(run.hosts.front())},
      {"nnodes", std::to_string(run.hosts.size())},
      {"nproc", std::to_string(run.nproc)},
      {"world", std::to_string(static_cast<std::int64_t>(run.hosts.size()) * run.nproc)},
      {"tp", std::to_string(run.tp)},
      {"pp", std::to_string(run.pp)},
      {"dp", std::to_string(run.dp)},
      {"tag", shell_quoted(run.tag)},
  };
  return fill_words(text, values);
}

Result<> check_hosts(std::span<const std::string> hosts) {
  std::set<std::string> seen;
  for (const std::string& host : hosts) {
    if (host.empty() || host.front() == '-')
      return usage_error(fmt::format("'{}' is not a host name", host));
    if (!seen.insert(host).second) return usage_error(fmt::format("host {} is named twice", host));
  }
  return {};
}

Result<std::string> slurm_script(std::string_view text, std::span<const GroupRun> runs,
                                 std::int64_t repeats, double minutes) {
  std::vector<std::string> all;
  for (const GroupRun& run : runs)
    for (const std::string& host : run.hosts) {
      if (host.empty() || host.front() == '-' || !std::ranges::all_of(host, host_character))
        return usage_error(fmt::format("'{}' is not a host name that Slurm accepts", host))
            .hint("letters, digits, - _ . and :");
      all.push_back(host);
    }
  sort_unique(all);
  std::set<std::pair<int, int>> waves;
  for (const GroupRun& run : runs) waves.emplace(run.phase, run.wave);

  // Twice the time that the replays take, for start and end.
  const double wanted =
      std::ceil(2 * minutes * static_cast<double>(repeats) * static_cast<double>(waves.size()));
  std::string out = fmt::format(
      "#!/bin/bash\n#SBATCH --job-name=replay\n#SBATCH --nodes={}\n#SBATCH --nodelist={}\n#SBATCH "
      "--exclusive\n#SBATCH --time={:.0f}\n",
      all.size(), fold_hostlist(all), std::max(1.0, std::min(wanted, 525600.0)));
  out +=
      "#\n# A group fails when its command does. One that never started says nothing of its hosts: "
      "strike it from the\n# outcomes. Then: culprit replay solve --plan plan.json --outcomes "
      "\"$outcomes\"\n"
      "set -u\n"
      "outcomes=${OUTCOMES:-replay-outcomes.txt}\n"
      "replay() {  # TAG COMMAND\n"
      "  if bash -c \"$2\" >\"replay-$1.$turn.log\" 2>&1; then echo \"$1=pass\"; else echo "
      "\"$1=fail\"; fi >>\"$outcomes\"\n"
      "}\n";
  for (const auto& [phase, wave] : waves) {
    out += fmt::format(
        "\n# phase {}{}\nfor turn in $(seq {}); do\n", phase,
        wave == 0 ? ""
                  : fmt::format(", wave {}: machines that the groups before have, too", wave + 1),
        repeats);
    for (const GroupRun& run : runs) {
      if (run.phase != phase || run.wave != wave) continue;
      CULPRIT_TRY(command, fill_template(text, run));
      out += fmt::format("  replay {} {} &\n", shell_quoted(run.tag), shell_quoted(command));
    }
    out += "  wait\ndone\n";
  }
  return out;
}

}  // namespace culprit::plan
