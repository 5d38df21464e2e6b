// The protocol, message by message: what is answered, and with which code what is not.
#include "mcp/server.hpp"

#include <gtest/gtest.h>

#include "schema/schema.hpp"

namespace culprit::mcp {
namespace {

using nlohmann::json;

Service service() {
  Service out{"culprit", "1.2.3", "ask", {}, {}};
  const Json input{{"type", "object"},
                   {"properties", {{"word", {{"type", "string"}}}}},
                   {"required", {"word"}},
                   {"additionalProperties", false}};
  out.tools.push_back(
      {"echo", "Echo", "says it again", input, [](const json& arguments) -> Result<Json> {
         return Json{{"said", arguments["word"].get<std::string>()}};
       }});
  out.tools.push_back(
      {"refuse", "Refuse", "never", Json{{"type", "object"}},
       [](const json&) -> Result<Json> { return usage_error("no\x1b[31m").hint("ask for less"); }});
  out.tools.push_back(
      {"much", "Much", "too much", Json{{"type", "object"}}, [](const json&) -> Result<Json> {
         return Json{{"text", std::string(kMostAnswerBytes, 'x')}};
       }});
  out.resources.push_back({"culprit://a", "a", "first", "text/plain",
                           []() -> Result<std::string> { return std::string("one\n\x1btwo"); }});
  return out;
}

class McpServer : public testing::Test {
 protected:
  json ask(const std::string& message) {
    const auto answer = server_.answer(message);
    if (!answer) return nullptr;
    EXPECT_EQ(answer->find('\n'), std::string::npos);
    return json::parse(*answer);
  }
  json hello(const std::string& version = "2025-11-25") {
    return ask(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":")" +
               version + R"(","capabilities":{},"clientInfo":{"name":"t","version":"0"}}})");
  }
  json call(const std::string& tool, const std::string& arguments) {
    return ask(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":")" + tool +
               R"(","arguments":)" + arguments + "}}");
  }
  int code(const std::string& message) {
    const json answer = ask(message);
    return answer.is_object() && answer.contains("error") ? answer["error"]["code"].get<int>() : 0;
  }
  Server server_{service()};
};

TEST_F(McpServer, AgreesOnAVersion) {
  for (const std::string_view version : versions()) {
    const json answer = hello(std::string(version));
    EXPECT_EQ(answer["result"]["protocolVersion"], version);
    EXPECT_EQ(answer["result"]["serverInfo"]["name"], "culprit");
    EXPECT_TRUE(answer["result"]["capabilities"].contains("tools"));
    EXPECT_TRUE(answer["result"]["capabilities"].contains("resources"));
  }
  EXPECT_EQ(hello("1999-01-01")["result"]["protocolVersion"], versions().front());
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})"), -32602);
}

TEST_F(McpServer, NothingButPingsComeBeforeHello) {
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":"p","method":"ping"})"),
            (json{{"jsonrpc", "2.0"}, {"id", "p"}, {"result", json::object()}}));
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), -32600);
}

TEST_F(McpServer, ListsWhatThereIs) {
  hello();
  const json tools = ask(R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})")["result"]["tools"];
  ASSERT_EQ(tools.size(), 3u);
  EXPECT_EQ(tools[0]["name"], "echo");
  EXPECT_EQ(tools[0]["inputSchema"]["required"], json({"word"}));
  EXPECT_EQ(tools[0]["annotations"]["readOnlyHint"], true);
  EXPECT_EQ(
      ask(R"({"jsonrpc":"2.0","id":2,"method":"resources/list"})")["result"]["resources"][0]["uri"],
      "culprit://a");
  EXPECT_EQ(ask(R"({"jsonrpc":"2.0","id":2,"method":"resources/templates/list"})")["result"],
            (json{{"resourceTemplates", json::array()}}));
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2"}})"),
            -32602);
}

TEST_F(McpServer, CallsTools) {
  hello();
  const json good = call("echo", R"({"word":"a\u001b\u202eb\nc"})")["result"];
  EXPECT_EQ(good["isError"], false);
  EXPECT_EQ(good["content"][0]["type"], "text");
  EXPECT_EQ(json::parse(good["content"][0]["text"].get<std::string>())["said"],
            "a\\x1b\\u202eb\nc");
  // What a model can mend is the tool's answer, what a client did wrong is the protocol's error.
  for (const char* bad : {"{}", R"({"word":3})", R"({"word":"a","more":1})", "[]", "7"})
    EXPECT_EQ(call("echo", bad)["result"]["isError"], true) << bad;
  const json refused = call("refuse", "{}")["result"];
  EXPECT_EQ(refused["isError"], true);
  EXPECT_EQ(refused["content"][0]["text"], "no\\x1b[31m\nhelp: ask for less");
  EXPECT_EQ(call("much", "{}")["result"]["isError"], true);
  EXPECT_EQ(call("nobody", "{}")["error"]["code"], -32602);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call"})"), -32602);
}

TEST_F(McpServer, ReadsResources) {
  hello();
  const json read =
      ask(R"({"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"culprit://a"}})");
  EXPECT_EQ(read["result"]["contents"][0]["text"], "one\n\\x1btwo");
  EXPECT_EQ(
      code(R"({"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"file:///etc"}})"),
      -32002);
}

TEST_F(McpServer, ErrorsHaveTheirCodes) {
  hello();
  struct Case {
    const char* message;
    int code;
  };
  for (const Case& c : {Case{"{", -32700},
                        {"\xff", -32700},
                        {"nonsense", -32700},
                        {"1", -32600},
                        {"[]", -32600},
                        {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])", -32600},
                        {R"({"id":1,"method":"ping"})", -32600},
                        {R"({"jsonrpc":"1.0","id":1,"method":"ping"})", -32600},
                        {R"({"jsonrpc":"2.0","id":1})", -32600},
                        {R"({"jsonrpc":"2.0","id":1,"method":3})", -32600},
                        {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", -32600},
                        {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", -32600},
                        {R"({"jsonrpc":"2.0","id":[],"method":"ping"})", -32600},
                        {R"({"jsonrpc":"2.0","id":1,"method":"nothing"})", -32601},
                        {R"({"jsonrpc":"2.0","id":1,"method":"prompts/list"})", -32601},
                        {R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":3})", -32602}})
    EXPECT_EQ(code(c.message), c.code) << c.message;
  EXPECT_EQ(code("\"" + std::string(kMostMessageBytes, 'x') + "\""), -32600);
  EXPECT_EQ(json::parse(Server::too_long())["error"]["code"], -32600);
  EXPECT_EQ(code(std::string(500'000, '[')), -32700) << "deep";
}

TEST_F(McpServer, NotificationsAndResponsesHaveNoAnswer) {
  hello();
  for (const char* quiet :
       {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
        R"({"jsonrpc":"2.0","method":"nothing","params":3})",
        R"({"jsonrpc":"2.0","id":4,"result":{}})",
        R"({"jsonrpc":"2.0","id":4,"error":{"code":1,"message":""}})", "", " \r"})
    EXPECT_FALSE(server_.answer(quiet)) << quiet;
}

TEST_F(McpServer, BatchesBelongToOneVersion) {
  hello("2025-03-26");
  const json answers =
      ask(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},3])");
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0]["id"], 1);
  EXPECT_EQ(answers[1]["error"]["code"], -32600);
  EXPECT_FALSE(server_.answer(R"([{"jsonrpc":"2.0","method":"x"}])"));
}

}  // namespace
}  // namespace culprit::mcp
