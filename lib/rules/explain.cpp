#include "rules/explain.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "line/line.hpp"
#include "model/ascii.hpp"
#include "model/contains.hpp"
#include "model/json.hpp"
#include "model/number.hpp"
#include "model/sort.hpp"
#include "rules/drift.hpp"
#include "rules/enumerations.hpp"
#include "rules/grammar.hpp"
#include "rules/metrics.hpp"
#include "schema/schema.hpp"

namespace culprit::rules {

namespace {

constexpr std::size_t kMostAlso = 8;
constexpr std::size_t kMostQuery = 1000;  // bytes that words are made of
constexpr std::size_t kShortestCode = 6;  // that is looked for in samples
constexpr double kTogether =
    3;  // words that stand together in a sample or pattern tell more than scattered ones
constexpr double kCloseScore = 0.5;  // share of the best score below which nothing is worth naming

// Runs of letters and of digits, in lower case; ncclRemoteError and NCCL_IB_HCA are three words
// each.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  const auto end = [&] {
    if (!word.empty()) out.push_back(std::move(word));
    word.clear();
  };
  text = text.substr(0, kMostQuery);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isalnum(c) == 0) {
      end();
      continue;
    }
    const bool before_lower = i > 0 && std::islower(static_cast<unsigned char>(text[i - 1])) != 0;
    const bool turns =
        !word.empty() &&
        (std::isdigit(c) != 0) != (std::isdigit(static_cast<unsigned char>(word.back())) != 0);
    if ((std::isupper(c) != 0 && before_lower) || turns) end();
    word += lower(text[i]);
  }
  end();
  return out;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return whole_number<std::int64_t>(text);
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \t:=/#,", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(" \t:=/#,", begin), text.size());
    out.emplace_back(text.substr(begin, end - begin));
    at = end;
  }
  return out;
}

// {host} of an advice: what the line tells, else <host>, which nobody takes for a name.
std::string filled(const std::string& text, const std::map<std::string, std::string>& captures) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t close = text[at] == '{' ? text.find('}', at) : std::string::npos;
    if (close == std::string::npos) {
      out += text[at];
      continue;
    }
    const std::string name = text.substr(at + 1, close - at - 1);
    const auto it = captures.find(name);
    out += it != captures.end() ? it->second : "<" + name + ">";
    at = close;
  }
  return out;
}

// Other rules that take the lines at which this one is silent: what a reader confuses it with.
std::vector<LookAlike> look_alikes(const RulePack& pack, const Rule& rule) {
  std::vector<LookAlike> out;
  std::set<const Rule*> seen{&rule};
  for (const std::string& sample : rule.silent) {
    const auto match = pack.match(line::peel(sample).message);
    if (!match || !seen.insert(match->rule).second) continue;
    const Meaning& m = meaning_of(*match->rule, match->code);
    out.push_back({match->event_class, m.title, sample});
  }
  return out;
}

// Classes of which the pack says that this one follows from them.
std::vector<std::string> causes_of(const RulePack& pack, const std::string& event_class) {
  std::set<std::string> out;
  const auto leads = [&](const Meaning& m) { return contains(m.leads_to, event_class); };
  for (const Rule& rule : pack.rules()) {
    if (leads(rule.meaning) && !contains(rule.event_class, '{')) out.insert(rule.event_class);
    for (const auto& [code, meaning] : rule.codes)
      if (leads(meaning) && contains(rule.event_class, "{code}"))
        out.insert(fill_class(rule.event_class, {{"code", std::to_string(code)}}));
  }
  return {out.begin(), out.end()};
}

// "a, b, c and 4 more"
std::string listed(const std::vector<std::string>& names, std::size_t most = 8) {
  std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(most, names.size())));
  return fmt::format("{}", fmt::join(shown, ", ")) +
         (names.size() > most ? fmt::format(" and {} more", names.size() - most) : "");
}

