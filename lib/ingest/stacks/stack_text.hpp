// What the readers of call stacks share: who the file says it is about, and rows with bounds.
#pragma once

#include <optional>
#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// The process that a dump's file name tells: rank5_pid31446.txt, gdb/31446.txt, proc/31446/stack.
// Only for dumps: a bare number in another name is a job, a date, an address.
std::optional<std::int64_t> pid_in_path(std::string_view path);

// Digits at the front of the text, taken away; nullopt when there are none or too many.
std::optional<std::int64_t> take_number(std::string_view& text);
bool take(std::string_view& text, std::string_view word);
std::string_view trim(std::string_view text);

// Runaway recursion prints a stack for as long as it likes: the innermost frames are kept, and the
// outermost one.
void add_frame(StackRow& row, Frame frame);

// True when the outermost frame is where Python starts a program: other threads begin in
// _bootstrap.
bool starts_program(const StackRow& row);

// A row for the thread whose head this line is, with what the prefix of the line and the heading
// above the dump tell.
StackRow stack_row(const TextLine& head, std::string_view source, Reading& reading);
ProcessRow process_row(const TextLine& head, std::string_view source);
// The place of a row now reaches to the end of this line.
void reach(Place& place, const Place& last);

}  // namespace culprit::ingest
