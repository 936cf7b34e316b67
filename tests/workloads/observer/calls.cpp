// Work whose operator calls are known, as a library: a native program (main.cpp) runs it under `sonde run --shapes`,
// Python runs the very same under torch.profiler.
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>

extern "C" double work() {
  at::Tensor x = at::ones({16, 32});
  at::Tensor w = at::ones({24, 32}).requires_grad_();
  at::Tensor b = at::ones({24}).requires_grad_();
  at::Tensor picture = at::ones({1, 1, 8, 8}, at::kDouble);
  at::Tensor kernel = at::ones({2, 1, 3, 3}, at::kDouble).requires_grad_();
  at::Tensor y = at::relu(at::linear(x, w, b));
  at::Tensor z = at::conv2d(picture, kernel, {}, {2, 2}, {1, 1});
  at::Tensor loss = at::add(at::cat({y, y}, 1).sum(), z.sum());
  loss.backward();
  return loss.item<double>();
}

// Many operators of about a microsecond.
extern "C" double small(long rounds) {
  at::Tensor one = at::ones({4});
  for (long i = 0; i < rounds; i++) one = at::add(one, one, 0.5);
  return static_cast<double>(one.numel());
}