Explanation of_rule(const RulePack& pack, const Rule& rule, std::optional<std::int64_t> code,
                    std::map<std::string, std::string> captures = {}) {
  if (code) captures.emplace("code", std::to_string(*code));
  const Meaning& m = meaning_of(rule, code);
  Explanation out{.kind = "rule", .id = fill_class(rule.event_class, captures)};
  if (!code && !rule.codes.empty() && contains(rule.event_class, "{code}")) out.id = rule.id;
  out.title = m.title;
  out.means = m.why;
  out.advice = filled(m.advice, captures);
  out.source = rule.source;
  out.look_alikes = look_alikes(pack, rule);
  const auto put = [&](const char* name, std::string value) {
    if (!value.empty()) out.properties.emplace_back(name, std::move(value));
  };
  put("rule", rule.id);
  if (!code && !rule.codes.empty()) put("numbers", fmt::format("{} are known", rule.codes.size()));
  put("severity", std::string(name(m.severity)));
  put("role", std::string(name(m.role)));
  put("scope", std::string(name(m.scope)));
  if (m.cause != CauseKind::none) put("cause", std::string(name(m.cause)));
  put("component", m.component);
  if (m.symptom != Symptom::none) put("symptom", std::string(name(m.symptom)));
  if (m.tolerance)
    put("tolerance",
        fmt::format("counts from {} within {} s", m.tolerance->count, m.tolerance->window_s));
  put("taken back by", listed(m.cleared_by));
  put("leads to", listed(m.leads_to));
  put("can follow from", listed(causes_of(pack, out.id), 5));
  for (const OldMeaning& old : m.history)
    put("older drivers", fmt::format("from {}{}: {}", old.from,
                                     old.before.empty() ? "" : " before " + old.before, old.title));
  if (m.role == Role::cascade || m.role == Role::teardown || m.role == Role::confirmation) {
    const auto roles = Glossary::built_in().named(name(m.role), "role");
    if (!roles.empty()) out.is_not = fmt::format("Not a first cause: {}.", roles.front()->title);
  }
  return out;
}

Explanation of_entry(const GlossaryEntry& entry) {
  Explanation out{.kind = entry.kind,
                  .id = entry.kind == "exit_code" ? fmt::format("exit {}", entry.number.value_or(0))
                                                  : entry.names.front(),
                  .title = entry.title,
                  .means = entry.means,
                  .is_not = entry.is_not,
                  .advice = entry.advice,
                  .source = entry.source};
  if (entry.kind == "signal") {
    out.properties.emplace_back("number", std::to_string(*entry.number));
    out.properties.emplace_back(
        "exit codes", fmt::format("-{} (Python, torchrun), {} (shells, containers)", *entry.number,
                                  128 + *entry.number));
  }
  return out;
}

// What the grammar of error lines says where no rule does.
Explanation of_said(const Said& said) {
  Explanation out{.kind = "grammar",
                  .id = said.event_class,
                  .title = said.title,
                  .means = said.reason->means + " " + said.speaker->means,
                  .is_not = "A name for the line, not a judgement: no verdict rests on it.",
                  .advice = "Read the lines before it, of this process and of its peers.",
                  .source = said.speaker->source,
                  .properties = {{"role", std::string(name(said.reason->role))},
                                 {"component", said.speaker->component}}};
  if (said.reason->cause != "none") out.properties.emplace_back("cause", said.reason->cause);
  if (!said.code.empty()) out.properties.emplace_back("code", said.code);
  return out;
}

Explanation of_code(const Enumeration& list, const EnumerationEntry& entry) {
  Explanation out{.kind = "code",
                  .id = entry.code,
                  .title = list.title,
                  .means = entry.means,
                  .is_not = entry.is_not,
                  .source = fmt::format("{} ({})", list.source, list.date),
                  .properties = {{"of", list.name}}};
  if (entry.number) out.properties.emplace_back("number", std::to_string(*entry.number));
  const auto& reasons = Grammar::built_in().reasons();
  const auto reason = std::ranges::find(reasons, entry.reason, &ReasonRow::name);
  if (reason == reasons.end()) return out;
  out.title += ": " + reason->title;
  if (out.means.empty()) out.means = reason->means;
  out.properties.emplace_back("reason", reason->name);
  out.properties.emplace_back("role", std::string(name(reason->role)));
  if (reason->cause != "none") out.properties.emplace_back("cause", reason->cause);
  return out;
}

