// Any bytes as the messages of a client of the Model Context Protocol, a line each: no message
// crashes the server, each answer is one line of JSON-RPC, and nothing unseen gets out.
#include <string_view>

#include "any_rows.hpp"
#include "mcp/server.hpp"

namespace {

using namespace culprit;
using test::hold;

mcp::Service service() {
  mcp::Service out{"culprit", "0", "", {}, {}};
  const mcp::Json word{{"type", "object"},
                       {"properties", {{"word", {{"type", "string"}}}}},
                       {"additionalProperties", false}};
  out.tools.push_back({"echo", "", "", word, [](const nlohmann::json& a) -> Result<mcp::Json> {
                         if (!a.contains("word")) return usage_error("no word");
                         return mcp::Json{{"said", a["word"].get<std::string>()}};
                       }});
  out.resources.push_back(
      {"culprit://a", "", "", "", []() -> Result<std::string> { return std::string("a\x1b\n"); }});
  return out;
}

void check(const std::string& answer) {
  hold(answer.find('\n') == std::string::npos, "more than a line");
  const auto parsed = nlohmann::json::parse(answer, nullptr, false);
  const auto is_reply = [](const nlohmann::json& one) {
    return one.is_object() && one.contains("id") && one["jsonrpc"] == "2.0" &&
           one.contains("result") != one.contains("error");
  };
  if (!parsed.is_array()) return hold(is_reply(parsed), "an answer that is none");
  for (const auto& one : parsed) hold(is_reply(one), "an answer that is none");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  mcp::Server server(service());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    if (const auto answer = server.answer(bytes.substr(at, end - at))) check(*answer);
    at = end + 1;
  }
  return 0;
}
