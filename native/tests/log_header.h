// The header of a log as the tests of its writer need it: any process, on a timer at 100 Hz.
#pragma once

#include "log/writer.h"

namespace sonde {

inline void write_header(log::Writer* writer) {
  writer->begin(log::Record::Header).number(1).number(42).number(1).number(1000).signed_number(-5).number(100);
  writer->text("timer").text("").text("test").number(0);
  writer->end();
}

}  // namespace sonde
