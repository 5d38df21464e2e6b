#include "collect/script.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/contains.hpp"
#include "model/shell.hpp"
#include "redact/pseudonyms.hpp"
#include "schema/embedded.hpp"
#include "schema/schema.hpp"

namespace culprit {
std::span<const EmbeddedFile> embedded_collectors();  // the shell files of this folder
}

namespace culprit::collect {

namespace {

constexpr std::size_t kWidth = 98;
constexpr std::size_t kMostName = 253;
constexpr int kSpareSeconds = 30;  // to reach a host, beyond the time of what runs there
constexpr const char* kHostBytes = "4000000000";

bool lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool letter_or_digit(char c) { return lower_or_digit(c) || (c >= 'A' && c <= 'Z'); }

bool kubernetes_name(std::string_view text) {
  return !text.empty() && text.size() <= kMostName && lower_or_digit(text.front()) &&
         lower_or_digit(text.back()) && std::ranges::all_of(text, [](char c) {
           return lower_or_digit(c) || c == '-' || c == '.';
         });
}

// A comment over several lines; no byte of the text can end it.
std::string comment(std::string_view text, std::string_view first = "# ",
                    std::string_view later = "#   ") {
  std::string out, line(first);
  const auto put = [&](std::string_view word) {
    if (line.size() + word.size() > kWidth && line.size() > later.size()) {
      out += line + "\n";
      line = later;
    }
    if (line.back() != ' ') line += ' ';
    line += word;
  };
  std::string word;
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '\t') {
      word += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    } else if (!word.empty()) {
      put(word);
      word.clear();
    }
  }
  if (!word.empty()) put(word);
  return out + line + "\n";
}

std::string embedded_script(std::string_view name) {
  for (const EmbeddedFile& file : embedded_collectors())
    if (name == file.name) return std::string(file.text());
  return {};
}

void replace_all(std::string& text, std::string_view mark, std::string_view by) {
  for (std::size_t at = text.find(mark); at != std::string::npos;
       at = text.find(mark, at + by.size()))
    text.replace(at, mark.size(), by);
}

// A word of any case, as a regular expression of sed; "api_key" is "api-key", too.
std::string any_case(std::string_view word) {
  std::string out;
  for (const char c : word)
    if (c == '_')
      out += "[_-]?";
    else
      out +=
          fmt::format("[{}{}]", static_cast<char>(std::toupper(static_cast<unsigned char>(c))), c);
  return out;
}

// Names of secrets, those of lib/redact. Where a longer word is harmless ("tokens"), no letter may
// follow. It has three groups.
std::string secret_names() {
  std::vector<std::string> open, closed;
  for (const std::string_view word : redact::secret_words()) {
    const auto harmless = redact::harmless_words();
    const bool longer =
        std::ranges::any_of(harmless, [&](std::string_view one) { return one.starts_with(word); });
    (longer ? closed : open).push_back(any_case(word));
  }
  return fmt::format("[A-Za-z0-9_.-]*(({})[A-Za-z0-9_.-]*|({})([_.0-9-][A-Za-z0-9_.-]*)?)",
                     fmt::join(open, "|"), fmt::join(closed, "|"));
}

const Tier& tier_named(std::string_view name) {
  return *std::ranges::find(table().tiers, name, &Tier::name);
}

const PlaceOfJob* place_named(std::string_view name) {
  for (const PlaceOfJob& place : table().places)
    if (place.name == name) return &place;
  return nullptr;
}

// How the script calls it: "observe dmesg.txt 10 16000000 root '...'".
std::string call(const Observation& o) {
  const char* verb = o.each == Each::rank   ? "each_rank"
                     : o.each == Each::host ? "each_host"
                     : o.each == Each::file ? "fetch"
                                            : "observe";
  const std::string how = o.root && o.mask ? "root,mask" : o.root ? "root" : o.mask ? "mask" : "-";
  const std::string call =
      fmt::format("{} {} {} {}000000 {} ", verb, o.file, o.seconds, o.megabytes, how);
  const bool plain = o.command.find_first_of("'\n") == std::string::npos &&
                     call.size() + o.command.size() < kWidth;
  return call +
         (plain ? fmt::format("'{}'\n", o.command) : fmt::format("<<'END'\n{}\nEND\n", o.command));
}

class Script {
 public:
  explicit Script(const Request& request) : request_(request), place_(place_named(request.place)) {}

