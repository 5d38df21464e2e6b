// Facts on their way into incident.db.
#pragma once

#include <memory>

#include "store/connection.hpp"
#include "store/raw_sink.hpp"

namespace culprit::store {

struct Writer : RawSink {
  Failure trouble;  // the first; nothing is written after it
};

// Goes on behind what the database has. Lives at most as long as the connection.
std::unique_ptr<Writer> make_writer(Connection& connection);

}  // namespace culprit::store
