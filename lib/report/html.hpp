// The parts of the HTML report: each makes one section out of the document, "" where there is
// nothing to show. All text goes through html_text(); nothing is loaded, no script runs.
#pragma once

#include <map>
#include <string>

#include "report/fields.hpp"
#include "report/report.hpp"

namespace culprit::report {

inline std::string html_text(const nlohmann::json& object, const char* key) {
  return escaped(text(object, key));
}

// <section> with a heading; a lead may explain in a sentence how to read it.
std::string html_section(const char* id, const std::string& title, const std::string& lead,
                         const std::string& body);

// An inline picture with its text alternatives. id: for aria-labelledby, unique on the page.
std::string html_picture(const char* id, int width, int height, const std::string& title,
                         const std::string& description, const std::string& content);

// "02:40:08" of a time, with its date when `date`; "" when it is not known.
std::string html_clock(const std::string& iso, bool date = false);

// A name cut to so many characters, for a label; whole in a <title>.
std::string html_label(const std::string& name, std::size_t most);

// Where on the page a finding stands, by its id; those that are only counted have no place.
std::map<std::string, std::string> html_anchors(const nlohmann::json& document);
// A link to the finding around `content`, or `content` alone when it has no place.
std::string html_link(const std::map<std::string, std::string>& anchors, const std::string& id,
                      const std::string& content);

std::string html_verdict(const nlohmann::json& document);
std::string html_timeline(const nlohmann::json& document);
std::string html_rank_map(const nlohmann::json& document);
std::string html_waits(const nlohmann::json& document);
std::string html_stacks(const nlohmann::json& document);
std::string html_metrics(const nlohmann::json& document);
std::string html_settings(const nlohmann::json& document);
std::string html_steps(const nlohmann::json& document);
std::string html_time(const nlohmann::json& document);
std::string html_evidence(const nlohmann::json& document, const RenderOptions& options);
std::string html_other_findings(const nlohmann::json& document, const RenderOptions& options);
std::string html_considered(const nlohmann::json& document);
std::string html_ledger(const nlohmann::json& document);
std::string html_notes(const nlohmann::json& document);

}  // namespace culprit::report
