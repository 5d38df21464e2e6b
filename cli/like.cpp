// like CARDS INCIDENT: the earlier incidents that are most like this one, and what was found of
// them.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "cards.hpp"
#include "command.hpp"
#include "diagnosed.hpp"
#include "fleet/likeness.hpp"
#include "incident.hpp"
#include "model/json.hpp"
#include "model/json_cursor.hpp"
#include "pack.hpp"
#include "report/fields.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

using Json = nlohmann::ordered_json;
using fleet::CardRow;

constexpr double kSuch = 0.5;  // what both have weighs as much as what one of them has

// The incident as a card by itself: of the file when it is named by its id.
Result<fleet::Cards> card_of_incident(const Arguments& arguments, const fleet::Cards& cards) {
  const std::vector<std::string> sources(arguments.positional().begin() + 1,
                                         arguments.positional().end());
  std::error_code error;
  if (const auto id = sources.size() == 1 ? fleet::card_id(sources[0]) : std::nullopt;
      id && !std::filesystem::exists(sources[0], error)) {
    if (const CardRow* row = cards.find(*id))
      return fleet::Cards::read(std::string(row->text), arguments.positional()[0]);
    return fail(fmt::format("no card has the id '{}'", sources[0]))
        .at({arguments.positional()[0], 0})
        .hint("name a database, a report.json or a bundle, or an id of the file");
  }
  CULPRIT_TRY(document, diagnosis_of(arguments, sources));
  const auto card = fleet::card_of(report::without_ledger(document));
  if (!card)
    return fail("this is not a diagnosis that a card can be made of")
        .at({sources.empty() ? "" : sources[0], 0})
        .hint("a database with a verdict, report.json, or a bundle");
  return fleet::Cards::read(*card, "card");
}

// What the incidents that are like it came to.
struct Such {
  std::size_t count = 0, confirmed = 0, cleared = 0, other = 0, reopened = 0;
  std::string_view since;
  std::string cause;  // the most frequent of the confirmed
  std::size_t causes = 0;
};

Such such_of(const fleet::Cards& cards, std::span<const fleet::Likeness> like) {
  Such out;
  std::map<std::string, std::size_t> causes;
  for (const fleet::Likeness& l : like) {
    ++out.count;
    if (!l.card->start.empty() && (out.since.empty() || l.card->start < out.since))
      out.since = l.card->start;
    const auto o = cards.outcomes().find(l.card->id);
    if (o == cards.outcomes().end()) continue;
    out.reopened += o->second.reopened;
    out.cleared += o->second.found == fleet::Found::cleared;
    out.other += o->second.found == fleet::Found::other;
    if (o->second.found != fleet::Found::confirmed) continue;
    ++out.confirmed;
    ++causes[o->second.cause.empty() ? json_unescaped(l.card->target) : o->second.cause];
  }
  for (const auto& [cause, count] : causes)
    if (!cause.empty() && count > out.causes) out.cause = cause, out.causes = count;
  return out;
}

std::string like_answer(const Such& s, std::size_t cards) {
  if (s.count == 0) return fmt::format("none of {} is like it", report::counted(cards, "card"));
  std::string out = fmt::format("{} such", s.count);
  if (!s.since.empty()) out += fmt::format(" since {}", s.since.substr(0, 10));
  const std::size_t known = s.confirmed + s.cleared + s.other;
  if (known == 0) return out + ": no outcome is known";
  out += fmt::format(": {} confirmed", s.confirmed);
  if (s.causes > 1) out += fmt::format(", of them {} {}", s.causes, s.cause);
  if (s.cleared > 0) out += fmt::format("; {} cleared", s.cleared);
  if (s.other > 0) out += fmt::format("; {} something else", s.other);
  if (s.reopened > 0) out += fmt::format(", {} of these reopened", s.reopened);
  if (known < s.count) out += fmt::format("; {} without an outcome", s.count - known);
  return out;
}

