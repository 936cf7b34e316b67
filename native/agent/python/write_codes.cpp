// Code records of the raw log, written by the background thread.
#include "log/loss.h"
#include "python/code_table.h"
#include "python/frames.h"



namespace sonde {
namespace {

uint32_t next_to_write = 1;
uint32_t unfinished_up_to = 0;  // numbers that a thread of the parent held at the fork: never filled here
uint64_t full_counted = 0;

}  // namespace

void python_write_codes(log::Writer& log) {
  const uint32_t count = python::code_count();
  for (; next_to_write <= count; ++next_to_write) {
    python::CodeInfo code;
    if (!python::code_info(next_to_write, &code)) {
      if (next_to_write > unfinished_up_to) break;  // a handler is at it; next time
      continue;
    }
    log.begin(log::Record::Code)
        .number(next_to_write)
        .bytes(code.name, code.name_size)
        .bytes(code.file, code.file_size)
        .number(static_cast<uint64_t>(code.first_line < 0 ? 0 : code.first_line))
        .bytes(code.line_table, code.line_table_size);
    log.end();
  }
  const uint64_t full = python::code_losses_full() + python::code_losses_unreadable();
  if (full > full_counted) count_loss(Loss::CodeTableFull, full - full_counted);
  full_counted = full;
}

void python_after_fork() {
  next_to_write = 1;
  unfinished_up_to = python::code_count();
}

}  // namespace sonde


