#include "unwind/expression.h"

#include "unwind/cursor.h"

namespace sonde {
namespace {

constexpr unsigned kStackSlots = 16;
constexpr unsigned kMostOperations = 128;  // a branch may loop; a rule never needs this many

struct ValueStack {
  uint64_t slot[kStackSlots];
  unsigned count = 0;
  bool failed = false;

  void push(uint64_t value) {
    if (count == kStackSlots) failed = true; else slot[count++] = value;
  }
  uint64_t pop() {
    if (count == 0) {
      failed = true;
      return 0;
    }
    return slot[--count];
  }
  uint64_t peek(unsigned depth) {
    if (depth >= count) {
      failed = true;
      return 0;
    }
    return slot[count - 1 - depth];
  }
};

// Operations on the two values on top; false when `opcode` is none of them.
bool binary(uint8_t opcode, ValueStack* stack) {
  if (opcode < 0x1a || opcode > 0x2e || opcode == 0x1f || opcode == 0x20 || opcode == 0x23 || opcode == 0x28) {
    return false;
  }
  const uint64_t b = stack->pop();
  const uint64_t a = stack->pop();
  const auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  uint64_t r = 0;
  switch (opcode) {
    case 0x1a: r = a & b; break;
    case 0x1b:
      if (sb == 0 || (sb == -1 && sa == INT64_MIN)) stack->failed = true; else r = static_cast<uint64_t>(sa / sb);
      break;
    case 0x1c: r = a - b; break;
    case 0x1d:
      if (b == 0) stack->failed = true; else r = a % b;
      break;
    case 0x1e: r = a * b; break;
    case 0x21: r = a | b; break;
    case 0x22: r = a + b; break;
    case 0x24: r = b < 64 ? a << b : 0; break;
    case 0x25: r = b < 64 ? a >> b : 0; break;
    case 0x26: r = static_cast<uint64_t>(sa >> (b < 64 ? b : 63)); break;
    case 0x27: r = a ^ b; break;
    case 0x29: r = sa == sb; break;
    case 0x2a: r = sa >= sb; break;
    case 0x2b: r = sa > sb; break;
    case 0x2c: r = sa <= sb; break;
    case 0x2d: r = sa < sb; break;
    case 0x2e: r = sa != sb; break;
    default: return false;
  }
  stack->push(r);
  return true;
}

}  // namespace

bool evaluate_expression(uint64_t at, uint64_t length, const Registers& registers, bool push_initial,
                         uint64_t initial, uint64_t* result) {
  ValueStack stack;
  if (push_initial) stack.push(initial);
  Cursor in{at, at + length, 0};
  unsigned operations = 0;
  auto push_register = [&](uint64_t reg, int64_t offset) {
    if (reg >= Registers::kCount || !(registers.known >> reg & 1)) {
      stack.failed = true;
      return;
    }
    stack.push(registers.value[reg] + static_cast<uint64_t>(offset));
  };
  while (!in.done() && !stack.failed) {
    if (++operations > kMostOperations) return false;
    const auto opcode = in.fixed<uint8_t>();
    if (opcode >= 0x30 && opcode <= 0x4f) {
      stack.push(opcode - 0x30u);  // lit0..lit31
      continue;
    }
    if (opcode >= 0x70 && opcode <= 0x8f) {
      push_register(opcode - 0x70u, in.sleb());  // breg0..breg31
      continue;
    }
    if (binary(opcode, &stack)) continue;
    switch (opcode) {
      case 0x03: case 0x0e: case 0x0f: stack.push(in.fixed<uint64_t>()); break;
      case 0x06: stack.push(guarded_load<uint64_t>(stack.pop(), &in.fault)); break;  // deref
      case 0x08: stack.push(in.fixed<uint8_t>()); break;
      case 0x09: stack.push(static_cast<uint64_t>(int64_t{in.fixed<int8_t>()})); break;
      case 0x0a: stack.push(in.fixed<uint16_t>()); break;
      case 0x0b: stack.push(static_cast<uint64_t>(int64_t{in.fixed<int16_t>()})); break;
      case 0x0c: stack.push(in.fixed<uint32_t>()); break;
      case 0x0d: stack.push(static_cast<uint64_t>(int64_t{in.fixed<int32_t>()})); break;
      case 0x10: stack.push(in.uleb()); break;
      case 0x11: stack.push(static_cast<uint64_t>(in.sleb())); break;
      case 0x12: stack.push(stack.peek(0)); break;  // dup
      case 0x13: stack.pop(); break;
      case 0x14: stack.push(stack.peek(1)); break;  // over
      case 0x15: stack.push(stack.peek(in.fixed<uint8_t>())); break;
      case 0x16: {  // swap
        const uint64_t top = stack.pop(), next = stack.pop();
        stack.push(top);
        stack.push(next);
        break;
      }
      case 0x17: {  // rot
        const uint64_t first = stack.pop(), second = stack.pop(), third = stack.pop();
        stack.push(first);
        stack.push(third);
        stack.push(second);
        break;
      }
      case 0x19: {  // abs
        const auto v = static_cast<int64_t>(stack.pop());
        stack.push(v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v));
        break;
      }
      case 0x1f: stack.push(0 - stack.pop()); break;  // neg
      case 0x20: stack.push(~stack.pop()); break;     // not
      case 0x23: stack.push(stack.pop() + in.uleb()); break;  // plus_uconst
      case 0x28: {  // bra
        const auto distance = in.fixed<int16_t>();
        if (stack.pop() != 0) in.at += static_cast<uint64_t>(int64_t{distance});
        if (in.at < at || in.at > in.end) return false;
        break;
      }
      case 0x2f: {  // skip
        const auto distance = in.fixed<int16_t>();
        in.at += static_cast<uint64_t>(int64_t{distance});
        if (in.at < at || in.at > in.end) return false;
        break;
      }
      case 0x92: {  // bregx
        const uint64_t reg = in.uleb();
        push_register(reg, in.sleb());
        break;
      }
      case 0x94: {  // deref_size
        const auto bytes = in.fixed<uint8_t>();
        const uint64_t where = stack.pop();
        if (bytes == 1) stack.push(guarded_load<uint8_t>(where, &in.fault));
        else if (bytes == 2) stack.push(guarded_load<uint16_t>(where, &in.fault));
        else if (bytes == 4) stack.push(guarded_load<uint32_t>(where, &in.fault));
        else if (bytes == 8) stack.push(guarded_load<uint64_t>(where, &in.fault));
        else return false;
        break;
      }
      case 0x96: break;  // nop
      default: return false;
    }
  }
  if (in.fault || stack.failed || stack.count == 0) return false;
  *result = stack.pop();
  return true;
}

}  // namespace sonde
