#include "rules_page.hpp"

#include <fmt/format.h>

#include "report/fields.hpp"
#include "report/html.hpp"
#include "report/html_page.hpp"
#include "report/terminal.hpp"

namespace culprit::cli {

namespace {

constexpr std::size_t kMostSamples = 3;  // the others differ in little

// A user's rule may hold anything.
std::string safe(std::string_view text) { return report::escaped(report::visible(text)); }

std::string fact(const char* what, std::string_view value) {
  return value.empty() ? "" : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", what, safe(value));
}

// The name of one of our words, "" of the one that stands for none.
template <class Term>
std::string_view known(Term term) {
  return term == Term::none ? "" : name(term);
}

std::string facts_of(const rules::Rule& rule) {
  const rules::Meaning& m = rule.meaning;
  return "<dl class=\"facts\">" + fact("rule", rule.id) + fact("class", rule.event_class) +
         fact("component", m.component) + fact("kind of cause", known(m.cause)) +
         fact("symptom", known(m.symptom)) + fact("severity", name(m.severity)) +
         fact("role", name(m.role)) + fact("scope", name(m.scope)) + "</dl>\n";
}

std::string numbers_of(const rules::Rule& rule) {
  if (rule.codes.empty()) return {};
  const std::string before = rule.event_class.substr(0, rule.event_class.find("{code}"));
  std::string out =
      "<h3>Numbers</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"Numbers\"><table class=\"stack\"><thead><tr><th scope=\"col\">number</th><th "
      "scope=\"col\">meaning</th><th scope=\"col\">severity</th><th scope=\"col\">what to do "
      "next</th></tr></thead><tbody>\n";
  for (const auto& [code, m] : rule.codes)
    out += fmt::format(
        "<tr id=\"{}{}\"><th scope=\"row\">{}</th><td><strong>{}</strong> {}</td><td "
        "class=\"keep\">{}</td><td>{}</td></tr>\n",
        safe(before), code, code, safe(m.title), safe(m.why), name(m.severity), safe(m.advice));
  return out + "</tbody></table></div>\n";
}

std::string section_of(const rules::Rule& rule) {
  std::string body = facts_of(rule) + "<h3>What the line looks like</h3>\n";
  for (std::size_t i = 0; i < rule.fires.size() && i < kMostSamples; ++i)
    body += "<pre>" + safe(rule.fires[i]) + "</pre>\n";
  if (!rule.meaning.advice.empty())
    body += "<h3>What to do next</h3>\n<p>" + safe(rule.meaning.advice) + "</p>\n";
  body += numbers_of(rule) + "<h3>Sources</h3>\n<p>" + safe(rule.source) + "</p>\n";
  const std::string id = safe(rule.id);
  return report::html_section(id.c_str(),
                              fmt::format("<a href=\"#{}\">{}</a>", id, safe(rule.meaning.title)),
                              safe(rule.meaning.why), body);
}

std::string index_of(const rules::RulePack& pack) {
  std::map<std::string, std::string> families;
  for (const rules::Rule& rule : pack.rules())
    families[rule.family] +=
        fmt::format("<li><a href=\"#{}\">{}</a></li>\n", safe(rule.id), safe(rule.meaning.title));
  std::string out = "<nav aria-label=\"Rules\">\n";
  for (const auto& [family, links] : families)
    out += fmt::format("<details><summary>{}</summary>\n<ul>\n{}</ul></details>\n", safe(family),
                       links);
  return out + "</nav>\n";
}

}  // namespace

std::string rules_page(const rules::RulePack& pack) {
  std::string body = fmt::format(
      "<main>\n<h1>Log lines of failed training jobs: {}</h1>\n<p class=\"lead\">What lines of GPU "
      "drivers, NCCL, InfiniBand, kernels, schedulers, storage and frameworks mean, what they look "
      "like, and what to do next. The address of a rule is this page with # and its id.</p>\n",
      report::counted(pack.rules().size(), "rule"));
  body += index_of(pack);
  for (const rules::Rule& rule : pack.rules()) body += section_of(rule);
  body +=
      "</main>\n<footer><small>Written by culprit from its rules. Nothing here was loaded from "
      "elsewhere.</small></footer>\n";
  return report::html_page("Log lines of failed training jobs, and what they mean", "", body);
}

}  // namespace culprit::cli
