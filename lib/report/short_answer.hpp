// The verdict as a message of a few lines, for chats and tickets: the answer, three facts, the next
// step. Made from the document; every text has gone through visible(), none is markup yet.
#pragma once

#include <string>
#include <vector>

#include "model/json.hpp"

namespace culprit::report {

struct ShortFact {
  std::string what;   // "GPU has fallen off the bus (gpu-03/0000:3b:00)"
  std::string where;  // "node7/dmesg:12"; "" when no line shows it
  std::string words;  // what stands there
};

struct ShortAnswer {
  std::string headline;          // "ISOLATE gpu-07"
  std::string summary;           // one sentence
  std::string about;             // job, time, how sure; "" = nothing is known
  std::vector<ShortFact> facts;  // three at the most, what the verdict rests on first
  std::string next;              // the first step; "" = nothing to do
  bool command = false;          // next is a command line
  std::string link;              // of the whole report; "" = none
};

// Of any document: what is missing or of another type reads as nothing. url: RenderOptions::url.
ShortAnswer short_answer(const nlohmann::json& document, const std::string& url);

}  // namespace culprit::report
