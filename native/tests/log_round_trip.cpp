// Writes a log with the agent's own writer and interner: more nodes than a table holds, a record that is too
// large, a file that is taken away. usage: log_round_trip FILE
#include <cstdio>
#include <cstring>
#include <vector>

#include "background/stacks.h"
#include "log/writer.h"
#include "log_header.h"
#include "sample/record.h"
#include "threads/current.h"

using namespace sonde;

void sonde::python_want_code(uint32_t) {}  // no Python frames here

int main(int, char** argv) {
  log::Writer writer;
  if (!writer.open(argv[1])) return 1;
  write_header(&writer);
  StackWriter stacks(&writer);
  // 400 samples of 1000 frames, all different: more than one epoch.
  std::vector<uint64_t> record(kHeadWords + 1000);
  for (uint64_t i = 0; i < 400; i++) {
    SampleHead head = {};
    head.words = static_cast<uint32_t>(record.size());
    head.time_ns = 5'000'000'000 + (i % 2 ? i : 1000 - i);  // not in order
    head.weight_ns = i;
    head.owner = kNoThread;
    head.native = 1000;
    memcpy(record.data(), &head, sizeof head);
    for (uint64_t k = 0; k < 1000; k++) record[kHeadWords + k] = pack(NativeFrame{(i << 20) + k + 1, 8});
    stacks.write_sample(7, record.data());
  }
  std::vector<char> huge(2u << 20, 'x');
  writer.begin(log::Record::Statistics).bytes(huge.data(), huge.size()).number(1);
  writer.end();  // refused whole
  writer.begin(log::Record::Statistics).text("refused").number(writer.refused());
  writer.end();
  writer.begin(log::Record::Statistics).text("epochs").number(stacks.epoch());
  writer.end();
  writer.close();
  return 0;
}