Json like_json(const fleet::Cards& cards, const fleet::Likeness& l) {
  const auto card = parse_json(l.card->text);
  Json out{
      {"id", fleet::card_id(l.card->id)},         {"likeness", std::round(l.share * 1000) / 1000},
      {"start", report::text(card, "start")},     {"line", report::text(card, "line")},
      {"summary", report::text(card, "summary")}, {"outcome", nullptr}};
  if (const auto o = cards.outcomes().find(l.card->id); o != cards.outcomes().end())
    out["outcome"] = {{"outcome", fleet::name(o->second.found)},
                      {"reopened", o->second.reopened},
                      {"cause", o->second.cause},
                      {"by", o->second.by},
                      {"found", iso_utc(o->second.time)}};
  return out;
}

std::string like_text(const Json& document) {
  std::string out =
      report::wrapped(report::visible(document["answer"].get_ref<const std::string&>()), 100, 0);
  out += "\n";
  for (const Json& row : document["nearest"]) {
    out += fmt::format("\n  {:>3.0f} %  {}  {}\n         {}\n", 100 * row["likeness"].get<double>(),
                       row["id"].get_ref<const std::string&>(),
                       report::visible(row["start"].get_ref<const std::string&>()),
                       report::visible(row["line"].get_ref<const std::string&>()));
    if (const Json& o = row["outcome"]; o.is_object()) {
      const std::string cause = o["cause"], by = o["by"];
      out += fmt::format("         {}{}{}{}\n", o["outcome"].get_ref<const std::string&>(),
                         o["reopened"] == true ? ", reopened" : "",
                         cause.empty() ? "" : ": " + report::visible(cause),
                         by.empty() ? "" : "  (" + report::visible(by) + ")");
    }
  }
  return out;
}

Result<Exit> run_like(const Arguments& arguments) {
  if (arguments.positional().size() < 2 &&
      !(arguments.positional().size() == 1 && arguments.has("db")))
    return usage_error("like takes a file of cards and an incident")
        .hint("culprit like cards.jsonl report/incident.db");
  CULPRIT_CHECK(check_format(arguments, {"text", "json"}));
  CULPRIT_TRY(most, arguments.number("top", 5));
  CULPRIT_TRY(cards, read_cards(arguments.positional()[0]));
  CULPRIT_TRY(own, card_of_incident(arguments, cards));
  const CardRow& card = own.rows().front();
  const std::vector<fleet::Likeness> like = fleet::likest(cards, card.id, own.traits(card));
  const auto such =
      std::ranges::partition_point(like, [](const fleet::Likeness& l) { return l.share >= kSuch; });
  const Such summed = such_of(cards, {like.begin(), such});
  Json document{{"schema", "culprit.like/1"},
                {"answer", like_answer(summed, like.size())},
                {"id", fleet::card_id(card.id)},
                {"cards", like.size()},
                {"such",
                 {{"count", summed.count},
                  {"confirmed", summed.confirmed},
                  {"cleared", summed.cleared},
                  {"other", summed.other}}},
                {"nearest", Json::array()}};
  for (std::size_t i = 0; i < std::min<std::size_t>(most, like.size()); ++i)
    if (like[i].share > 0) document["nearest"].push_back(like_json(cards, like[i]));
  print(wants_json(arguments) ? identified(json_text(document) + "\n") : like_text(document));
  return Exit::finished;
}

constexpr auto kLikeOptions = with_read_options({
    {"db,d", "FILE", "the database of the incident"},
    {"top", "N", "how many of the nearest to print (default 5)"},
    {"format", "FORMAT", "text or json"},
    {"json", nullptr, "the same as --format json"},
});

}  // namespace

constinit const Command kLike{
    "like",
    "earlier incidents that are like this one, and what was found",
    "like CARDS INCIDENT [options]",
    "  culprit like cards.jsonl report/incident.db\n"
    "  culprit like cards.jsonl 795a8276a2a37418\n\n"
    "  INCIDENT is a database, report.json, a bundle, or the id of a card of the file. Alike are "
    "symptom,\n"
    "  kind of cause, kinds of targets, signs, findings and waits; what few cards have weighs "
    "most.\n",
    kLikeOptions,
    run_like};

}  // namespace culprit::cli