void also_see(const RulePack& pack, const GlossaryEntry& entry, Answer& answer) {
  for (const std::string& event_class : entry.see)
    if (const Rule* rule = pack.of_class(event_class); rule != nullptr)
      answer.also.push_back({"rule", event_class, rule->meaning.title});
}

// "xid 79", "gpu_xid/79", "completion error 12": the words before the number all stand in the class
// of a rule that has numbers.
bool numbers(const RulePack& pack, const std::vector<std::string>& words, Answer& answer) {
  if (words.size() < 2) return false;
  const auto code = number_in(words.back());
  if (!code) return false;
  std::set<std::string> asked;
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    for (std::string& word : words_of(words[i])) asked.insert(std::move(word));
  for (const char* filler : {"error", "code", "number", "nvidia", "nvrm"})
    if (asked.size() > 1) asked.erase(filler);
  if (asked.empty()) return false;
  for (const Rule& rule : pack.rules()) {
    if (rule.codes.empty()) continue;
    const auto known = words_of(rule.event_class.substr(0, rule.event_class.find('{')));
    const bool all =
        std::ranges::all_of(asked, [&](const std::string& word) { return contains(known, word); });
    if (!all) continue;
    Explanation one = of_rule(pack, rule, *code);
    if (!rule.codes.contains(*code)) {
      answer.exact = false;
      one.title += fmt::format(" (number {} is not in the table)", *code);
    }
    answer.found.push_back(std::move(one));
    // What the number means when a line says more, such as gpu_xid/{code}-fatal.
    const std::string stem = fill_class(rule.event_class, {{"code", std::to_string(*code)}});
    for (const Rule& other : pack.rules())
      if (&other != &rule &&
          fill_class(other.event_class, {{"code", std::to_string(*code)}}).starts_with(stem + "-"))
        answer.also.push_back({"rule", other.id, other.meaning.title});
  }
  return !answer.found.empty();
}

// "exit -9", "exit code 137", "signal 7", "SIGBUS", "-9".
bool process_end(const RulePack& pack, const std::vector<std::string>& words, Answer& answer) {
  const Glossary& glossary = Glossary::built_in();
  bool exit = false, signal = false;
  std::optional<std::int64_t> number;
  std::string other;
  for (const std::string& word : words) {
    const std::string w = lower(word);
    if (w == "exit" || w == "exitcode" || w == "exited" || w == "rc" || w == "returncode" ||
        w == "return")
      exit = true;
    else if (w == "signal" || w == "sig")
      signal = true;
    else if (w == "code" || w == "status" || w == "with" || w == "by")
      continue;
    else if (const auto n = number_in(w); n && !number)
      number = n;
    else
      other = w;
  }
  if (!other.empty()) return false;
  if (!number || (!exit && !signal && (words.size() != 1 || *number >= 0))) return false;
  const bool by_signal = signal || *number < 0 || (*number > 128 && *number < 128 + 65);
  const std::int64_t n = !by_signal    ? *number
                         : *number < 0 ? -*number
                         : signal      ? *number
                                       : *number - 128;
  // 255 and its like are codes although they are above 128.
  const GlossaryEntry* entry =
      by_signal ? glossary.numbered("signal", n) : glossary.numbered("exit_code", n);
  if (entry != nullptr) {
    answer.found.push_back(of_entry(*entry));
    also_see(pack, *entry, answer);
    return true;
  }
  if (by_signal && n > 64) return false;
  Explanation one{.kind = by_signal ? "signal" : "exit_code",
                  .id = by_signal ? fmt::format("signal {}", n) : fmt::format("exit {}", n)};
  one.title =
      by_signal ? "a signal that training jobs seldom see" : "an exit code of the program's own";
  one.means =
      by_signal
          ? "The process was ended by this signal. signal(7) has its name and default action."
          : "No shell, launcher or scheduler has a fixed meaning for it: the program chose it.";
  one.advice =
      by_signal ? "Look for who sent it." : "Read the program's standard error, or its manual.";
  one.source = "signal(7); exit(3)";
  answer.found.push_back(std::move(one));
  return true;
}

