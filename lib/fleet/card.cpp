// Cards: a report as one line, and files of such lines read back.
#include "fleet/card.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <thread>

#include "fleet/incident.hpp"
#include "model/hostlist.hpp"
#include "model/json_cursor.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"
#include "report/fields.hpp"

namespace culprit::fleet {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using report::list;
using report::member;
using report::text;

constexpr std::string_view kCard = "culprit.card/1", kOutcome = "culprit.outcome/1";
constexpr std::size_t kMostBytes = 10'000;  // of a card, whatever the incident
constexpr std::size_t kMostTargets = 12, kMostEffects = 48, kMostWaits = 16, kMostSigns = 16,
                      kMostHostBytes = 2000, kMostWord = 60, kMostName = 120, kMostSentence = 400;
constexpr std::size_t kDeepest = 32;  // of a line that is read

using Words = std::set<std::string>;

ordered_json first_of(const Words& words, std::size_t most) {
  ordered_json out = ordered_json::array();
  for (const std::string& word : words)
    if (out.size() < most) out.push_back(report::shortened(word, kMostWord));
  return out;
}

// "dated_before: usual seen with this kind of cause" (Phrase::weight_of_sign): the name of the sign
// is the only reason that begins with one word.
Words signs_of(const json& hypothesis) {
  Words out;
  for (const json& weight : list(hypothesis, "weights")) {
    const std::string reason = text(weight, "reason");
    const std::size_t colon = reason.find(": ");
    if (colon != std::string::npos && reason.ends_with(" seen with this kind of cause") &&
        reason.find(' ') > colon)
      out.insert(reason.substr(0, colon));
  }
  return out;
}

// Of very many the first: findings stand in the order of their weight.
Words effects_of(const json& document) {
  Words out;
  for (const json& finding : list(document, "findings"))
    if (out.size() < kMostEffects && text(finding, "outcome") == "fired" &&
        !text(finding, "class").empty())
      out.insert(text(finding, "role") + " " + text(finding, "class"));
  return out;
}

// What the ranks wait in, and what those do whom they wait for: the answer without its names.
Words waits_of(const json& document) {
  Words out;
  for (const json& node : list(member(document, "waits"), "nodes"))
    out.insert(member(node, "end") == true
                   ? fmt::format("{} waited for in {}",
                                 report::count(node, "size") > 1 ? "several" : "one",
                                 text(node, "doing"))
                   : text(node, "doing"));
  return out;
}

// As many as fit.
std::string folded(std::vector<std::string> hosts) {
  std::string out = fold_hostlist(hosts);
  while (out.size() > kMostHostBytes) {
    hosts.resize(hosts.size() / 2);
    out = fold_hostlist(hosts);
  }
  return out;
}

ordered_json differential_of(const json& verdict) {
  ordered_json out = ordered_json::array();
  for (const json& c : list(verdict, "differential")) {
    if (out.size() == 3) break;
    out.push_back({{"kind", report::shortened(text(c, "kind"), kMostName)},
                   {"action", report::shortened(text(c, "action"), kMostName)},
                   {"score", report::number(c, "score")},
                   {"what", report::shortened(text(c, "what"), kMostSentence / 2)}});
  }
  return out;
}

std::uint64_t hashed(char what, std::string_view word) {
  std::uint64_t hash = 0xcbf29ce484222325ull;  // FNV-1a
  const auto add = [&](char c) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  };
  add(what);
  for (const char c : word) add(c);
  return hash;
}

// "0.10.2" after "0.9": number by number.
std::vector<std::uint32_t> version_of(std::string_view text) {
  std::vector<std::uint32_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::uint32_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) break;
    out.push_back(number);
    at = next == end ? end : next + 1;
  }
  return out;
}

// One part of a file.
struct Part {
  std::vector<CardRow> rows;
  std::vector<std::uint64_t> traits;
  std::vector<std::pair<CardOutcome, std::string_view>> outcomes;
  std::uint64_t lines = 0;
  std::string trouble;  // "": none; else of line `lines`
};

class LineReader {
 public:
  LineReader(std::string_view line, Part& part) : line_(line), at_(line), part_(part) {}

  // "" or why not.
  std::string read() {
    row_.text = line_;
    row_.traits = static_cast<std::uint32_t>(part_.traits.size());
    const bool whole = at_.object([&](std::string_view key, bool) { return take(key); });
    at_.blanks();
    if (!whole || !at_.done()) return "this line is not a JSON object";
    if (schema_ != kCard && schema_ != kOutcome)
      return "this line is neither a card nor an outcome";
    const auto id = card_id(id_);
    if (!id) return "an id has 16 hexadecimal digits";
    if (schema_ == kOutcome) {
      part_.traits.resize(row_.traits);
      return read_outcome(*id);
    }
    row_.id = *id;
    row_.line = part_.lines;
    const auto begin = part_.traits.begin() + row_.traits;
    std::sort(begin, part_.traits.end());
    part_.traits.erase(std::unique(begin, part_.traits.end()), part_.traits.end());
    row_.traits_end = static_cast<std::uint32_t>(part_.traits.size());
    part_.rows.push_back(row_);
    return {};
  }

