// Draws the cast of an incident.
#include "simulate/cast.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "simulate/words.hpp"

namespace culprit::simulate {

namespace {

using nlohmann::json;

constexpr int kMostPerHost = 8;
constexpr Nanoseconds kFirstDay = 1'790'000'000 * kSecond;  // September 2026

Result<> choose_size(const Kind& kind, const Size& size, Dice dice, int& hosts, int& per_host) {
  constexpr int kUsual[] = {2, 3, 4, 4, 6, 8};
  const int least = kind.data.value("hosts", 2);
  hosts = size.hosts;
  if (hosts == 0 && size.ranks > 0) {
    hosts = std::max(least, (size.ranks + kMostPerHost - 1) / kMostPerHost);
    while (hosts < size.ranks && size.ranks % hosts != 0) ++hosts;
  }
  if (hosts == 0) hosts = std::max(least, dice.pick(kUsual));
  if (hosts < least)
    return usage_error(fmt::format("'{}' needs at least {} hosts, not {}", kind.name, least, hosts))
        .hint(fmt::format("--hosts {}, or another --kind", least));
  per_host = size.ranks == 0 ? kMostPerHost : size.ranks / hosts;
  if (size.ranks > 0 && (size.ranks % hosts != 0 || per_host < 1 || per_host > kMostPerHost))
    return usage_error(fmt::format("{} ranks do not divide among {} hosts with 1 to {} each",
                                   size.ranks, hosts, kMostPerHost))
        .hint(fmt::format("--ranks {}", hosts * kMostPerHost));
  return {};
}

void draw_machines(Cast& cast, int hosts, Dice dice) {
  const std::string names = dice.pick(world()["names"]).get<std::string>();
  const std::string leaves = dice.pick(world()["leaves"]).get<std::string>();
  const auto first = dice.between(1, 60), rack = dice.between(1, 9), net = dice.between(0, 200);
  const int per_leaf = std::max(2, hosts / 2);
  for (int i = 0; i < hosts; ++i) {
    const auto number = [&](std::int64_t n) { return std::to_string(n); };
    const WordMap own{
        {"i", number(first + i)}, {"rack", number(rack)}, {"n", number(rack + i / per_leaf)}};
    const Moment moment{{i, -1}, 0, &own};
    cast.hosts.push_back(
        {fill(cast, names, moment, dice), fmt::format("10.{}.{}.{}", 12 + rack, net, 10 + i),
         fill(cast, leaves, moment, dice),
         cast.begin - dice.between(2, 40) * kDay - dice.between(0, 86'400'000) * 1'000'000});
  }
}

void draw_times(Cast& cast, Dice dice) {
  const json pace = cast.data().value("pace", json::object());
  cast.zone_s = dice.pick(world()["zones"]).get<int>() * 60;
  cast.begin = kFirstDay + dice.between(0, 90 * 86'400'000LL) * 1'000'000;
  cast.step_s = static_cast<double>(dice.between(2200, 7900)) / 1000;
  cast.first_step = dice.between(2, 90) * 500;
  const bool never = pace.value("none", false);
  const double before = never ? 75 : static_cast<double>(dice.between(1500, 9000));
  const double after = pace.contains("factor") ? static_cast<double>(dice.between(1200, 3600)) : 0;
  cast.onset = cast.begin + static_cast<Nanoseconds>(before * 1e9);
  cast.until = never ? cast.begin : cast.onset + static_cast<Nanoseconds>(after * 1e9);
  const double steps = (before + after) / cast.step_s;
  cast.interval = std::max<std::int64_t>(1, std::llround(steps / 90 / 5) * 5);
  cast.before = cast.begin - kDay;
}

void draw_guilty(Cast& cast, Dice dice) {
  cast.guilty.rank = static_cast<int>(dice.between(0, cast.world() - 1));
  cast.guilty.host = cast.guilty.rank / cast.per_host;
  cast.peer.rank = (cast.guilty.rank + cast.per_host) % cast.world();
  cast.peer.host = cast.peer.rank / cast.per_host;
}

// Words that hold for the whole job.
void draw_words(Cast& cast, Dice dice) {
  WordMap& words = cast.words;
  for (const auto& [name, value] : world()["words"].items()) words[name] = value.get<std::string>();
  const std::uint64_t dialect = dice.next();
  for (const auto& [speaker, ways] : world()["speakers"].items())
    words["speaker." + speaker] =
        ways[(dialect >> (speaker.size() * 4)) % ways.size()].get<std::string>();
  for (const auto& [speaker, ways] : world()["levels"].items())
    for (const auto& [level, word] : ways[(dialect >> (speaker.size() * 4)) % ways.size()].items())
      words["level." + speaker + "." + level] = word.get<std::string>();
  const auto sequence = dice.between(2000, 90000);
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  words.insert({{"job", number(dice.between(100000, 990000))},
                {"name", dice.pick(world()["jobs"]).get<std::string>()},
                {"user", dice.pick(world()["users"]).get<std::string>()},
                {"seq", number(sequence)},
                {"seq_done", number(sequence - 1)},
                {"runid", fmt::format("{:08x}", dice.next() & 0xffffffff)},
                {"commid", fmt::format("{:016x}", dice.next())},
                {"batch", number(cast.world() * dice.between(2, 16))},
                {"start", number(cast.first_step)},
                {"interval", number(cast.interval)},
                {"total", "500000"}});
  if (cast.data().value("pace", json::object()).contains("factor"))  // it runs on while it is slow
    words["sacct.state"] = words["pod.status"] = "Running", words["sacct.exit"] = "0:0";
  const json own = cast.data().value("words", json::object());
  for (const auto& [name, value] : own.items()) words[name] = value.get<std::string>();
}

void draw_layout(Cast& cast, Dice dice) {
  const json& data = cast.data();
  std::vector<json> layouts, kernels;
  for (const json& layout : world()["layouts"])
    if (!data.contains("on") || layout["scheduler"] == data["on"]) layouts.push_back(layout);
  for (const json& kernel : world()["kernels"])
    if (!data.contains("mute") || !kernel.value("ring", false)) kernels.push_back(kernel);
  cast.layout = dice.pick(layouts);
  cast.progress = dice.fork("progress").pick(world()["progress"]);
  const json kernel = dice.pick(kernels);
  const bool wanted = data.value("kernel", false) || dice.chance(0.8);
  if (wanted && !data.value("bare", false)) cast.kernel = kernel;
}

}  // namespace

std::string_view Cast::scheduler() const {
  return layout["scheduler"].get_ref<const std::string&>();
}

Speaker Cast::failing(int host) const {
  if (host != guilty.host) return {host, host * per_host};
  // Who makes the others wait is not the one whose watchdog ends the job.
  if (!data().contains("recorder") || per_host == 1) return guilty;
  return {host, host * per_host + (guilty.rank + 1) % per_host};
}

std::vector<Speaker> Cast::speakers(std::string_view who) const {
  if (who == "guilty") return {guilty};
  if (who == "guilty-host") return {{guilty.host, -1}};
  if (who == "failing") return {failing(guilty.host)};
  if (who == "first") return {{0, 0}};
  if (who == "last") return {{static_cast<int>(hosts.size()) - 1, world() - 1}};
  if (who == "job") return {{0, -1}};
  std::vector<Speaker> out;
  for (int host = 0; host < static_cast<int>(hosts.size()); ++host) {
    if (who == "hosts" || (who == "other-hosts" && host != guilty.host) ||
        (who == "leaf" && hosts[host].leaf == hosts[guilty.host].leaf))
      out.push_back({host, -1});
    if (who == "firsts") out.push_back(failing(host));
  }
  const bool all = who == "ranks";
  for (int rank = 0; rank < world(); ++rank) {
    const Speaker one{rank / per_host, rank};
    if (all || (who == "others" && one != guilty) || (who == "remote" && one.host != guilty.host) ||
        (who == "guilty-ranks" && one.host == guilty.host) ||
        (who == "rest" && one != failing(one.host)) || (who == "odd" && rank % 2 == 1) ||
        (who == "even" && rank % 2 == 0))
      out.push_back(one);
  }
  return out;
}

Result<Cast> draw_cast(const Kind& kind, const Size& size, const Dice& dice) {
  Cast cast{.kind = &kind};
  int hosts = 0;
  CULPRIT_CHECK(choose_size(kind, size, dice.fork("size"), hosts, cast.per_host));
  draw_layout(cast, dice.fork("layout"));
  draw_times(cast, dice.fork("times"));
  draw_machines(cast, hosts, dice.fork("machines"));
  draw_guilty(cast, dice.fork("guilty"));
  draw_words(cast, dice.fork("words"));
  return cast;
}

Cast cast_before(const Cast& now, const Dice& dice) {
  Cast out = now;
  Dice drawn = dice.fork("kind");
  out.kind = find_kind(drawn.pick(now.data()["before"]).get<std::string>());
  draw_guilty(out, dice.fork("guilty"));
  // Longer than any kind takes to end, and than any tells of itself before it began.
  out.onset = out.until = now.begin - drawn.between(3000, 5400) * kSecond;
  out.begin = out.onset - drawn.between(1500, 9000) * kSecond;
  out.before = out.begin - kDay;
  // What the kind of `now` says in its own words does not hold for this one.
  const json theirs = now.data().value("words", json::object());
  for (const auto& [name, value] : theirs.items()) out.words.erase(name);
  for (const auto& [name, value] : world()["words"].items())
    out.words.emplace(name, value.get<std::string>());
  const json own = out.data().value("words", json::object());
  for (const auto& [name, value] : own.items()) out.words[name] = value.get<std::string>();
  out.words["commid"] = fmt::format("{:016x}", drawn.next());
  out.words["previous"] = "-previous";
  return out;
}

void go_on_from(const Cast& before, Nanoseconds last_line, Cast& now) {
  now.attempt = before.attempt + 1;
  now.before = last_line + kMinute;
  now.first_step = std::stoll(before.words.at("step_before"));
  now.words["start"] = before.words.at("step_before");
}

}  // namespace culprit::simulate
