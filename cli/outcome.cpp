// outcome CARDS ID confirmed|cleared|other: what was found after an incident, a line behind its
// card.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "batch/entry.hpp"
#include "cards.hpp"
#include "command.hpp"
#include "fleet_options.hpp"
#include "model/json.hpp"
#include "report/fields.hpp"
#include "schema/schema.hpp"

namespace culprit::cli {

namespace {

constexpr OptionSpec kOutcomeOptions[] = {
    {"cause", "TEXT", "what was at fault: leaf-3, \"PSU of gpu-07\""},
    {"by", "NAME", "who found it, or what: a person, a ticket, a field diagnostic"},
    {"time", "TIME", "when it was found (default: now); the last outcome of a card counts"},
};
constexpr std::size_t kMostWords = 400;  // bytes of a cause or name

// Ids that begin alike, or have two digits swapped or wrong.
std::string near_ids(const fleet::Cards& cards, const std::string& wanted) {
  constexpr std::size_t kMost = 3;
  std::vector<std::pair<std::size_t, std::uint64_t>> near;  // places that differ
  for (const fleet::CardRow& row : cards.rows()) {
    const std::string id = fleet::card_id(row.id);
    std::size_t differ = 0;
    for (std::size_t i = 0; i < id.size(); ++i) differ += i >= wanted.size() || wanted[i] != id[i];
    if (differ <= 2 || (wanted.size() >= 3 && id.starts_with(wanted)))
      near.emplace_back(differ, row.id);
  }
  std::ranges::sort(near);
  std::string out;
  for (std::size_t i = 0; i < std::min(kMost, near.size()); ++i) {
    const auto card = parse_json(cards.find(near[i].second)->text);
    out += fmt::format("{}{} ({})", i == 0 ? "" : ", ", fleet::card_id(near[i].second),
                       report::text(card, "line"));
  }
  return out;
}

// One write to the end of the file: who else writes there is not overwritten.
Result<> append(const std::string& path, std::string line, bool ended) {
  if (!ended) line.insert(0, "\n");
  line += "\n";
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const bool written =
      fd >= 0 && write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int reason = errno;
  if ((fd >= 0 && close(fd) != 0) || !written)
    return fail(fmt::format("cannot write to this file: {}", std::strerror(reason)))
        .at({path, 0})
        .hint("is it writable, the disk full?");
  return {};
}

Result<Exit> run_outcome(const Arguments& arguments) {
  const auto& words = arguments.positional();
  if (words.size() != 3)
    return usage_error("outcome takes a file of cards, an id, and what was found")
        .hint("culprit outcome cards.jsonl 795a8276a2a37418 confirmed --cause leaf-3");
  const auto found = fleet::found_named(words[2]);
  if (!found) {
    const std::string near = schema::nearest(words[2], {"confirmed", "cleared", "other"});
    return usage_error(fmt::format("'{}' is no outcome", words[2]))
        .hint(near.empty() ? "confirmed, cleared or other" : "did you mean " + near + "?");
  }
  CULPRIT_TRY(text, card_text(words[0]));
  const bool ended = text.empty() || text.back() == '\n';
  CULPRIT_TRY(cards, fleet::Cards::read(std::move(text), words[0], reading_threads()));
  const auto id = fleet::card_id(words[1]);
  const fleet::CardRow* row = id ? cards.find(*id) : nullptr;
  if (row == nullptr) {
    const std::string near = near_ids(cards, words[1]);
    return fail(fmt::format("no card has the id '{}'", words[1]))
        .at({words[0], 0})
        .hint(near.empty() ? "`culprit export card` prints an id behind \"id\"; its card has to be "
                             "in the file first"
                           : "near ones: " + near);
  }
  CULPRIT_TRY(time, time_option(arguments, "time"));
  const Nanoseconds now = std::chrono::duration_cast<std::chrono::seconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count() *
                          kSecond;
  const auto known = cards.outcomes().find(*id);
  const fleet::CardOutcome* before = known == cards.outcomes().end() ? nullptr : &known->second;
  // What is written down last counts, also within one second and behind a clock that is ahead.
  const Nanoseconds next = before == nullptr ? now : std::max(now, before->time + kSecond);
  const auto card = parse_json(row->text);
  const fleet::CardOutcome outcome{*id,
                                   *found,
                                   arguments.get("cause").substr(0, kMostWords),
                                   arguments.get("by").substr(0, kMostWords),
                                   time.value_or(next),
                                   report::text(card, "action"),
                                   report::text(card, "kind"),
                                   report::text(card, "sureness")};
  CULPRIT_CHECK(append(words[0], fleet::to_line(outcome), ended));
  const bool counts = before == nullptr || before->time <= outcome.time;
  if (!counts)
    remark(arguments, fmt::format("a later outcome of this card counts: {}, {}",
                                  fleet::name(before->found), iso_utc(before->time)));
  const bool reopens = counts && before != nullptr && before->found == fleet::Found::confirmed &&
                       *found != fleet::Found::confirmed;
  print(fmt::format("{} {}: {}{}\n", words[1], report::text(card, "line"), words[2],
                    reopens ? fmt::format(" (reopened: it was confirmed, {})",
                                          iso_utc(before->time).substr(0, 10))
                            : ""));
  return Exit::finished;
}

}  // namespace

unsigned reading_threads() { return std::clamp(std::thread::hardware_concurrency(), 1u, 8u); }

Result<std::string> card_text(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{1} << 32;
  auto text = batch::read_file(path, kMost);
  if (!text) return std::move(text.error()).hint("`culprit export card` makes a file of cards");
  return std::move(text).value();
}

Result<fleet::Cards> read_cards(const std::string& path) {
  CULPRIT_TRY(text, card_text(path));
  return fleet::Cards::read(std::move(text), path, reading_threads());
}

constinit const Command kOutcome{
    "outcome",
    "what was found after an incident, behind its card",
    "outcome CARDS ID confirmed|cleared|other [options]",
    "  culprit export card report/incident.db >> cards.jsonl\n"
    "  culprit outcome cards.jsonl 795a8276a2a37418 confirmed --cause leaf-3 --by OPS-1234\n"
    "  culprit fleet --cards cards.jsonl\n\n"
    "  confirmed: the verdict was right. cleared: what it accused was not at fault. other: "
    "something "
    "else was\n"
    "  found. A line is added and none is changed; `sort -u` merges files of cards.\n",
    kOutcomeOptions,
    run_outcome};

}  // namespace culprit::cli
