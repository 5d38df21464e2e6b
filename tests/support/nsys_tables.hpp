// The tables of an export of Nsight Systems that are read, as SQL.
#pragma once

#include <string>

namespace culprit::test {

inline const std::string kNsysTables = R"(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, globalPid INTEGER);
  CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER);
  CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT NOT NULL, nameEnum INTEGER, value TEXT NOT NULL);
  CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
  INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)'), (3, 'step 8');
  INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, '', 'Hostname', 1, 'gpu-07'), (0, '', 'DeviceEnvironment', 2, 'HF_TOKEN=hunter2');
  INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1764201600000000000, '', '');
)";

}  // namespace culprit::test
