#include "mcp/server.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/fields.hpp"
#include "report/terminal.hpp"
#include "schema/schema.hpp"

namespace culprit::mcp {

namespace {

using nlohmann::json;

// JSON-RPC 2.0, section 5.1; the last is MCP's own (server/resources, error handling).
enum Code {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kResourceNotFound = -32002
};

constexpr std::string_view kVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::string_view kWithBatches = "2025-03-26";  // the only one that has them

Json error_reply(Json id, int code, const std::string& message) {
  return {{"jsonrpc", "2.0"},
          {"id", std::move(id)},
          {"error", {{"code", code}, {"message", report::visible(message)}}}};
}

std::string text(const json& object, const char* key) {
  const json& value = report::member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// Line by line, since the ends of lines are no part of what could move a cursor.
std::string visible_lines(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += report::visible(std::string_view(text).substr(at, end - at));
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

void make_visible(Json& value) {
  if (value.is_string()) {
    value = visible_lines(value.get<std::string>());
  } else if (value.is_array()) {
    for (Json& one : value) make_visible(one);
  } else if (value.is_object()) {
    Json out = Json::object();
    for (auto& [key, one] : value.items()) {
      make_visible(one);
      out[report::visible(key)] = std::move(one);
    }
    value = std::move(out);
  }
}

std::string printed(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json text_content(std::string text, bool failed) {
  return {{"content", Json::array({{{"type", "text"}, {"text", std::move(text)}}})},
          {"isError", failed}};
}

// Strings, and whole numbers as JSON-RPC wants them; null is none in MCP.
bool is_id(const json& id) { return id.is_string() || id.is_number_integer(); }

}  // namespace

std::vector<std::string_view> versions() { return {std::begin(kVersions), std::end(kVersions)}; }

Server::Server(Service service) : service_(std::move(service)) {}

std::string Server::too_long() {
  return printed(error_reply(
      nullptr, kInvalidRequest,
      fmt::format("this message is longer than {} bytes; it was not read", kMostMessageBytes)));
}

std::optional<std::string> Server::answer(std::string_view message) {
  if (message.find_first_not_of(" \t\r") == std::string_view::npos) return std::nullopt;
  if (message.size() > kMostMessageBytes) return too_long();
  const json parsed = parse_json(message);
  if (parsed.is_discarded())
    return printed(error_reply(nullptr, kParseError, "this line is not JSON in UTF-8"));
  if (!parsed.is_array()) {
    const Reply reply = reply_to(parsed);
    return reply ? std::optional(printed(*reply)) : std::nullopt;
  }
  if (version_ != kWithBatches || parsed.empty())
    return printed(error_reply(nullptr, kInvalidRequest, "a message is one JSON object"));
  Json replies = Json::array();
  for (const json& one : parsed)
    if (Reply reply = reply_to(one)) replies.push_back(std::move(*reply));
  return replies.empty() ? std::nullopt : std::optional(printed(replies));
}

Server::Reply Server::reply_to(const json& message) {
  const json& id = report::member(message, "id");
  const Json shown = is_id(id) ? parse_json<Json>(id.dump()) : Json(nullptr);
  if (!message.is_object())
    return error_reply(shown, kInvalidRequest, "a message is a JSON object");
  const bool response = message.contains("result") || message.contains("error");
  if (response && !message.contains("method")) return std::nullopt;  // nothing was asked
  if (text(message, "jsonrpc") != "2.0")
    return error_reply(shown, kInvalidRequest, "\"jsonrpc\" is not \"2.0\"");
  if (!report::member(message, "method").is_string())
    return error_reply(shown, kInvalidRequest, "\"method\" is not a string");
  if (!message.contains("id")) return std::nullopt;  // a notification
  if (!is_id(id))
    return error_reply(shown, kInvalidRequest, "\"id\" is neither a string nor a whole number");
  const json& params = report::member(message, "params");
  try {
    if (!params.is_null() && !params.is_object())
      return error_reply(shown, kInvalidParams, "\"params\" is not an object");
    Outcome outcome = result_of(text(message, "method"), params);
    if (const auto* refusal = std::get_if<Refusal>(&outcome))
      return error_reply(shown, refusal->code, refusal->message);
    return Json{{"jsonrpc", "2.0"}, {"id", shown}, {"result", *std::get_if<Json>(&outcome)}};
  } catch (const json::exception& error) {
    return error_reply(shown, kInternalError, error.what());
  }
}

Server::Outcome Server::result_of(const std::string& method, const json& params) {
  if (method == "ping") return Outcome(Json::object());
  if (method == "initialize") return initialize(params);
  if (version_.empty()) return Refusal{kInvalidRequest, "\"initialize\" comes first"};
  if (method == "tools/call") return call_tool(params);
  if (method == "resources/read") return read_resource(params);
  const bool lists =
      method == "tools/list" || method == "resources/list" || method == "resources/templates/list";
  if (!lists) return Refusal{kMethodNotFound, fmt::format("there is no method '{}'", method)};
  // All of a list stands on its first page.
  if (params.is_object() && params.contains("cursor"))
    return Refusal{kInvalidParams, "no list has a second page"};
  if (method == "tools/list") return Outcome(list_tools());
  if (method == "resources/list") return Outcome(list_resources());
  return Outcome(Json{{"resourceTemplates", Json::array()}});
}

Server::Outcome Server::initialize(const json& params) {
  const std::string asked = text(params, "protocolVersion");
  if (asked.empty()) return Refusal{kInvalidParams, "\"protocolVersion\" is missing"};
  const auto known = std::ranges::find(kVersions, asked);
  version_ = known == std::end(kVersions) ? kVersions[0] : *known;
  return Json{{"protocolVersion", version_},
              {"capabilities", {{"tools", Json::object()}, {"resources", Json::object()}}},
              {"serverInfo", {{"name", service_.name}, {"version", service_.version}}},
              {"instructions", service_.instructions}};
}

Json Server::list_tools() const {
  Json tools = Json::array();
  for (const Tool& tool : service_.tools)
    tools.push_back({{"name", tool.name},
                     {"title", tool.title},
                     {"description", tool.description},
                     {"inputSchema", tool.input},
                     {"annotations",
                      {{"title", tool.title},
                       {"readOnlyHint", true},
                       {"destructiveHint", false},
                       {"idempotentHint", true},
                       {"openWorldHint", false}}}});
  return {{"tools", std::move(tools)}};
}

Json Server::list_resources() const {
  Json resources = Json::array();
  for (const Resource& one : service_.resources)
    resources.push_back({{"uri", one.uri},
                         {"name", one.name},
                         {"description", one.description},
                         {"mimeType", one.mime}});
  return {{"resources", std::move(resources)}};
}

// An unknown tool is an error of the protocol; what a model can mend is an answer of the tool.
Server::Outcome Server::call_tool(const json& params) const {
  const std::string name = text(params, "name");
  const auto tool = std::ranges::find(service_.tools, name, &Tool::name);
  if (tool == service_.tools.end())
    return Refusal{kInvalidParams, fmt::format("there is no tool '{}'", name)};
  const json& given = report::member(params, "arguments");
  const json arguments = given.is_null() ? json::object() : given;
  for (const schema::Violation& v : schema::validate(arguments, parse_json(tool->input.dump())))
    return text_content(report::visible(fmt::format("arguments{}{}: {}", v.path.empty() ? "" : ".",
                                                    v.path, v.reason)),
                        true);
  Result<Json> answer = tool->call(arguments);
  if (!answer) {
    const Error& error = answer.error();
    return text_content(
        visible_lines(error.what + (error.help.empty() ? "" : "\nhelp: " + error.help)), true);
  }
  make_visible(*answer);
  std::string out = printed(*answer);
  if (out.size() > kMostAnswerBytes)
    return text_content(
        fmt::format("this answer is longer than {} bytes: ask for less", kMostAnswerBytes), true);
  return text_content(std::move(out), false);
}

Server::Outcome Server::read_resource(const json& params) const {
  const std::string uri = text(params, "uri");
  const auto found = std::ranges::find(service_.resources, uri, &Resource::uri);
  if (found == service_.resources.end())
    return Refusal{kResourceNotFound, fmt::format("there is no resource '{}'", uri)};
  const Result<std::string> body = found->read();
  if (!body) return Refusal{kInternalError, body.error().what};
  if (body->size() > kMostAnswerBytes)
    return Refusal{kInternalError,
                   fmt::format("this resource is longer than {} bytes: the tools give parts of it",
                               kMostAnswerBytes)};
  return Json{
      {"contents",
       Json::array({{{"uri", uri}, {"mimeType", found->mime}, {"text", visible_lines(*body)}}})}};
}

}  // namespace culprit::mcp
