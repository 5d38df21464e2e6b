// Templates of lines: "{rank}", "{t.iso}", "{nccl:WARN}" and the other words in braces.
//
//   {word}          of the moment's own words, of its time (t.CLOCK), of its speaker, of the job
//   {g.word}        of the guilty speaker; {p.word} of its peer, {f.word} of who fails first there
//   {speaker:LEVEL} the beginning of a line as this speaker writes it in this job
//   {n:LOW:HIGH} {f:LOW:HIGH} {hex:DIGITS}  drawn
//   {{                                      a brace
//   {word>8} {word<8} {word~8}              to the right, to the left, with zeros in front
#pragma once

#include <string>
#include <string_view>

#include "simulate/cast.hpp"

namespace culprit::simulate {

struct Moment {
  Speaker who;
  Nanoseconds time = 0;
  const WordMap* own = nullptr;  // words of this moment alone
  Nanoseconds boot = 0;          // of the machine, when not that of the cast
};

// A word that nobody knows becomes "{?word}".
std::string fill(const Cast& cast, std::string_view text, const Moment& moment, Dice& dice);

}  // namespace culprit::simulate
