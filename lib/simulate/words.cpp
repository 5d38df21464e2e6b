// Fills templates.
#include "simulate/words.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "model/number.hpp"

namespace culprit::simulate {

namespace {

constexpr int kBuses[] = {0x1b, 0x2a, 0x3b, 0x4c, 0x9b, 0xab, 0xbb, 0xdb};
constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr const char* kDays[] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};

// "t.NAME": a time as one kind of log prints it, by the patterns of world.json. Those that end
// with Z are in UTC.
std::optional<std::string> time_word(std::string_view name, Nanoseconds time, int zone_s,
                                     Nanoseconds boot) {
  const auto& clocks = world()["clocks"];
  const auto found = clocks.find(std::string(name));
  if (found == clocks.end()) return {};
  const auto& pattern = found->get_ref<const std::string&>();
  const Nanoseconds local = time + (pattern.ends_with('Z') ? 0 : zone_s * kSecond);
  const std::int64_t days = local / kDay, rest = local % kDay, nanos = rest % kSecond;
  const CivilDate date = civil_from_days(days);
  return fmt::format(
      fmt::runtime(pattern), fmt::arg("Y", date.year), fmt::arg("M", date.month),
      fmt::arg("D", date.day), fmt::arg("h", rest / kHour), fmt::arg("m", rest / kMinute % 60),
      fmt::arg("s", rest / kSecond % 60), fmt::arg("ms", nanos / 1'000'000),
      fmt::arg("us", nanos / 1000), fmt::arg("ns", nanos),
      fmt::arg("month", kMonths[date.month - 1]), fmt::arg("day", kDays[days % 7]),
      fmt::arg("epoch_ms", time / 1'000'000),
      fmt::arg("uptime", static_cast<double>(time - boot) / 1e9),
      fmt::arg("zone", fmt::format("{}{:02}:{:02}", zone_s < 0 ? '-' : '+', std::abs(zone_s) / 3600,
                                   std::abs(zone_s) / 60 % 60)));
}

std::string hosts_of_leaf(const Cast& cast, const std::string& leaf) {
  std::string out;
  for (const Machine& host : cast.hosts)
    if (leaf.empty() || host.leaf == leaf) out += (out.empty() ? "" : ",") + host.name;
  return out;
}

std::optional<std::string> speaker_word(std::string_view name, const Cast& cast, Speaker who,
                                        Dice& dice) {
  const Machine& host = cast.hosts[static_cast<std::size_t>(who.host)];
  const int rank = who.rank < 0 ? who.host * cast.per_host : who.rank;
  const int local = rank % cast.per_host,
            agent = 21000 + who.host * 1931 % 9000 + cast.attempt * 9500;
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  if (name == "host") return host.name;
  if (name == "index") return number(who.host);
  if (name == "rank") return number(rank);
  if (name == "local") return number(local);
  if (name == "apid") return number(agent);
  if (name == "pid") return number(agent + 74 + local);
  if (name == "tid") return number(agent + 700 + local * 31 + dice.between(0, 5));
  if (name == "pci") return fmt::format("0000:{:02x}:00", kBuses[local]);
  if (name == "PCI") return fmt::format("0000:{:02X}:00", kBuses[local]);
  if (name == "busid") return fmt::format("{:x}000", kBuses[local]);
  if (name == "nicpci") return fmt::format("0000:{:02x}:00.0", kBuses[local] + 1);
  if (name == "uuid") {
    Dice id = Dice(static_cast<std::uint64_t>(cast.begin)).fork(fmt::format("gpu {}", rank));
    return fmt::format("GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", id.next() >> 32, id.next() >> 48,
                       id.next() >> 48, id.next() >> 48, id.next() >> 16);
  }
  if (name == "nic") return fmt::format("mlx5_{}", local);
  if (name == "netdev") return fmt::format("ib{}", local);
  if (name == "ip") return host.ip;
  if (name == "leaf") return host.leaf;
  if (name == "leafhosts") return hosts_of_leaf(cast, host.leaf);
  if (name == "pod")
    return fmt::format("{}-worker-{}", fill(cast, "{name}", {who}, dice), who.host);
  if (name == "tasks") {
    if (!cast.layout.value("direct", false)) return fmt::format("task {}", who.host);
    const int first = who.host * cast.per_host;
    return cast.per_host == 1 ? fmt::format("task {}", first)
                              : fmt::format("tasks {}-{}", first, first + cast.per_host - 1);
  }
  // How the failing rank of this machine ended: where the failure is everybody's, all end alike.
  const bool own = who.host == cast.guilty.host || cast.words.contains("raised") ||
                   cast.words.contains("everywhere");
  if (name == "code") return own ? fill(cast, "{exit}", {who}, dice) : "-6";
  if (name == "sig")
    return own ? fill(cast, "{signal}", {who}, dice) : "Signal 6 (SIGABRT) received by PID";
  if (name == "booted") return time_word("sec", host.boot, cast.zone_s, 0);
  return {};
}

std::optional<std::string> job_word(std::string_view name, const Cast& cast) {
  if (name == "world") return std::to_string(cast.world());
  if (name == "hosts") return std::to_string(cast.hosts.size());
  if (name == "per_host") return std::to_string(cast.per_host);
  if (name == "attempt") return std::to_string(cast.attempt);
  if (name == "master") return cast.hosts.front().name;
  if (name == "hostlist") return hosts_of_leaf(cast, "");
  if (name == "begin") return time_word("iso", cast.begin, cast.zone_s, 0);
  return {};
}

// "n:LOW:HIGH" and the like.
std::optional<std::string> drawn_word(std::string_view word, Dice& dice) {
  const auto first = word.find(':'), second = word.find(':', first + 1);
  if (first == word.npos) return {};
  const std::string_view how = word.substr(0, first);
  const std::string low(
      word.substr(first + 1, second == word.npos ? word.npos : second - first - 1));
  const std::string high(second == word.npos ? "" : word.substr(second + 1));
  if (how == "n") return std::to_string(dice.between(std::stoll(low), std::stoll(high)));
  if (how == "f") {
    const double from = std::stod(low), to = std::stod(high);
    return fmt::format("{:.2f}", from + dice.unit() * (to - from));
  }
  if (how == "hex") return fmt::format("{:016x}", dice.next()).substr(0, std::stoul(low));
  return {};
}

std::string word(const Cast& cast, std::string_view name, const Moment& moment, Dice& dice) {
  if (moment.own != nullptr)
    if (const auto own = moment.own->find(name); own != moment.own->end())
      return fill(cast, own->second, moment, dice);
  if (name.size() > 2 && name[1] == '.') {
    Moment other = moment;
    switch (name[0]) {
      case 'g': other.who = cast.guilty; return word(cast, name.substr(2), other, dice);
      case 'p': other.who = cast.peer; return word(cast, name.substr(2), other, dice);
      case 'f':
        other.who = cast.failing(moment.who.host);
        return word(cast, name.substr(2), other, dice);
      case 't':
        if (auto time = time_word(name.substr(2), moment.time, cast.zone_s,
                                  moment.boot != 0
                                      ? moment.boot
                                      : cast.hosts[static_cast<std::size_t>(moment.who.host)].boot))
          return *time;
        break;
      default: break;
    }
  }
  if (const auto drawn = drawn_word(name, dice)) return *drawn;
  const std::string_view speaker = name.substr(0, name.find(':'));
  if (const auto way = cast.words.find("speaker." + std::string(speaker));
      way != cast.words.end()) {
    std::string level(name.substr(std::min(name.size(), speaker.size() + 1)));
    const auto spelt = cast.words.find(fmt::format("level.{}.{}", speaker, level));
    const WordMap own{{"level", spelt == cast.words.end() ? level : spelt->second}};
    return fill(cast, way->second, {moment.who, moment.time, &own, moment.boot}, dice);
  }
  if (const auto job = cast.words.find(name); job != cast.words.end())
    return fill(cast, job->second, moment, dice);
  if (auto known = job_word(name, cast)) return *known;
  if (!cast.hosts.empty())
    if (auto known = speaker_word(name, cast, moment.who, dice)) return *known;
  return fmt::format("{{?{}}}", name);
}

}  // namespace

std::string fill(const Cast& cast, std::string_view text, const Moment& moment, Dice& dice) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    out += text.substr(at, open - at);
    if (text.substr(open, 2) == "{{") {
      out += '{';
      at = open + 2;
      continue;
    }
    const std::size_t close = text.find('}', open);
    if (close == text.npos) return out += text.substr(open);
    std::string_view name = text.substr(open + 1, close - open - 1);
    at = close + 1;
    const std::size_t pad = name.find_first_of("<>~");
    std::string said = word(cast, name.substr(0, pad), moment, dice);
    if (pad != name.npos) {
      const std::size_t width = whole_number<std::size_t>(name.substr(pad + 1)).value_or(0);
      const std::size_t missing = width - std::min(width, said.size());
      if (name[pad] == '<')
        said.append(missing, ' ');
      else
        said.insert(0, missing, name[pad] == '~' ? '0' : ' ');
    }
    out += said;
  }
  return out;
}

}  // namespace culprit::simulate