// Rules of which a sample holds the name; a short one stands in other words, too.
void also_rules(const RulePack& pack, const std::string& code, Answer& answer) {
  if (code.size() < kShortestCode) return;
  const auto holds = [&](const std::string& sample) { return contains(sample, code); };
  for (const Rule& rule : pack.rules()) {
    const auto same = [&](const auto& other) { return other.id == rule.id; };
    if (answer.also.size() < kMostAlso && std::ranges::any_of(rule.fires, holds) &&
        std::ranges::none_of(answer.also, same))
      answer.also.push_back({"rule", rule.id, rule.meaning.title});
  }
}

// Names of enumerations, and the rule that takes such a name where it stands alone: it has advice.
void codes(const RulePack& pack, std::string_view query, Answer& answer) {
  for (const auto& [list, entry] : Enumerations::built_in().named(query)) {
    answer.found.push_back(of_code(*list, *entry));
    also_rules(pack, entry->code, answer);
    const auto match = pack.match(entry->code);
    if (!match || match->rule->fallback) continue;
    const auto same = [&](const Explanation& e) { return e.id == match->event_class; };
    if (std::ranges::any_of(answer.found, same)) continue;
    answer.found.push_back(of_rule(pack, *match->rule, match->code, match->captures));
    answer.found.back().id = match->event_class;
  }
}

bool names(const RulePack& pack, std::string_view query, Answer& answer) {
  const std::string word = lower(query);
  std::optional<std::int64_t> code;
  const Rule* rule = pack.find(word);
  if (rule == nullptr && (rule = pack.of_class(word)) != nullptr)
    if (const std::size_t slash = word.find('/'); slash != std::string::npos)
      code = number_in(word.substr(slash + 1));
  if (rule != nullptr)
    answer.found.push_back(of_rule(pack, *rule, code));
  else if (const auto said = Grammar::built_in().of_class(word))
    answer.found.push_back(of_said(*said));
  std::string joined = word;
  std::replace_if(
      joined.begin(), joined.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  for (const std::string& name : {word, joined})
    for (const GlossaryEntry* entry : Glossary::built_in().named(name)) {
      const bool there = std::ranges::any_of(answer.found, [&](const Explanation& e) {
        return e.kind == entry->kind && e.title == entry->title;
      });
      if (there) continue;
      answer.found.push_back(of_entry(*entry));
      also_see(pack, *entry, answer);
    }
  codes(pack, query, answer);
  return !answer.found.empty();
}

bool catalogues(std::string_view query, Answer& answer) {
  if (contains(query, ' ')) return false;
  if (const auto match = Catalogue::built_in().find(query); match) {
    const Metric& m = *match->metric;
    Explanation one{
        .kind = "metric", .id = m.name, .title = m.meaning.empty() ? m.name : m.meaning};
    one.means =
        m.bad == MetricSide::none
            ? "Neither side is bad by itself."
            : fmt::format("A value on the {} side of what the other machines show points to: {}.",
                          m.bad == MetricSide::both ? "high or low" : name(m.bad), m.points_to);
    if (m.zero_above)
      one.means += fmt::format(" Healthy machines stay at or below {}.", *m.zero_above);
    one.advice = m.advice;
    one.source = m.source;
    one.properties = {{"unit", m.unit},
                      {"of", m.entity},
                      {"kind", m.kind == MetricKind::counter ? "counter" : "gauge"}};
    if (m.symptom != Symptom::none) one.properties.emplace_back("symptom", name(m.symptom));
    answer.found.push_back(std::move(one));
    return true;
  }
  const DriftRule& setting = DriftRules::built_in().find(query);
  if (setting.pattern.empty()) return false;
  Explanation one{.kind = "setting",
                  .id = std::string(query),
                  .title = setting.label.empty() ? "a setting of a host" : setting.label};
  one.means =
      setting.ignored
          ? "Hosts differ in it by right; it is not compared."
          : fmt::format(
                "It ought to be the same on all hosts of a job; a difference can explain: {}.",
                setting.explains);
  one.advice = filled(setting.advice, {});
  one.source = "rules/tables/drift.json";
  one.properties = {
      {"severity of a difference", setting.ignored ? "none" : std::string(name(setting.severity))}};
  answer.found.push_back(std::move(one));
  return true;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ""));
}

