// Which build of an image a machine runs: a name and a tag may mean another one on each of them.
#pragma once

#include <string_view>

#include "ingest/engine/recogniser.hpp"

namespace culprit::ingest {

// image: "registry/team/train:latest"; digest: "sha256:...". Nothing is put where the machine has
// no name.
void put_image(const Place& place, std::string_view image, std::string_view digest,
               std::string_view machine, Reading& reading);

}  // namespace culprit::ingest