 private:
  bool word(std::string_view& out) {
    bool escaped = false;
    return at_.peek() == '"' ? at_.text(out, escaped) : at_.skip(kDeepest);
  }
  bool trait(char what) {
    std::string_view value;
    if (!word(value)) return false;
    if (!value.empty()) part_.traits.push_back(hashed(what, value));
    return true;
  }
  bool traits(char what) {
    if (at_.peek() != '[') return at_.skip(kDeepest);
    return at_.array([&] { return trait(what); });
  }
  bool take(std::string_view key) {
    if (key == "schema") return word(schema_);
    if (key == "id") return word(id_);
    if (key == "start") return word(row_.start);
    if (key == "tool") return tool();
    if (key == "symptom") return trait('y');
    if (key == "kind") return trait('k');
    if (key == "signs") return traits('s');
    if (key == "effects") return traits('e');
    if (key == "waits") return traits('w');
    if (key == "targets") return targets();
    return at_.skip(kDeepest);
  }
  bool tool() {
    if (at_.peek() != '{') return at_.skip(kDeepest);
    return at_.object([&](std::string_view key, bool) {
      return key == "version" ? word(row_.tool) : at_.skip(kDeepest);
    });
  }
  bool targets() {
    if (at_.peek() != '[') return at_.skip(kDeepest);
    return at_.array([&] {
      if (at_.peek() != '{') return false;
      std::string_view id, host;
      if (!at_.object([&](std::string_view key, bool) {
            return key == "kind"   ? trait('t')
                   : key == "id"   ? word(id)
                   : key == "host" ? word(host)
                                   : at_.skip(kDeepest);
          }))
        return false;
      if (row_.target.empty()) row_.target = host.empty() ? id : host;
      return true;
    });
  }
  std::string read_outcome(std::uint64_t id) {
    const json value = parse_json(line_);
    const auto found = found_named(text(value, "outcome"));
    const auto time = parse_utc(text(value, "found"));
    if (!found) return "an outcome is confirmed, cleared or other";
    if (!time) return "an outcome has a time in UTC";
    part_.outcomes.push_back({{id, *found, text(value, "cause"), text(value, "by"), *time,
                               text(value, "action"), text(value, "kind"), text(value, "sureness")},
                              line_});
    return {};
  }

  std::string_view line_;
  JsonCursor at_;
  Part& part_;
  CardRow row_;
  std::string_view schema_, id_;
};

void read_part(std::string_view text, Part& part) {
  while (!text.empty()) {
    ++part.lines;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    part.trouble = LineReader(line, part).read();
    if (!part.trouble.empty()) return;
  }
}

}  // namespace

std::optional<std::string> card_of(const json& document) {
  const auto incident = incident_of(document, {}, std::nullopt);
  if (!incident || !card_id(incident->id)) return std::nullopt;
  const json& verdict = member(document, "verdict");
  const json& first = list(verdict, "differential").empty() ? json() : verdict["differential"][0];
  FleetIncident i = *incident;
  const std::string who = report::accused(document);
  i.summary = report::shortened(i.summary, kMostSentence);
  const std::size_t targets = i.targets.size();
  i.targets.resize(std::min(targets, kMostTargets));
  i.job = text(member(document, "job"), "name");
  i.job_id = text(member(document, "job"), "id");
  std::vector<std::string*> names{&i.job,       &i.job_id,  &i.event_class, &i.symptom,
                                  &i.precision, &i.restart, &i.action};
  for (FleetTarget& t : i.targets) names.insert(names.end(), {&t.kind, &t.id, &t.host});
  for (FleetTime& t : i.time) names.push_back(&t.part);
  const auto short_name = [](const std::string& name) {
    return report::shortened(name, kMostName);
  };
  for (std::string* name : names) *name = short_name(*name);
  ordered_json out{{"schema", kCard}, {"id", i.id}};
  for (const char* key : {"name", "rules", "version"})
    out["tool"][key] = short_name(text(member(document, "tool"), key));
  const std::string step = report::taken_step(document);
  out["line"] = report::shortened(
      report::headline(i.action, step) + (who.empty() ? "" : "  " + who), kMostSentence);
  out["kind"] = short_name(step.empty() ? text(first, "kind") : step);
  out["sureness"] = short_name(text(member(verdict, "sureness"), "word"));
  const ordered_json row = to_json(i);
  for (const char* key : {"action", "precision", "restart", "symptom", "class", "confidence", "job",
                          "job_id", "start", "end", "gpus", "complete", "summary"})
    out[key] = row[key];
  out["machines"] = i.hosts.size();
  out["hosts"] = folded(i.hosts);
  out["targets"] = row["targets"];
  out["targets_in_all"] = targets;
  out["signs"] = first_of(signs_of(first), kMostSigns);
  out["effects"] = first_of(effects_of(document), kMostEffects);
  out["waits"] = first_of(waits_of(document), kMostWaits);
  out["differential"] = differential_of(verdict);
  out["time"] = row["time"];
  std::string line = json_text(out, -1);
  for (const char* list : {"effects", "waits", "time", "targets", "differential"})
    while (line.size() >= kMostBytes && !out[list].empty()) {  // letters of several bytes
      out[list].erase(out[list].size() - 1);
      line = json_text(out, -1);
    }
  return line;
}