  std::string text() const {
    std::string out = embedded_script("collector.sh");
    const std::string on_job = observations_of_job();
    replace_all(out, "@HEADER@\n", header());
    replace_all(out, "@AT_ONCE@", request_.place == "kubernetes" ? "16" : "64");
    replace_all(out, "@SETTINGS@\n", settings());
    replace_all(out, "@REACH@", way().reach);
    replace_all(out, "@LIST@", list());
    replace_all(out, "@JOB@\n", on_job.empty() ? "" : "collect_job &\n");
    replace_all(out, "@HOST@\n", host_script(on_job));
    return out;
  }

 private:
  const Way& way() const {
    const std::string& name = request_.via.empty() ? place_->ways.front() : request_.via;
    return *std::ranges::find(table().ways, name, &Way::name);
  }
  std::string list() const {
    return request_.hosts.empty() ? place_->hosts
                                  : fmt::format("echo {}", fmt::join(request_.hosts, " \\\n    "));
  }
  // Of the job, for files and the manifest.
  std::string name() const {
    std::string out = request_.job.empty() ? request_.place : request_.job;
    std::ranges::replace(out, '+', '-');
    return out;
  }
  // Its own tier, and those before.
  std::vector<std::string> tiers() const {
    std::vector<std::string> out;
    for (const Tier& tier : table().tiers) {
      out.push_back(tier.name);
      if (tier.name == request_.tier) break;
    }
    return out;
  }
  bool of_tier(const Observation& o) const {
    const auto all = tiers();
    return contains(all, o.tier);
  }
  int seconds() const {
    const std::string& last = request_.wishes.empty() ? request_.tier : table().tiers.back().name;
    return tier_named(last).seconds;
  }
  bool applies(const Observation& o) const { return collect::applies(o, request_.place); }

  std::string header() const {
    const std::string of =
        request_.place == "slurm"        ? "Slurm job " + request_.job
        : request_.place == "kubernetes" ? "job " + request_.name_space + "/" + request_.job
        : request_.place == "hosts"      ? fmt::format("{} hosts", request_.hosts.size())
                                         : "this host";
    const std::string what =
        request_.wishes.empty() ? fmt::format("{}", fmt::join(tiers(), " and "))
                                : "what an open verdict asks for, with what each result would mean";
    return comment(fmt::format("Collects a bundle for culprit of {}: {}.", of, what)) +
           comment("Made by `culprit collect`, which runs nothing itself.");
  }

  std::string settings() const {
    const auto all = request_.wishes.empty() ? tiers() : std::vector<std::string>{"verdict"};
    return fmt::format("{} job_id={}\ntiers='{}' ordered={}\nhost_seconds={} host_bytes={}\n",
                       job(), request_.place == "slurm" ? request_.job : "''", fmt::join(all, " "),
                       place_->ordered && request_.wishes.empty() ? "yes" : "''",
                       seconds() + kSpareSeconds, kHostBytes);
  }
  std::string job() const {
    std::string out = "name=" + name();
    if (!request_.job.empty()) out += " job=" + request_.job;
    if (!request_.name_space.empty()) out += " namespace=" + request_.name_space;
    return out;
  }

  static std::string explained(const Observation& o, bool with_means) {
    std::string out = "\n" + comment(o.answers);
    if (with_means)
      for (const std::string& one : o.means) out += comment(one, "# - ");
    return out + call(o);
  }

  std::string observations_of_job() const {
    std::string out;
    for (const Observation& o : table().observations)
      if (o.on_job && applies(o) && (request_.wishes.empty() ? of_tier(o) : wished(o)))
        out += explained(o, !request_.wishes.empty());
    return out;
  }

  bool wished(const Observation& o) const {
    return std::ranges::any_of(request_.wishes,
                               [&](const Wish& wish) { return contains(o.sources, wish.source); });
  }

  // Stacks first, for a job that hangs may be killed any moment; then what does not change.
  static std::string in_order(const std::vector<const Observation*>& all, bool with_means) {
    std::string twice, first, others;
    for (const Observation* o : all) {
      std::string& out = o->twice ? twice : tier_named(o->tier).urgent ? first : others;
      out += explained(*o, with_means);
    }
    if (!twice.empty())
      twice = "\nfor at in snapshot-1/ snapshot-2/; do" + twice +
              "[ $at = snapshot-2/ ] || sleep 10\ndone\nat=\n";
    return twice + first + others;
  }