// What can be found by its words, and how much each word tells: a word of few rules tells most.
struct Text {
  std::string kind, id, title;
  const Rule* rule = nullptr;
  const GlossaryEntry* entry = nullptr;
  std::set<std::string> head, body;  // of names and title; of the rest
  std::string
      letters;  // all of it, without blanks and case: ncclRemoteError is "nccl remote error"
};

std::vector<Text> searchable(const RulePack& pack) {
  std::vector<Text> out;
  const auto put = [](std::set<std::string>& into, std::string_view text) {
    for (std::string& word : words_of(text)) into.insert(std::move(word));
  };
  for (const Rule& rule : pack.rules()) {
    Text one{"rule",
             !contains(rule.event_class, '{') ? rule.event_class : rule.id,
             rule.meaning.title,
             &rule,
             nullptr,
             {},
             {},
             {}};
    put(one.head, rule.id);
    put(one.head, rule.event_class);
    put(one.head, rule.meaning.title);
    put(one.body, rule.meaning.why);
    for (const auto* list : {&rule.match, &rule.fires})
      for (const std::string& text : *list) {
        put(one.body, text);
        one.letters += joined(words_of(text)) + " ";
      }
    for (const auto& [code, meaning] : rule.codes) put(one.body, meaning.title);
    out.push_back(std::move(one));
  }
  for (const GlossaryEntry& entry : Glossary::built_in().entries()) {
    Text one{entry.kind, of_entry(entry).id, entry.title, nullptr, &entry, {}, {}, {}};
    for (const std::string& name : entry.names) put(one.head, name);
    put(one.head, entry.title);
    put(one.body, entry.means);
    out.push_back(std::move(one));
  }
  return out;
}

void by_words(const RulePack& pack, std::string_view query, Answer& answer) {
  const auto list = words_of(query);
  const std::string together = joined(list);
  const std::set<std::string> asked(list.begin(), list.end());
  if (asked.empty()) return;
  const auto texts = searchable(pack);
  std::map<std::string, double> weight;
  for (const std::string& word : asked) {
    const auto n = std::ranges::count_if(
        texts, [&](const Text& t) { return t.head.contains(word) || t.body.contains(word); });
    weight[word] =
        n == 0 ? 0 : std::log(1 + static_cast<double>(texts.size()) / static_cast<double>(n));
  }
  struct Hit {
    double score;
    const Text* text;
    bool exact;  // all words in its names, or together in one of its lines
  };
  std::vector<Hit> hits;
  for (const Text& text : texts) {
    double score = 0;
    std::size_t in_head = 0;
    for (const std::string& word : asked) {
      in_head += text.head.contains(word);
      score += weight[word] * (text.head.contains(word) ? 3 : text.body.contains(word) ? 1 : 0);
    }
    const bool stands = list.size() > 1 && contains(text.letters, together);
    if (stands) score *= kTogether;
    // Of two that hold all words the shorter is about them.
    score /= 1 + 0.02 * static_cast<double>(text.head.size());
    if (score > 0) hits.push_back({score, &text, stands || in_head == asked.size()});
  }
  sort_rows(hits, [](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.text->id < b.text->id;
  });
  if (hits.empty()) return;
  const bool taken = !answer.found.empty();
  const double close = kCloseScore * hits.front().score / (hits.front().exact ? kTogether : 1);
  for (const Hit& hit : hits) {
    if (hit.score < close || answer.also.size() >= kMostAlso) break;
    if (!taken && answer.found.empty()) {
      answer.exact = hit.exact;
      answer.found.push_back(hit.text->rule != nullptr
                                 ? of_rule(pack, *hit.text->rule, std::nullopt)
                                 : of_entry(*hit.text->entry));
      continue;
    }
    const bool there =
        std::ranges::any_of(answer.found,
                            [&](const Explanation& e) { return e.id == hit.text->id; }) ||
        std::ranges::any_of(answer.also, [&](const Related& r) { return r.id == hit.text->id; });
    if (!there) answer.also.push_back({hit.text->kind, hit.text->id, hit.text->title});
  }
}

}  // namespace

