// sql: questions to a database, one on the command line or many on standard input, read-only.
#include <cmath>
#include <iostream>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.hpp"
#include "incident.hpp"
#include "model/csv.hpp"
#include "model/json.hpp"
#include "pack.hpp"
#include "report/terminal.hpp"
#include "schema/schema.hpp"
#include "store/database.hpp"

namespace culprit::cli {

namespace {

constexpr std::uint64_t kMostRows = 1'000'000, kMostSeconds = 3'600;
constexpr std::size_t kMostCellBytes = 1'000'000, kMostReplyBytes = 256'000'000;
constexpr std::size_t kMostStatementBytes = 100'000;

constexpr const char* kWords =
    "SELECT ...;        a query; it may go over several lines\n"
    ".tables            tables, with what a row is\n"
    ".views             views: joins that are asked for often\n"
    ".schema [NAME]     how a table or view is defined, with a comment on each column\n"
    ".help, .quit\n";

// A table or view of schemas/store.sql: its comment and its text, as they stand there.
struct Definition {
  bool view = false;
  std::string name, comment, text;
};

std::vector<Definition> definitions() {
  std::vector<Definition> out;
  std::string comment;
  bool inside = false;
  const std::string_view all = schema::text("store.sql");
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    const std::string_view line = all.substr(at, end - at);
    at = end + 1;
    for (const std::string_view head : {"CREATE TABLE ", "CREATE VIEW "})
      if (!inside && line.starts_with(head)) {
        const std::string_view rest = line.substr(head.size());
        out.push_back({head == "CREATE VIEW ",
                       std::string(rest.substr(0, rest.find_first_of(" ("))), comment, ""});
        inside = true;
      }
    if (inside) {
      out.back().text += std::string(line) + "\n";
      const std::string_view code = line.substr(0, line.find(" --"));
      inside = !code.ends_with(';');
      if (!inside) comment.clear();
    } else if (line.starts_with("-- ")) {
      comment += (comment.empty() ? "" : " ") + std::string(line.substr(3));
    } else {
      comment.clear();
    }
  }
  return out;
}

std::string listed(bool views) {
  std::string out;
  for (const Definition& one : definitions())
    if (one.view == views)
      out += fmt::format("{:<20} {}\n", one.name, one.comment.substr(0, one.comment.find(". ")));
  return out;
}

Result<std::string> defined(const std::string& name) {
  std::string out;
  std::vector<std::string> names;
  for (const Definition& one : definitions()) {
    names.push_back(one.name);
    if (name.empty() || name == one.name) out += "-- " + one.comment + "\n" + one.text;
  }
  if (!out.empty()) return out;
  const std::string near = schema::nearest(name, names);
  return usage_error(fmt::format("there is no table or view '{}'", name))
      .hint(near.empty() ? ".tables and .views list them"
                         : fmt::format("did you mean '{}'?", near));
}

nlohmann::ordered_json json_of(const store::QueryCell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const auto* real = std::get_if<double>(&cell);
  return real != nullptr && std::isfinite(*real) ? nlohmann::ordered_json(*real) : nullptr;
}

std::string text_of(const store::QueryCell& cell, const std::string& format) {
  const auto* text = std::get_if<std::string>(&cell);
  if (text != nullptr) return format == "csv" ? csv_cell(*text) : report::visible(*text);
  const auto value = json_of(cell);
  return value.is_null() ? "" : value.dump();
}

// text: as sqlite3 does, so that a query of the manual gives the same here and there.
std::string printed(const store::QueryAnswer& answer, const std::string& format) {
  std::string out;
  if (format == "csv") out += fmt::format("{}\n", fmt::join(answer.columns, ","));
  for (const auto& row : answer.rows) {
    if (format == "jsonl") {
      nlohmann::ordered_json object;
      for (std::size_t i = 0; i < row.size(); ++i) object[answer.columns[i]] = json_of(row[i]);
      out += json_text(object, -1);
    } else {
      for (std::size_t i = 0; i < row.size(); ++i)
        out += (i == 0 ? "" : format == "csv" ? "," : "|") + text_of(row[i], format);
    }
    out += "\n";
  }
  return out;
}

class Session {
 public:
  Session(const Arguments& arguments, const store::Database& db, store::QueryLimits limits)
      : arguments_(arguments), db_(db), limits_(limits) {
    format_ = arguments.has("json") ? "jsonl" : arguments.get("format", "text");
  }

  Result<> ask(const std::string& sql) const {
    CULPRIT_TRY(answer, db_.query(sql, limits_));
    print(printed(answer, format_));
    if (answer.cut)
      remark(arguments_, fmt::format("there are more rows than these {}: --rows N, or ask for less",
                                     answer.rows.size()));
    return {};
  }