std::string_view name(Found found) {
  constexpr std::string_view kNames[] = {"confirmed", "cleared", "other"};
  return kNames[static_cast<std::size_t>(found)];
}

std::optional<Found> found_named(std::string_view text) {
  for (const Found f : {Found::confirmed, Found::cleared, Found::other})
    if (name(f) == text) return f;
  return std::nullopt;
}

std::string to_line(const CardOutcome& o) {
  const auto or_null = [](const std::string& value) {
    return value.empty() ? ordered_json(nullptr) : ordered_json(value);
  };
  return json_text(ordered_json{{"schema", kOutcome},
                                {"id", card_id(o.id)},
                                {"outcome", name(o.found)},
                                {"cause", or_null(o.cause)},
                                {"by", or_null(o.by)},
                                {"found", iso_utc(o.time)},
                                {"action", o.action},
                                {"kind", o.kind},
                                {"sureness", o.sureness}},
                   -1);
}

std::optional<std::uint64_t> card_id(std::string_view text) {
  const auto id = whole_number<std::uint64_t>(text, 16);
  return id && card_id(*id) == text ? id : std::nullopt;
}

std::string card_id(std::uint64_t id) { return fmt::format("{:016x}", id); }

Result<Cards> Cards::read(std::string whole, const std::string& file, unsigned threads) {
  Cards out;
  out.text_ = std::make_unique<std::string>(std::move(whole));
  std::string_view rest = *out.text_;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  std::vector<Part> parts(std::clamp(threads, 1u, 64u));
  const std::size_t share = rest.size() / parts.size() + 1;
  std::vector<std::thread> readers;
  for (Part& part : parts) {
    const std::size_t cut = rest.find('\n', std::min(share, rest.size()));
    const std::string_view mine = rest.substr(0, cut == rest.npos ? cut : cut + 1);
    rest.remove_prefix(mine.size());
    readers.emplace_back([mine, &part] { read_part(mine, part); });
  }
  for (std::thread& reader : readers) reader.join();
  std::uint64_t lines = 0;
  std::vector<std::pair<CardOutcome, std::string_view>> found;
  for (Part& part : parts) {
    if (!part.trouble.empty())
      return fail(part.trouble)
          .at({file, lines + part.lines})
          .hint(
              "a file of cards has the lines that `culprit export card` and `culprit outcome` "
              "write: take this line out");
    const auto before = static_cast<std::uint32_t>(out.traits_.size());
    for (CardRow& row : part.rows) {
      row.line += lines;
      row.traits += before;
      row.traits_end += before;
    }
    out.rows_.insert(out.rows_.end(), part.rows.begin(), part.rows.end());
    out.traits_.insert(out.traits_.end(), part.traits.begin(), part.traits.end());
    std::ranges::move(part.outcomes, std::back_inserter(found));
    lines += part.lines;
  }
  sort_by(found,
          [](const auto& one) { return std::tie(one.first.id, one.first.time, one.second); });
  for (auto& [outcome, line] : found) {
    const auto [known, added] = out.outcomes_.try_emplace(outcome.id);
    const bool once_confirmed =
        !added && (known->second.reopened || known->second.found == Found::confirmed);
    outcome.reopened = once_confirmed && outcome.found != Found::confirmed;
    known->second = std::move(outcome);
  }
  std::ranges::sort(out.rows_, [](const CardRow& a, const CardRow& b) {
    if (a.id != b.id) return a.id < b.id;
    if (a.tool != b.tool) {
      const auto first = version_of(a.tool), second = version_of(b.tool);
      if (first != second) return first > second;
    }
    return a.text != b.text ? a.text > b.text : a.line < b.line;
  });
  out.rows_.erase(std::unique(out.rows_.begin(), out.rows_.end(),
                              [](const CardRow& a, const CardRow& b) { return a.id == b.id; }),
                  out.rows_.end());
  return out;
}

const CardRow* Cards::find(std::uint64_t id) const {
  const auto it = std::lower_bound(rows_.begin(), rows_.end(), id,
                                   [](const CardRow& row, std::uint64_t i) { return row.id < i; });
  return it == rows_.end() || it->id != id ? nullptr : &*it;
}

std::vector<FleetIncident> incidents_of(const Cards& cards) {
  std::vector<FleetIncident> out;
  for (const CardRow& row : cards.rows())
    if (auto incident = from_json(parse_json(row.text))) out.push_back(std::move(*incident));
  return out;
}

}  // namespace culprit::fleet
