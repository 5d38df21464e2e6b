// Names an image without its registry, tag and digest.
#include "ingest/logs/container_image.hpp"

#include <algorithm>

namespace culprit::ingest {

void put_image(const Place& place, std::string_view image, std::string_view digest,
               std::string_view machine, Reading& reading) {
  constexpr std::size_t kDigest = 19;  // "sha256:" and twelve digits, as tools print it
  image = image.substr(0, image.find('@'));
  image.remove_prefix(std::min(image.rfind('/') + 1, image.size()));
  image = image.substr(0, image.find(':'));
  if (image.empty() || machine.empty() || machine == "<none>") return;
  reading.sink.put(ConfigRow{place, "container.image." + std::string(image.substr(0, 120)),
                             std::string(digest.substr(0, kDigest)), Host(machine.substr(0, 253))});
}

}  // namespace culprit::ingest
