// The Model Context Protocol (modelcontextprotocol.io/specification/2025-11-25) for what reads
// messages, one JSON-RPC 2.0 message a line: tools and resources of somebody else. No input, no
// output, no clock: a message in, at most one out.
//
// Every text of an answer goes through report::visible(): no control or bidirectional character of
// a log reaches a client.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/json.hpp"
#include "model/result.hpp"

namespace culprit::mcp {

using Json = nlohmann::ordered_json;

struct Tool {
  std::string name, title, description;
  Json input;  // JSON Schema of its arguments, of the keywords that schema::validate knows
  // arguments: an object that keeps to the schema. An error is told to the client as the tool's.
  std::function<Result<Json>(const nlohmann::json& arguments)> call;
};

struct Resource {
  std::string uri, name, description, mime;
  std::function<Result<std::string>()> read;
};

struct Service {
  std::string name, version, instructions;
  std::vector<Tool> tools;  // in the order in which they are listed; so are resources
  std::vector<Resource> resources;
};

inline constexpr std::size_t kMostMessageBytes = 1 << 20;  // of a message to us
inline constexpr std::size_t kMostAnswerBytes = 4 << 20;   // of an answer, before it is escaped

// Versions of the protocol that are spoken, the newest first.
std::vector<std::string_view> versions();

class Server {
 public:
  explicit Server(Service service);

  // What to send back to one message (a line, without its end): a line without its end; nothing to
  // a notification or a response. Of any bytes.
  std::optional<std::string> answer(std::string_view message);
  // What to send back to a message that is longer than kMostMessageBytes.
  static std::string too_long();

 private:
  // Why there is no result: an error of JSON-RPC.
  struct Refusal {
    int code;
    std::string message;
  };
  using Outcome = std::variant<Json, Refusal>;
  using Reply = std::optional<Json>;
  Reply reply_to(const nlohmann::json& message);
  Outcome result_of(const std::string& method, const nlohmann::json& params);
  Outcome initialize(const nlohmann::json& params);
  Json list_tools() const;
  Json list_resources() const;
  Outcome call_tool(const nlohmann::json& params) const;
  Outcome read_resource(const nlohmann::json& params) const;

  Service service_;
  std::string version_;  // "" until a client has said hello
};

}  // namespace culprit::mcp