  // From standard input; on a terminal an error ends nothing, else it ends all.
  Result<> talk() const {
    const bool person = isatty(STDIN_FILENO) == 1;
    if (person) complain("Queries end with ';', .help tells more.\n");
    std::string statement;
    const auto prompt = [&] {
      if (person) complain(statement.empty() ? "sql> " : "...> ");
    };
    prompt();
    for (std::string line; std::getline(std::cin, line); prompt()) {
      if (statement.empty() && (line == ".quit" || line == ".exit")) return {};
      const Result<> done = take(line + "\n", statement);
      if (done) continue;
      if (!person) return done.error();
      print_error(done.error());
      statement.clear();
    }
    return empty(statement) ? Result<>{} : ask(statement);
  }

 private:
  static bool empty(const std::string& statement) {
    return statement.find_first_not_of("; \t\r\n") == std::string::npos;
  }
  // A line more: asks what it completes.
  Result<> take(const std::string& line, std::string& statement) const {
    if (statement.size() + line.size() > kMostStatementBytes)
      return usage_error("a query on standard input is longer than 100 kB");
    if (statement.empty() && line.front() == '.') return command(line);
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(';', at), line.size() - 1) + 1;
      statement.append(line, at, end - at);
      at = end;
      if (empty(statement)) statement.clear();
      if (statement.empty() || !store::complete_statement(statement)) continue;
      const std::string whole = std::exchange(statement, "");
      CULPRIT_CHECK(ask(whole));
    }
    return {};
  }

  static Result<> command(const std::string& line) {
    const std::size_t end = line.find_last_not_of(" \t\r\n") + 1, space = line.find(' ');
    const std::string word = line.substr(0, std::min(space, end));
    const std::size_t from = std::min(line.find_first_not_of(' ', std::min(space, end)), end);
    if (word == ".tables") return print(listed(false)), Result<>{};
    if (word == ".views") return print(listed(true)), Result<>{};
    if (word == ".help") return print(kWords), Result<>{};
    if (word != ".schema")
      return usage_error(fmt::format("'{}' is not a command", word)).hint(".help lists them");
    CULPRIT_TRY(text, defined(line.substr(from, end - from)));
    print(text);
    return {};
  }

  const Arguments& arguments_;
  const store::Database& db_;
  store::QueryLimits limits_;
  std::string format_;
};

Result<Exit> run_sql(const Arguments& arguments) {
  CULPRIT_CHECK(check_format(arguments, {"text", "csv", "jsonl"}));
  if (!arguments.has("db"))
    return usage_error("sql needs a database").hint("culprit sql -d incident.db 'SELECT ...'");
  CULPRIT_TRY(rows, arguments.number("rows", 1'000));
  CULPRIT_TRY(seconds, arguments.number("seconds", 30));
  if (rows == 0 || rows > kMostRows || seconds == 0 || seconds > kMostSeconds)
    return usage_error("--rows is 1 to 1,000,000 and --seconds 1 to 3600");
  CULPRIT_TRY(db, open_database(arguments, store::Access::read));
  const Session session(arguments, db,
                        {.rows = static_cast<std::size_t>(rows),
                         .cell_bytes = kMostCellBytes,
                         .answer_bytes = kMostReplyBytes,
                         .time = std::chrono::seconds(seconds)});
  for (const std::string& query : arguments.positional()) CULPRIT_CHECK(session.ask(query));
  if (arguments.positional().empty()) CULPRIT_CHECK(session.talk());
  return Exit::finished;
}

constexpr OptionSpec kSqlOptions[] = {
    {"db,d", "FILE", "the database, or the folder that `diagnose -o` wrote"},
    {"format", "FORMAT", "text (the default), csv or jsonl"},
    {"json", nullptr, "the same as --format jsonl"},
    {"rows", "N", "most rows of an answer (default 1000)"},
    {"seconds", "N", "most seconds of a query (default 30)"},
};

}  // namespace

constinit const Command kSql{
    "sql",
    "questions to a database in SQL, read-only",
    "sql -d FILE [QUERY...] [options]",
    "  culprit sql -d report/ 'SELECT time, host, class FROM timeline LIMIT 20'\n"
    "  culprit sql -d report/ <queries.sql\n"
    "  culprit sql -d report/                # .tables, .views, .schema NAME, .help\n\n"
    "  Without QUERY it reads queries from standard input. It needs no sqlite3 and writes "
    "nothing:\n"
    "  a query is one SELECT, with limits of time and rows.\n",
    kSqlOptions,
    run_sql};

}  // namespace culprit::cli
