// Files that this program wrote. Read as evidence they would be our own words coming back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culprit::bundle {

// An incident.db or a fleet.db, by its first bytes (72 suffice).
bool is_own_database(std::string_view head);

// A report, by its first kilobytes alone: of a member that is read once, as those of an archive
// are. The text for a terminal only where these are all there is.
bool is_own_report(std::string_view head, bool whole);

// Which of these names of one folder are ours: databases, what SQLite keeps beside them, the
// reports beside an incident.db, reports in any format wherever they lie, and the working folder of
// a collector. `fd` is the folder;
// `names` are sorted, and so is the answer.
std::vector<std::string> own_files(int fd, const std::vector<std::string>& names);

enum class OwnFile { none, database, fleet, report };
// What the user named. A report is told by what our writers print at its beginning; only files of a
// report's size are looked at.
OwnFile own_file(const std::string& path);

}  // namespace culprit::bundle