  std::string observations_of_host() const {
    std::vector<const Observation*> chosen;
    for (const Observation& o : table().observations)
      if (!o.on_job && applies(o) && (request_.wishes.empty() ? of_tier(o) : o.always))
        chosen.push_back(&o);
    std::string out = in_order(chosen, false);
    std::size_t number = 0;
    std::set<const Observation*> asked;  // by a wish for all hosts
    for (const Wish& wish : request_.wishes) {
      chosen.clear();
      for (const Observation* o : observations_of(wish.source, request_.place))
        if (!o->on_job && !o->always && asked.count(o) == 0) chosen.push_back(o);
      out += "\n" + comment(fmt::format("{}. The verdict asks for: {}", ++number, wish.text));
      if (chosen.empty()) continue;
      const bool some = !wish.hosts.empty() && request_.place != "kubernetes";
      if (some) out += fmt::format("case $host in '{}')\n", fmt::join(wish.hosts, "' | '"));
      out += in_order(chosen, true);
      if (some) out += ";; esac\n";
      if (!some) asked.insert(chosen.begin(), chosen.end());
    }
    return out;
  }

  std::string host_script(const std::string& on_job) const {
    std::string out = embedded_script("host.sh");
    replace_all(out, "@SETTINGS@",
                fmt::format("job={} namespace={} budget={}", shell_quoted(request_.job),
                            shell_quoted(request_.name_space), seconds()));
    replace_all(out, "@SECRET@", secret_names());
    replace_all(out, "@PREFIXES@", fmt::format("{}", fmt::join(redact::secret_prefixes(), "|")));
    if (!on_job.empty())
      out += "\nif [ $what = job ]; then\nerrors=scheduler/collect-errors.txt\nmkdir scheduler\n" +
             on_job + "\nhead -c 1024 /dev/zero >&3\nexit\nfi\n";
    return out + embedded_script("ranks.sh") + observations_of_host() +
           "\necho \"$first $(date +%s)\" >clock.txt\nsend clock.txt\n" +
           "head -c 1024 /dev/zero >&3 # the end of the tar\n";
  }

  const Request& request_;
  const PlaceOfJob* place_;
};

Result<> check(const Request& r, const PlaceOfJob& place) {
  if (r.place == "slurm" && !slurm_job(r.job))
    return usage_error(fmt::format("'{}' is not the number of a Slurm job", r.job))
        .hint("such as 41207, 41207_3 or 41207+1");
  if (r.place == "kubernetes" && (!kubernetes_name(r.name_space) || !kubernetes_name(r.job)))
    return usage_error(fmt::format("'{}/{}' is not NAMESPACE/JOB", r.name_space, r.job))
        .hint("lower-case letters, digits, - and .");
  if (r.place == "hosts" && r.hosts.empty()) return usage_error("there are no hosts");
  std::vector<std::string> all = r.hosts;
  for (const Wish& wish : r.wishes) all.insert(all.end(), wish.hosts.begin(), wish.hosts.end());
  for (const std::string& host : all)
    if (!host_name(host))
      return usage_error(fmt::format("'{}' is not a host name", host))
          .hint("letters, digits, - _ and ., a letter or digit first");
  const auto& ways = place.ways;
  if (!r.via.empty() && !contains(ways, r.via)) {
    const std::string near = schema::nearest(r.via, ways);
    return usage_error(fmt::format("'{}' is not a way to these hosts", r.via))
        .hint(near.empty() ? fmt::format("{}", fmt::join(ways, ", "))
                           : fmt::format("did you mean '{}'?", near));
  }
  return {};
}

}  // namespace

bool host_name(std::string_view text) {
  return !text.empty() && text.size() <= kMostName && letter_or_digit(text.front()) &&
         std::ranges::all_of(
             text, [](char c) { return letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

bool slurm_job(std::string_view text) {
  std::size_t digits = 0, marks = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      ++digits;
    } else if ((c == '_' || c == '+') && digits > 0) {
      ++marks;
      digits = 0;
    } else {
      return false;
    }
  }
  return digits > 0 && marks <= 1 && text.size() <= 24;
}

Result<std::string> collector(const Request& request) {
  const PlaceOfJob* place = place_named(request.place);
  if (place == nullptr) return usage_error(fmt::format("there is no place '{}'", request.place));
  CULPRIT_CHECK(check(request, *place));
  return Script(request).text();
}

}  // namespace culprit::collect
