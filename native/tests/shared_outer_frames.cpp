// Writes samples whose stacks share their outer frames with the one before, as those of a program do, and prints
// what was written: "native owner python", each its frames leaf first. usage: shared_outer_frames FILE
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "background/stacks.h"
#include "log/writer.h"
#include "log_header.h"
#include "sample/record.h"
#include "threads/current.h"

using namespace sonde;

void sonde::python_want_code(uint32_t) {}

namespace {
std::mt19937_64 random_bits(1);
uint64_t below(uint64_t n) { return random_bits() % n; }

// Keeps a random number of outer frames (they lie at the end), grows other inner ones.
void change(std::vector<uint64_t>* frames, uint64_t deepest) {
  const uint64_t kept = below(frames->size() + 1), fresh = below(deepest + 1 - (kept < deepest ? kept : deepest));
  std::vector<uint64_t> next;
  for (uint64_t i = 0; i < fresh; i++) next.push_back(1 + below(5));
  next.insert(next.end(), frames->end() - static_cast<long>(kept), frames->end());
  *frames = next;
}

void print(const std::vector<uint64_t>& frames, char end) {
  for (size_t i = 0; i < frames.size(); i++) printf("%s%llu", i ? "," : "", static_cast<unsigned long long>(frames[i]));
  putchar(end);
}
}  // namespace

int main(int, char** argv) {
  log::Writer writer;
  if (!writer.open(argv[1])) return 1;
  write_header(&writer);
  for (uint64_t code = 1; code <= 5; code++) {
    writer.begin(log::Record::Code).number(code).text("name").text("file").number(1).text("");
    writer.end();
  }
  static StackWriter stacks(&writer);
  std::vector<uint64_t> native, owner, python;
  for (uint64_t i = 0; i < 3000; i++) {
    change(&native, 30);
    change(&owner, 10);
    change(&python, 12);
    std::vector<uint64_t> words;
    for (uint64_t pc : native) words.push_back(pack(NativeFrame{pc, 0}));
    for (uint64_t pc : owner) words.push_back(pack(NativeFrame{pc, 0}));
    for (uint64_t code : python) {  // codes 4 and 5 carry a module: a second word
      const PythonFrame frame = {static_cast<uint32_t>(code), 0, code > 3 ? code * 100 : 0, 0, false};
      words.push_back(pack(frame));
      if (frame.self) words.push_back(frame.self);
    }
    std::vector<uint64_t> record(kHeadWords + words.size());
    SampleHead head = {};
    head.words = static_cast<uint32_t>(record.size());
    head.weight_ns = i;
    head.owner = kNoThread;
    head.native = static_cast<uint16_t>(native.size());
    head.owner_frames = static_cast<uint16_t>(owner.size());
    head.python = static_cast<uint16_t>(python.size());
    memcpy(record.data(), &head, sizeof head);
    memcpy(record.data() + kHeadWords, words.data(), 8 * words.size());
    stacks.write_sample(7, record.data());
    print(native, ' ');
    print(owner, ' ');
    print(python, '\n');
  }
  writer.close();
  return 0;
}
