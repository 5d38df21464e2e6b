// The description of a Jira issue, or a comment, as a document in the Atlassian Document Format
// (https://developer.atlassian.com/cloud/jira/platform/apis/document/structure/), which its REST
// API takes since version 3. Texts are nodes: nothing in them is markup, a mention or a link, since
// those are nodes and marks of their own, and the only link is that of the report.
#include "report/fields.hpp"
#include "report/report.hpp"
#include "report/short_answer.hpp"

namespace culprit::report {

namespace {

using ordered = nlohmann::ordered_json;

constexpr std::size_t kMostSaid = 3000;  // of one text; an issue takes 32,767 characters in all

// A node of text may not be empty.
ordered text_node(const std::string& text, const char* mark = nullptr) {
  ordered node{{"type", "text"}, {"text", text.empty() ? "-" : shortened(text, kMostSaid)}};
  if (mark != nullptr) node["marks"] = ordered::array({{{"type", mark}}});
  return node;
}

ordered node(const char* type, ordered content) {
  return {{"type", type}, {"content", std::move(content)}};
}

ordered paragraph(ordered text) { return node("paragraph", ordered::array({std::move(text)})); }

ordered heading(const std::string& text, int level) {
  return {{"type", "heading"},
          {"attrs", {{"level", level}}},
          {"content", ordered::array({text_node(text)})}};
}

ordered fact_item(const ShortFact& fact) {
  ordered content = ordered::array({paragraph(text_node(fact.what, "strong"))});
  if (!fact.where.empty()) {
    ordered line = ordered::array({text_node(fact.where, "code")});
    if (!fact.words.empty()) {
      line.push_back(text_node(" "));
      line.push_back(text_node(fact.words, "code"));
    }
    content.push_back(node("paragraph", std::move(line)));
  }
  return node("listItem", std::move(content));
}

std::string to_jira(const std::string& document, const RenderOptions& options) {
  const ShortAnswer answer = short_answer(with_grounds(document), options.url);
  ordered content = ordered::array({heading(answer.headline, 2)});
  // The id tells bundle/own_files.cpp whose words these are.
  content[0]["attrs"]["localId"] = "culprit-verdict";
  if (!answer.summary.empty()) content.push_back(paragraph(text_node(answer.summary)));
  if (!answer.facts.empty()) {
    ordered items = ordered::array();
    for (const ShortFact& fact : answer.facts) items.push_back(fact_item(fact));
    content.push_back(node("bulletList", std::move(items)));
  }
  if (!answer.next.empty()) {
    content.push_back(heading("Next step", 3));
    content.push_back(answer.command ? node("codeBlock", ordered::array({text_node(answer.next)}))
                                     : paragraph(text_node(answer.next)));
  }
  if (!answer.about.empty()) content.push_back(paragraph(text_node(answer.about, "em")));
  if (!answer.link.empty()) {
    ordered link{{"type", "text"}, {"text", "Whole report"}};
    link["marks"] = ordered::array({{{"type", "link"}, {"attrs", {{"href", answer.link}}}}});
    content.push_back(paragraph(std::move(link)));
  }
  return json_text(ordered{{"version", 1}, {"type", "doc"}, {"content", std::move(content)}}) +
         "\n";
}

}  // namespace

extern constinit const Format kJira{"jira", "", to_jira};

}  // namespace culprit::report
