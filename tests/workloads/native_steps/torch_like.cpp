#include "torch_like.h"

#include <stdexcept>

void work(int milliseconds) {
  volatile double x = 0;
  for (long i = 0; i < milliseconds * 200000L; i++) x = x + static_cast<double>(i);
}

namespace at {
int get_num_threads() { return 3; }
int get_num_interop_threads() { return 2; }
}  // namespace at

namespace torch::optim {
void Optimizer::zero_grad(bool) { work(1); }
at::Tensor Adam::step(std::function<at::Tensor()> closure) {
  work(2);
  return closure ? closure() : at::Tensor(41);
}
at::Tensor SGD::step(std::function<at::Tensor()> closure) {
  if (closure) throw std::runtime_error("no closure here");
  return at::Tensor(43);
}
}  // namespace torch::optim

namespace torch::nn {
at::Tensor LinearImpl::forward(const at::Tensor& input) {
  work(1);
  if (*input.value < 0) throw std::runtime_error("negative input");
  return at::Tensor(*input.value + 1);
}
}  // namespace torch::nn

namespace torch::data::samplers {
void RandomSampler::reset(std::optional<size_t>) {}
}  // namespace torch::data::samplers
