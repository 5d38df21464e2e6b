// What the frames of call stacks say: rules/tables/frames.json (schemas/frames-v1.json). Read once,
// when first asked; what is returned lives as long as the program.
#pragma once

#include <string>
#include <string_view>

namespace culprit::rules {

enum class Doing {
  unknown,
  collective,    // in a collective or a point-to-point operation, or waiting for one
  gpu,           // the host waits for its own GPU's queue, which may wait for anybody
  communicator,  // making one: waits for everybody who shall be in it
  storage,       // open, read, write, stat ...
  data,          // the trainer waits for its data loader
  checkpoint,
  compile,
  gil,
  service,    // an answer of something outside the job: a web service, a tracker, mail
  lock_file,  // a lock that a file stands for, which other processes and machines may hold
  lock,       // a lock, a condition or a sleep, for a reason that no frame tells
  idle,       // a service that waits for work: a loader's worker with an empty queue, the agent
  compute,    // its own code
};
// In words for people: "waiting for the GPU".
std::string_view name(Doing doing);

// How much a frame tells. A weak frame (a futex, a poll, a read) is believed only when no caller
// says what it is for; `generic` frames tell nothing and stand in every stack; `bound` ends the
// search: below it lie frames of another process (a forked worker keeps its parent's) or of a
// starter.
enum class Tells { strong, weak, generic, bound };

struct FrameMarker {
  std::string function;  // "name", "prefix*", "*middle*"
  std::string file;      // part of the path or module; "" any
  Doing doing = Doing::unknown;
  std::string operation;
  Tells tells = Tells::strong;
  std::string dimension;  // tp pp dp ep cp; "" not told
  int toward = 0;         // of a pipeline: the next stage (1), the one before (-1)
  bool bare = false;      // believed where a tool printed no file
};

// What a caller's name or file says of the group an operation runs on.
struct GroupHint {
  std::string function, file, dimension;
  int toward = 0;
};

// A frame as a tool printed it; its function in the normal form.
struct FrameName {
  std::string_view function, file, module;
  bool native = false;
};

// The first that fits; null: none.
const FrameMarker* frame_marker(const FrameName& frame);
const GroupHint* group_hint(const FrameName& frame);

// A file of Python itself or of an installed package; "" and "<frozen ...>" are.
bool library_file(std::string_view path);

}  // namespace culprit::rules
