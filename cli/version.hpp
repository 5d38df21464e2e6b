// Facts of this build that only the build system knows.
#pragma once

#include <string_view>

namespace culprit::cli {

extern const std::string_view kProgram;   // "culprit 1.2.3"
extern const std::string_view kCompiler;  // "GNU 12.2.0"
extern const std::string_view kLinked;    // static or shared

}  // namespace culprit::cli
