// Reading the document without trust: a database may come from anybody, so a member that is
// missing or of another type reads as nothing. What comes out is text as terminal.hpp makes it
// visible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/json.hpp"

namespace culprit::report {

// The document, without the files of its ledger: what grows with the bundle and only few pages
// print. Discarded when the text is no JSON.
nlohmann::json without_ledger(const std::string& document);
// And without the findings that the verdict does not rest on: a page needs ten of 100,000.
nlohmann::json with_grounds(const std::string& document);
// The member; null when the value is no object or has none of that name.
const nlohmann::json& member(const nlohmann::json& object, const char* key);
// The member when it is an array, else an empty one.
const nlohmann::json& list(const nlohmann::json& object, const char* key);
std::string text(const nlohmann::json& object, const char* key);
std::string visible_text(const nlohmann::json& value);
// The time of that name as exactly as it is known: "start_ns" stands beside "start".
std::string exact_time(const nlohmann::json& object, const std::string& key);
std::uint64_t count(const nlohmann::json& object, const char* key);
double number(const nlohmann::json& object, const char* key);

std::string counted(std::uint64_t n, std::string_view what);  // "1 line", "2 lines"
// "path:12", or "path at byte 99" of a binary file.
std::string place(const nlohmann::json& evidence);
// What stands there: the excerpt, behind what was read there where that is known.
std::string quoted(const nlohmann::json& evidence);
// Bytes of the first `most` columns at the most, up to the end of a word where one ends near.
std::size_t cut_at(const std::string& text, std::size_t most);
// So much of the text, and "…" where that is not all of it.
std::string shortened(const std::string& text, std::size_t most);
// What people call a target: the host of a GPU that has no name of its own, the title of a class
// instead of its id. Its kind does not stand in it.
std::string target_id(const nlohmann::json& document, const nlohmann::json& target);
// The same, with the kind before it where the id does not say it: "rank 3", "gpu-07".
std::string target_name(const nlohmann::json& document, const nlohmann::json& target);
// The targets by these names, four at the most: hosts are what people act on, finer parts stand
// behind them. "" of a verdict with nothing to do.
std::string accused(const nlohmann::json& document);
// Which job, when, and how much of it was collected; parts that are not known are left out.
std::string about(const nlohmann::json& document);
// Who did what a link of the chain says: "rank 3", "ranks 0-3,8" instead of how many.
std::string chain_who(const nlohmann::json& document, const nlohmann::json& link);
// The headline of an action: "ISOLATE"; step: the kind of cause that gave the answer.
std::string headline(const std::string& action, const std::string& step);
std::string taken_step(const nlohmann::json& document);
// Ids of the findings that the targets rest on, in their order, each once.
std::vector<std::string> grounds(const nlohmann::json& document);
// What a page shows as evidence: the grounds; of a verdict that names nobody, and asks for
// something, the strongest findings that fired; last what is context.
std::vector<std::string> shown_grounds(const nlohmann::json& document);
// Whether it proves nothing, and shows what stood around.
bool is_context(const nlohmann::json& finding);
// For XML and HTML: the five characters of markup; of control characters visible() has left tabs
// only.
std::string escaped(std::string_view text);
// FNV-1a, 16 hexadecimal digits.
std::string fingerprint(std::string_view text);

// What could be the cause and is not believed, for people: at most two, none of a job that ended
// well or of kinds that say only that the cause is unknown.
std::vector<nlohmann::json> alternatives(const nlohmann::json& document);
// "likely: 41 of 52 such verdicts were right"; "" of an open verdict.
std::string sureness(const nlohmann::json& document);

}  // namespace culprit::report
