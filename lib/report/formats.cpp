#include <algorithm>

#include "report/report.hpp"

namespace culprit::report {

extern const Format kText, kJson, kMarkdown, kHtml, kJunit, kSarif, kCsv, kSlack, kJira;

namespace {

constexpr const Format* kAll[] = {&kText,  &kJson, &kMarkdown, &kHtml, &kJunit,
                                  &kSarif, &kCsv,  &kSlack,    &kJira};

std::string as_it_is(const std::string& document, const RenderOptions&) { return document; }

}  // namespace

constinit const char kFormatNames[] = "text, json, md, html, junit, sarif, csv, slack or jira";
constinit const Format kJson{"json", "report.json", as_it_is};

std::span<const Format* const> formats() { return kAll; }

const Format* find_format(std::string_view name) {
  const auto it = std::ranges::find_if(kAll, [&](const Format* f) { return f->name == name; });
  return it == std::end(kAll) ? nullptr : *it;
}

}  // namespace culprit::report
