// A message for Slack, in Block Kit (https://docs.slack.dev/reference/block-kit/blocks): what
// chat.postMessage and incoming webhooks take as it is. At most 12 of the 50 blocks that a message
// may have, no text over 3,000 characters, none of a header over 150.
//
// Prose is plain_text, where Slack reads no markup; lines of logs and commands stand in code
// spans. `&`, `<` and `>` are escaped in both (docs.slack.dev/messaging/formatting-message-text),
// so no text of a bundle makes a link or a mention, and behind "@" stands a word joiner outside of
// code, for those who post with link_names or parse=full.
#include <algorithm>

#include "report/fields.hpp"
#include "report/report.hpp"
#include "report/short_answer.hpp"

namespace culprit::report {

namespace {

using nlohmann::json;
using ordered = nlohmann::ordered_json;

constexpr std::size_t kMostText = 3000;   // characters of a text object
constexpr std::size_t kMostHeader = 150;  // of a header
constexpr char kCut[] = "…";

enum class In { prose, code };

// Escaped, at most so many bytes; an escape or a character is not cut in two.
std::string slack_text(const std::string& text, std::size_t most, In in) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    std::string piece = text.substr(at, end - at);
    if (piece == "&")
      piece = "&amp;";
    else if (piece == "<")
      piece = "&lt;";
    else if (piece == ">")
      piece = "&gt;";
    else if (piece == "@" && in == In::prose)
      piece = "@\u2060";
    else if (piece == "`" && in == In::code)
      piece = "\u02CB";  // modifier letter grave accent: there is no escape for what ends code
    if (out.size() + piece.size() + (end < text.size() ? sizeof kCut - 1 : 0) > most)
      return out + kCut;
    out += piece;
    at = end;
  }
  return out;
}

ordered plain(const std::string& text, std::size_t most) {
  std::string shown = slack_text(text, most, In::prose);
  return {{"type", "plain_text"}, {"text", shown.empty() ? "-" : shown}, {"emoji", false}};
}

// Our own markup around what is escaped; verbatim: Slack looks for no names and addresses in it.
ordered markup(const std::string& text) {
  return {{"type", "mrkdwn"}, {"text", text}, {"verbatim", true}};
}

std::string code_block(const std::string& text) {
  return "```\n" + slack_text(text, kMostText - 8, In::code) + "\n```";
}

std::string code_span(const std::string& text) {
  return "`" + slack_text(text, kMostText - 2, In::code) + "`";
}

ordered section(ordered text) { return {{"type", "section"}, {"text", std::move(text)}}; }

ordered context(ordered text) {
  return {{"type", "context"}, {"elements", ordered::array({std::move(text)})}};
}

std::string to_slack(const std::string& document, const RenderOptions& options) {
  const ShortAnswer answer = short_answer(with_grounds(document), options.url);
  ordered blocks = ordered::array();
  // The id tells bundle/own_files.cpp whose words these are.
  blocks.push_back({{"type", "header"},
                    {"block_id", "culprit-verdict"},
                    {"text", plain(answer.headline, kMostHeader)}});
  if (!answer.summary.empty()) blocks.push_back(section(plain(answer.summary, kMostText)));
  for (const ShortFact& fact : answer.facts) {
    blocks.push_back(section(plain("• " + fact.what, kMostText)));
    if (!fact.where.empty())
      blocks.push_back(
          context(markup(code_span(fact.where + (fact.words.empty() ? "" : "  " + fact.words)))));
  }
  if (!answer.next.empty()) {
    blocks.push_back(
        section(plain("Next:" + (answer.command ? "" : " " + answer.next), kMostText)));
    if (answer.command) blocks.push_back(section(markup(code_block(answer.next))));
  }
  if (!answer.about.empty()) blocks.push_back(context(plain(answer.about, kMostText)));
  if (!answer.link.empty())
    blocks.push_back(context(
        markup("<" + slack_text(answer.link, kMostText - 20, In::code) + "|whole report>")));
  const std::string summary = answer.summary.empty() ? "" : ": " + answer.summary;
  return json_text(ordered{{"blocks", std::move(blocks)},
                           {"text", slack_text(answer.headline + summary, kMostText, In::prose)}}) +
         "\n";
}

}  // namespace

extern constinit const Format kSlack{"slack", "", to_slack};

}  // namespace culprit::report
