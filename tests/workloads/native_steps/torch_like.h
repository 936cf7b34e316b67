// The part of torch's C++ interface that the agent stands in front of, with the same mangled names. Building against the
// real one takes minutes.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>

namespace at {
struct Tensor {
  Tensor(int v = 0) : value(new int(v)) {}
  Tensor(const Tensor& other) : value(new int(*other.value)) {}
  Tensor& operator=(const Tensor& other) { *value = *other.value; return *this; }
  ~Tensor() { delete value; }
  int* value;
};
int get_num_threads();
int get_num_interop_threads();
}  // namespace at

namespace torch::optim {
struct Optimizer {
  virtual ~Optimizer() = default;
  virtual at::Tensor step(std::function<at::Tensor()> closure = nullptr) = 0;
  void zero_grad(bool set_to_none = true);
};
struct Adam : Optimizer {
  at::Tensor step(std::function<at::Tensor()> closure = nullptr) override;
};
struct SGD : Optimizer {
  at::Tensor step(std::function<at::Tensor()> closure = nullptr) override;
};
}  // namespace torch::optim

namespace torch::nn {
struct LinearImpl {
  at::Tensor forward(const at::Tensor& input);
};
}  // namespace torch::nn

namespace torch::data::samplers {
struct RandomSampler {
  virtual ~RandomSampler() = default;
  virtual void reset(std::optional<size_t> new_size = std::nullopt);
};
}  // namespace torch::data::samplers

void work(int milliseconds);
