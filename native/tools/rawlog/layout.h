// The fields of each record type of the raw log, in order. The truth about their meaning is
// native/agent/log/format.h; this table only says how to decode them.
#pragma once

#include <cstddef>

namespace sonde::rawlog {

// o varint that may be missing at the end of the record: 0
// u varint          z zigzag varint        t text (index into the string table)
// c value as zigzag difference to the one of the last record of its type in this session (format.h)
// d time as zigzag delta to the previous one of the chunk
// N id of a new native node, n reference to one (row number, -1 none, -2 unknown)
// P id of a new Python node, p reference to one
constexpr const char* kFields[] = {
    "",             // 0 unused
    "uuuuzutttu",   // 1 Header
    "uu",           // 2 Base
    "uuutuu",       // 3 ThreadStart
    "uuut",         // 4 ThreadEnd
    "uuuutt",       // 5 Mapping
    "uuu",          // 6 Unmapping
    "Nnuu",         // 7 Node
    "Ppuzuu",       // 8 PythonNode
    "uttut",        // 9 Code
    "udnpunuuuuuo",  // 10 Sample
    "udnpunuuuuuo",  // 11 Wait
    "uuutt",        // 12 JitCode
    "ttut",         // 13 Loss
    "utu",          // 14 Counter
    "uuuu",         // 15 Block
    "tu",           // 16 Statistics
    "uzuuuu",       // 17 Footer
    "uut",          // 18 Module
    "dccccccc",     // 19 Readings
    "uu",           // 20 Gap
    "uuuu",         // 21 Part
};
constexpr size_t kTypes = sizeof(kFields) / sizeof(kFields[0]);

}  // namespace sonde::rawlog