Result<Glossary> Glossary::parse(std::string_view text, const std::string& file) {
  using nlohmann::json;
  CULPRIT_TRY(document,
              schema::parse_checked(text, file, "glossary-v1.json", "the table may hold"));
  Glossary out;
  for (const json& object : document["entries"]) {
    GlossaryEntry entry;
    entry.kind = object["kind"].get<std::string>();
    if (object.contains("number")) entry.number = object["number"].get<std::int64_t>();
    entry.names = object["names"].get<std::vector<std::string>>();
    entry.title = object["title"].get<std::string>();
    entry.means = object["means"].get<std::string>();
    entry.is_not = object.value("not", "");
    entry.advice = object["do"].get<std::string>();
    entry.source = object["source"].get<std::string>();
    if (object.contains("see")) entry.see = object["see"].get<std::vector<std::string>>();
    if ((entry.kind == "signal" || entry.kind == "exit_code") && !entry.number)
      return fail(fmt::format("entry '{}' has no number", entry.names.front())).at({file, 0});
    out.entries_.push_back(std::move(entry));
  }
  return out;
}

const Glossary& Glossary::built_in() {
  static const Glossary kBuiltIn = [] {
    if (auto parsed = parse(embedded_rule("tables/glossary.json"), "rules/tables/glossary.json"))
      return std::move(parsed).value();
    return Glossary{};
  }();
  return kBuiltIn;
}

const GlossaryEntry* Glossary::numbered(std::string_view kind, std::int64_t number) const {
  for (const GlossaryEntry& entry : entries_)
    if (entry.kind == kind && entry.number == number) return &entry;
  return nullptr;
}

std::vector<const GlossaryEntry*> Glossary::named(std::string_view name,
                                                  std::string_view kind) const {
  std::vector<const GlossaryEntry*> out;
  const std::string wanted = lower(name);
  for (const GlossaryEntry& entry : entries_)
    if ((kind.empty() || entry.kind == kind) &&
        std::ranges::any_of(entry.names,
                            [&](const std::string& one) { return lower(one) == wanted; }))
      out.push_back(&entry);
  return out;
}

Answer explain_line(const RulePack& pack, std::string_view message, std::string_view raw) {
  Answer answer;
  const auto match = pack.match(message);
  const auto said = Grammar::built_in().said(raw);
  if (!match && said) {
    answer.found.push_back(of_said(*said));
    return answer;
  }
  if (!match) {
    answer.exact = false;
    by_words(pack, message, answer);
    // The nearest by its words is a guess, not what the line means.
    for (const Explanation& e : answer.found)
      answer.also.insert(answer.also.begin(), {e.kind, e.id, e.title});
    answer.found.clear();
    return answer;
  }
  Explanation one = of_rule(pack, *match->rule, match->code, match->captures);
  one.id = match->event_class;
  const Meaning meaning = meaning_of(*match->rule, match->code, std::string(message), "");
  one.title = meaning.title;
  for (auto& [key, value] : one.properties) {
    if (key == "severity")
      value = std::string(name(match->severity));  // the printed word beats the number
    if (key == "role") value = std::string(name(match->role));
  }
  answer.found.push_back(std::move(one));
  if (match->rule->fallback && said)
    answer.also.push_back({"grammar", said->event_class, said->title});
  for (const Rule* other : pack.all_matches(message))
    if (other != match->rule && answer.also.size() < kMostAlso)
      answer.also.push_back({"rule", other->event_class, other->meaning.title});
  return answer;
}

Answer explain(const RulePack& pack, std::string_view query) {
  while (!query.empty() && std::isspace(static_cast<unsigned char>(query.front())) != 0)
    query.remove_prefix(1);
  while (!query.empty() && std::isspace(static_cast<unsigned char>(query.back())) != 0)
    query.remove_suffix(1);
  Answer answer;
  const auto words = split(query);
  if (process_end(pack, words, answer) || names(pack, query, answer) ||
      numbers(pack, words, answer) || catalogues(query, answer))
    return answer;
  // A piece of a log line that a rule takes is as good as the line.
  if (const auto match = pack.match(query); match && !match->rule->fallback)
    return explain_line(pack, query, query);
  answer.exact = false;
  by_words(pack, query, answer);
  return answer;
}

}  // namespace culprit::rules
