// What the kinds of cause share that are asked. Inside of this room only.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "decide/causes.hpp"
#include "decide/decide.hpp"
#include "model/phrases.hpp"

namespace culprit::decide {

// What one kind is asked about: the case, what is known so far, and the verdict in the making.
struct Walk {
  const Case& incident;
  const DecideParams& params;
  const FirstFailure& first;
  Verdict verdict;
  std::string shared_class = {};  // of the fault that many machines show, where that is the answer

  // The cause that a hypothesis is made of; nullptr: whichever speaks for itself.
  const Cause* candidate = nullptr;
  const Cause* best() const {
    return candidate != nullptr   ? candidate
           : first.causes.empty() ? nullptr
                                  : &first.causes.front();
  }
  const Cause* best(CauseKind kind) const {
    return best() != nullptr && best()->kind == kind ? best() : nullptr;
  }
};

struct Answer {
  StepOutcome outcome{};
  Text why;
};
Answer ruled_out(Text why);
Answer taken(Text why);
Answer not_enough(Text why);

// " at 2026-11-21T03:26:24Z", or nothing.
Text at(const std::optional<Nanoseconds>& t);
// A title in the middle of a sentence.
Text inside(const Text& title);
// " on node-07", " on node-07 and node-08"; nothing for nobody.
Text on(const std::vector<Host>& hosts);
// Part of an id: "node-07,node-08,+3".
std::string joined(const std::vector<Host>& hosts, std::size_t most);

// What the verdict comes to; what is not given stays as it is.
void act(Verdict& v, Action action, Precision precision);
void act(Verdict& v, Action action, Precision precision, Symptom symptom);
void act(Verdict& v, Action action, Precision precision, Symptom symptom,
         const std::optional<Nanoseconds>& start);

// Adds, unless it is there already.
void target(Verdict& v, Subject subject, double confidence, std::vector<std::string> because);
void next(Verdict& v, NextKind kind, Text text);
// What dumps the stacks of all ranks of a machine.
inline constexpr std::string_view kDumpStacks =
    "for p in $(pgrep -f train); do py-spy dump --native --pid $p; done";
// A command that names hosts: many are folded to a hostlist, and so many did not fit.
struct Named {
  std::string text;
  std::size_t left_out = 0;
};
// The command that prints the checks of these hosts.
Named checks_of(const std::vector<Host>& hosts);
// Adds it, and says how many hosts it leaves out.
void check(Verdict& v, const std::vector<Host>& hosts);
// The command that plans tests of halves of them (Aegis algorithm 1: offline diagnosis of the hosts
// that reported).
void halve(Verdict& v, const std::vector<Host>& hosts);
// The commands that take hosts out of service.
void drain(Walk& w, const Host& host, std::string_view reason);
void drain(Walk& w, const std::vector<Host>& hosts, std::string_view reason);
void advise(Verdict& v, const Cause& cause);

// The number of the signal that ended a process: -9 of Python, 137 of a shell or a container. 0: no
// signal.
std::int64_t signal_of(std::int64_t code);

// Cut in the middle: the kind of a message stands at its beginning, the reason at its end.
std::string quoted(const std::string& text, std::size_t most);
// What was printed, to stand behind a sentence: ` "..."`; nothing of what only programs read.
Text in_its_words(const Finding& f);
// The findings that say most of a cause although they prove none, best first. leads.cpp
std::vector<const Finding*> strongest_leads(const Walk& w);
// Quotes the first in the summary, called a lead, and the others among the next steps.
void quote_leads(Walk& w, const std::vector<const Finding*>& leads);

std::vector<std::string> ids(const std::vector<const Finding*>& findings);
// Facts of a finding of that analysis; empty ones of any other.
const HangFacts& hang_of(const Finding& f);
const SlowFacts& slow_of(const Finding& f);
const LineFacts& line_of(const Finding& f);
// What was printed, of a line that a rule knows or that none does.
const std::string& message_of(const Finding& f);
// So many hosts that they share a cause.
bool shared_by(const Walk& w, std::size_t hosts);
// The switch that (nearly) all of these hosts hang on, and few others do.
std::string switch_of(const Walk& w, const std::set<Host>& hosts);
// The switch of which these are all the hosts in the job, two at least, while others hang
// elsewhere.
std::string switch_below_which_all(const Walk& w, const std::set<Host>& hosts);
// A setting of some hosts with which no communication works, in a job that made no step: whose
// connections broke first says nothing. config_check.cpp
const Finding* setting_none_survives(const Walk& w);
// The scheduler said that it ends the job: time limit, cancelled, preempted.
bool scheduler_word(const Finding& f);
// Ranks report failed communication.
bool after_effects(const Walk& w);

// Ranks waited longer than a collective may take. A watchdog that ends its process after a broken
// connection says no such thing.
bool timed_out(const Walk& w);

// For how long the job had made no step at that moment, where that is longer than a job that moves
// goes without one. stood.cpp
std::optional<Nanoseconds> stood_until(const Walk& w, const std::optional<Nanoseconds>& moment);

// It says that it held ranks up for a while. slow_part.cpp
bool held_up(const Finding& f);

// What fired of slow spells, the dearest first. slowness.cpp
std::vector<const Finding*> slow_stretches(const Walk& w);

// The slow spell that lasted until this word of the scheduler ended the job; nullptr: none did.
const Finding* slow_until_word(const Walk& w, const Finding& word);

// Proof of success: the job's own exit code, a closing line, or the last planned step. ends.cpp
bool ended_well(const Walk& w);
// It planned more steps than it made, as far as its logs go.
bool steps_left(const Case& c);

// The shared file system that a path of the text lies on, by its name ("/lustre"); "": none does.
std::string shared_path(const std::string& text);

// Something that was over before this run of the job began. ends.cpp
bool before_this_run(const AttemptHistory& h, const Finding& f);
// The scheduler's word that ended an earlier run, after which the job ran again: the last one.
// ends.cpp
const Finding* earlier_word(const Walk& w);

// What machines report at moments that nothing ties to the job: it may have ended it, or is another
// story beside a job that only its own output tells of.
enum class Unplaced { counts, left_out };

// Why this is a job that failed; empty when nothing says so.
Text failure(const Walk& w, Unplaced unplaced = Unplaced::counts);

// Runs of which each failed at one place of the program, or of a fault that programs cause on
// machine after machine, where all that failed before this one did and this one did not end well.
// earlier_runs.cpp
struct FailedAlike {
  Text what;                       // the place, or the fault
  const Finding* shown = nullptr;  // that fault
  Subject place;
  std::vector<const PastFailure*> runs;
};
std::optional<FailedAlike> failed_alike(const Walk& w);

// A jump of the loss that had not come back at the end of the log. numerics.cpp
const Finding* loss_that_stayed_high(const Walk& w);
bool failed_together(const Walk& w);      // several machines' GPUs, in one fault of the program
const Finding* came_back(const Walk& w);  // numbers gone at one iteration of several runs, or null

// The same cause, where a diagnostic that was run after wrong numbers bears them out. numerics.cpp
std::optional<Answer> borne_out(Walk& w, const Cause& c);

// The kinds; the tour of the library says which file each is in.
#define CULPRIT_STEP(step) Answer step(Walk& w);
CULPRIT_KINDS(CULPRIT_STEP)
#undef CULPRIT_STEP

// The answer is about a job that is slow, and did not fail.
bool of_slow_job(const Verdict& v);
// Adds to the verdict what the machine or server that it names recorded at that time.
void tell_records(Walk& w);
// Moves the verdict on by outcomes of checks that were run since, and adds "history" steps: who
// failed is taken out, who passed all is no longer suspected, and what does not fit is named
// (ByteRobust section 4.2). outcomes.cpp
void consider_outcomes(Walk& w);
// Moves the verdict on by what somebody changed since the run before: where that explains what
// happened in this one and no machine is accused, the answer is to take it back. run_changes.cpp
void consider_changes(Walk& w);
// Puts the files that would have settled an open verdict among its next steps, the likeliest first,
// in place of the steps' general wishes; nothing that was collected is asked for. A verdict that is
// sure stays as it is. wanted.cpp
void ask_for_missing(Walk& w);

}  // namespace culprit::decide
