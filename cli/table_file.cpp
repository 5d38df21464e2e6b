#include "table_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "command.hpp"

namespace culprit::cli {

namespace {

constexpr std::size_t kTold = 5;  // rejects of a table, each in a line
constexpr const char* kForms = "a table is CSV, TSV, JSON or JSON lines";

Result<std::string> read_whole(const std::string& path, std::size_t most) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr)
    return fail(fmt::format("cannot open the table: {}", std::strerror(errno)))
        .at({path, 0})
        .hint(kForms);
  std::string out;
  std::string block(1 << 18, '\0');
  std::size_t got = 0;
  errno = 0;
  // One byte more than allowed tells read_bare_table that it is too large.
  while (out.size() <= most && (got = std::fread(block.data(), 1, block.size(), file)) > 0)
    out.append(block, 0, got);
  const bool broken = std::ferror(file) != 0;
  const int reason = errno;
  if (file != stdin) std::fclose(file);
  if (broken)
    return fail(reason == EISDIR ? "this is a folder, not a table"
                                 : fmt::format("cannot read the table: {}", std::strerror(reason)))
        .at({path, 0})
        .hint(kForms);
  return out;
}

}  // namespace

Result<ingest::BareTable> read_table_file(const Arguments& arguments, const std::string& path) {
  const ingest::TableOptions options;
  CULPRIT_TRY(bytes, read_whole(path, options.limits.bytes));
  CULPRIT_TRY(table, ingest::read_bare_table(std::move(bytes), path, options));
  for (std::size_t i = 0; i < table.rejects.size() && i < kTold; ++i) {
    const ingest::TableReject& r = table.rejects[i];
    remark(arguments,
           fmt::format("{}{}: {}: {}", path, r.line > 0 ? fmt::format(":{}", r.line) : "", r.code,
                       r.excerpt.substr(0, 80)));
  }
  if (table.rejected > kTold)
    remark(arguments, fmt::format("{}: {} lines or cells could not be read", path, table.rejected));
  return table;
}

}  // namespace culprit::cli
