#include "report/short_answer.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "model/contains.hpp"
#include "report/fields.hpp"
#include "report/report.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;

constexpr std::size_t kMostFacts = 3;
constexpr std::size_t kMostColumns = 300;  // of a sentence; a quoted line may be as long
constexpr std::size_t kMostUrl = 1000;
constexpr std::string_view kUnreserved =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

// As one piece of a path: a job's id is free text and must not climb, add a query or end the link.
std::string url_piece(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, 200))
    out += contains(kUnreserved, c) ? std::string(1, c)
                                    : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out.empty() || out == "." || out == ".." ? "unknown" : out;
}

std::string link_of(const json& document, std::string url) {
  if (!is_report_url(url)) return {};
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::string>("{job}", text(member(document, "job"), "id")),
        {"{digest}", text(member(document, "bundle"), "digest")}})
    for (std::size_t at = url.find(name); at != std::string::npos; at = url.find(name))
      url.replace(at, name.size(), url_piece(value));
  return url + (url.ends_with('/') ? "" : "/") + "report.html";
}

ShortFact fact_of(const json& finding) {
  const json& subject = member(finding, "subject");
  const std::string id = text(subject, "id"), kind = text(subject, "kind");
  ShortFact fact;
  fact.what = text(finding, "title");
  if (!id.empty() && kind != "job" && !contains(fact.what, id))
    fact.what += fmt::format(" ({})", shortened(kind == "rank" ? "rank " + id : id, 80));
  const json& evidence = list(finding, "evidence");
  if (!evidence.empty()) {
    fact.where = shortened(place(evidence[0]), kMostColumns);
    fact.words = shortened(quoted(evidence[0]), kMostColumns);
  }
  fact.what = shortened(fact.what, kMostColumns);
  return fact;
}

const json& finding_of(const json& document, const json& id) {
  static const json none;
  for (const json& f : list(document, "findings"))
    if (member(f, "id") == id) return f;
  return none;
}

// What the verdict rests on; then what happened, in its order.
std::vector<ShortFact> facts_of(const json& document) {
  std::vector<ShortFact> out;
  std::set<json> used;
  const auto put = [&](const json& id, ShortFact fact) {
    if (out.size() < kMostFacts && !fact.what.empty() && used.insert(id).second)
      out.push_back(std::move(fact));
  };
  for (const std::string& id : shown_grounds(document))
    put(json(id), fact_of(finding_of(document, json(id))));
  for (const json& link : list(member(document, "verdict"), "chain")) {
    ShortFact fact = fact_of(finding_of(document, member(link, "finding")));
    const std::string who = chain_who(document, link), when = text(link, "time");
    fact.what = shortened(fmt::format("{}{}{}{}", when, when.empty() ? "" : "  ",
                                      who.empty() ? who : who + ": ", text(link, "what")),
                          kMostColumns);
    put(member(link, "finding"), std::move(fact));
  }
  return out;
}

}  // namespace

bool is_report_url(std::string_view url) {
  const std::size_t scheme = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
  if (scheme == 0 || url.size() > kMostUrl || url.size() == scheme ||
      !contains(kUnreserved, url[scheme]))
    return false;
  for (std::size_t i = scheme; i < url.size(); ++i) {
    if (url[i] == '{') {
      const std::size_t end = url.find('}', i);
      const std::string_view name = url.substr(i, end == std::string_view::npos ? 0 : end + 1 - i);
      if (name != "{job}" && name != "{digest}") return false;
      i = end;
    } else if (!contains(kUnreserved, url[i]) &&
               !contains(std::string_view("/%:@!$&()+,;="), url[i])) {
      return false;
    }
  }
  return true;
}

ShortAnswer short_answer(const json& document, const std::string& url) {
  const json& verdict = member(document, "verdict");
  ShortAnswer out;
  const std::string who = accused(document), precision = text(verdict, "precision");
  out.headline = headline(text(verdict, "action"), taken_step(document)) +
                 (who.empty() ? "" : " " + who) +
                 (who.empty() || precision.empty() || precision == "exact" ? ""
                  : precision == "group"                                   ? " (group)"
                                                                           : " (candidates)");
  out.summary = text(verdict, "summary");
  out.about = about(document);
  const auto add = [&](const std::string& part) {
    if (!part.empty()) out.about += (out.about.empty() ? "" : "; ") + part;
  };
  add(sureness(document));
  if (member(member(document, "bundle"), "complete") == false) add("INCOMPLETE BUNDLE");
  out.facts = facts_of(document);
  for (const json& step : list(verdict, "next")) {
    const std::string words = text(step, "text");
    if (words.empty()) continue;
    out.command = text(step, "kind") == "command";
    out.next = (text(step, "kind") == "collect" ? "collect: " : "") + words;
    break;
  }
  out.link = link_of(document, url);
  return out;
}

}  // namespace culprit::report
