// Cuts the output of tools by machines, and reads each part with the reader of such a file.
#include "ingest/engine/machine_sections.hpp"

#include <algorithm>
#include <set>

#include "ingest/engine/document.hpp"
#include "ingest/engine/host_blocks.hpp"
#include "ingest/engine/network_rows.hpp"
#include "ingest/engine/record_text.hpp"
#include "ingest/engine/text_reader.hpp"
#include "model/contains.hpp"

namespace culprit::ingest {

namespace {

constexpr std::size_t kMostBytesCut = 4u << 20, kMostSections = 4096, kFewestMachines = 2;

// "gx-07: " at the beginning of a line; how long it is.
std::size_t name_before(std::string_view line) {
  const std::size_t colon = line.find(": ");
  const bool ends = colon == std::string_view::npos && line.ends_with(':');  // of an empty line
  const std::size_t end = ends ? line.size() - 1 : colon;
  return end != std::string_view::npos && end > 0 && may_be_asked(line.substr(0, end))
             ? std::min(end + 2, line.size())
             : 0;
}

void add(MachineSection& section, std::string_view text, std::uint64_t number,
         std::uint64_t offset) {
  section.lines.push_back({number, offset, section.text.size()});
  section.text.append(text).append(1, '\n');
}

std::vector<MachineSection> sections_by_prefix(std::string_view bytes) {
  std::vector<MachineSection> out;
  std::size_t others = 0, named = 0;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    const std::size_t cut = name_before(line);
    if (cut == 0) {
      others += !trimmed(line).empty();
      return others <= 2 + named / 4;
    }
    ++named;
    const std::string_view host = line.substr(0, line.find(':'));
    auto at = std::ranges::find(out, host, &MachineSection::host);
    if (at == out.end()) {
      if (out.size() >= kMostSections) return false;
      out.push_back({std::string(host), {}, {}});
      at = out.end() - 1;
    }
    add(*at, line.substr(cut), number, offset + cut);
    return true;
  });
  return others <= named / 4 ? out : std::vector<MachineSection>{};
}

std::vector<MachineSection> sections_by_heading(std::string_view bytes) {
  std::vector<MachineSection> out;
  BlockHeadings headings;
  each_text_line(bytes, [&](std::string_view line, std::uint64_t number, std::size_t offset) {
    if (headings.take(line)) {
      if (!headings.host().empty()) out.push_back({headings.host(), {}, {}});
    } else if (!headings.host().empty()) {
      add(out.back(), line, number, offset);
    }
    return out.size() <= kMostSections;
  });
  return out;
}

// Rows of a section as rows of the text it was cut from.
class SectionSink final : public Sink {
 public:
  // placed: the places of the rows are those of the text.
  SectionSink(Sink& behind, const MachineSection& section, bool placed)
      : behind_(behind), section_(section), placed_(placed) {}

#define CULPRIT_PUT(Row, name) \
  void put(const Row& row) override { pass(row); }
  CULPRIT_ROWS(CULPRIT_PUT)
#undef CULPRIT_PUT
  void put(const Manifest&, const Place&) override {}
  GroupId group(const GroupRow& row) override { return behind_.group(row); }
  SeriesId series(const SeriesRow& row) override {
    SeriesRow own = row;
    if (!own.host) own.host = Host(section_.host);
    return behind_.series(own);
  }

 private:
  void pass(auto row) {
    if constexpr (requires { row.host = Host(); })
      if (!row.host) row.host = Host(section_.host);
    if constexpr (requires { row.place.line; })
      if (!placed_ && row.place.line > 0 && row.place.line <= section_.lines.size()) {
        const MachineSection::Line& line = section_.lines[row.place.line - 1];
        row.place.line = line.number;
        row.place.offset = line.offset + (row.place.offset - line.begin);
      }
    behind_.put(row);
  }

  Sink& behind_;
  const MachineSection& section_;
  bool placed_;
};

void read_records(const RecordText& format, const Head& head, const MachineSection& section,
                  const MemberRow& member, Sink& sink, const rules::RulePack& pack) {
  SectionSink own(sink, section, true);
  Reading reading{own, pack, member.text_kind, {}, {}, member.path};
  reading.current_host = section.host;
  const std::unique_ptr<RecordReader> reader = format.make(head);
  for (const MachineSection::Line& line : section.lines) {
    const std::string_view text(section.text.data() + line.begin,
                                section.text.find('\n', line.begin) - line.begin);
    reader->read(text,
                 {member.id, line.number, line.offset, static_cast<std::uint32_t>(text.size())},
                 reading);
  }
  reader->finish(reading);
  for (const auto& kept : reading.kept) kept->finish(reading);
}

void read_document(const Document& format, const MachineSection& section, const MemberRow& member,
                   Sink& sink, const rules::RulePack& pack) {
  SectionSink own(sink, section, false);
  Reading reading{own, pack, member.text_kind, {}, {}, member.path};
  reading.current_host = section.host;
  format.read(section.text, member, reading);
  for (const auto& kept : reading.kept) kept->finish(reading);
}

// Its lines went by the rules with those of the whole text.
void read_text(const TextKind& kind, const MachineSection& section, const MemberRow& member,
               Sink& sink, const Scanner& scanner) {
  SectionSink own(sink, section, false);
  const line::Habit habit = line::habit_of(section.text);
  TextReader reader(scanner, own, member.id, std::string(kind.kind), habit, false, member.path);
  reader.block(section.text, scanner.scan(section.text, kind.kind, habit, false));
  reader.finish();
}

}  // namespace

std::vector<MachineSection> machine_sections(std::string_view bytes, bool commands) {
  if (bytes.size() > kMostBytesCut) return {};
  std::vector<MachineSection> out = sections_by_prefix(bytes);
  if (out.empty() && (commands || contains(bytes, "---------------\n")))
    out = sections_by_heading(bytes);
  std::set<std::string_view> hosts;
  for (const MachineSection& section : out) hosts.insert(section.host);
  return hosts.size() < kFewestMachines ? std::vector<MachineSection>{} : out;
}

void read_machine_sections(std::string_view bytes, const MemberRow& member, Sink& sink,
                           const Scanner& scanner) {
  for (const MachineSection& section : machine_sections(bytes, member.text_kind == "commands")) {
    const Head head{member.path, section.text, true};
    const auto is = [&](const auto& format) { return format.of_machine && format.sniff(head); };
    const auto of_section = [&](const auto* format) { return is(*format); };
    if (const auto at = std::ranges::find_if(documents(), of_section); at != documents().end())
      read_document(**at, section, member, sink, scanner.pack());
    else if (const auto record = std::ranges::find_if(record_texts(), of_section);
             record != record_texts().end())
      read_records(**record, head, section, member, sink, scanner.pack());
    else if (const auto kind = std::ranges::find_if(text_kinds(), is); kind != text_kinds().end())
      read_text(*kind, section, member, sink, scanner);
  }
}

}  // namespace culprit::ingest
