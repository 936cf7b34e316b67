// WHAT: "train" (two epochs of seven batches, two optimizers per batch), "virtual" (through the base class), "infer"
// (ten forward passes of three modules), "throws" (exceptions out of a module and an optimizer, then five steps),
// "marked" (sonde.h, no torch).
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "sonde.h"
#include "torch_like.h"

static int trained(int batches) {
  torch::optim::Adam adam;
  torch::optim::SGD sgd;
  torch::nn::LinearImpl first, second;
  int sum = 0;
  for (int i = 0; i < batches; i++) {
    adam.zero_grad();
    sum += *second.forward(first.forward(at::Tensor(i))).value;
    sum += *adam.step().value;
    sum += *sgd.step().value;
  }
  return sum;
}

int main(int, char** argv) {
  const char* what = argv[1];
  int sum = 0;
  if (!strcmp(what, "train")) {
    torch::data::samplers::RandomSampler sampler;
    for (int epoch = 0; epoch < 2; epoch++) {
      sampler.reset();
      sum += trained(7);
    }
  } else if (!strcmp(what, "virtual")) {
    std::unique_ptr<torch::optim::Optimizer> optimizer = std::make_unique<torch::optim::Adam>();
    for (int i = 0; i < 9; i++) sum += *optimizer->step([i] { return at::Tensor(i); }).value;
  } else if (!strcmp(what, "infer")) {
    torch::nn::LinearImpl layers[3];
    for (int i = 0; i < 10; i++) {
      at::Tensor x(i);
      for (auto& layer : layers) x = layer.forward(x);
      sum += *x.value;
    }
  } else if (!strcmp(what, "throws")) {
    torch::nn::LinearImpl layer;
    torch::optim::SGD sgd;
    for (int i = 0; i < 5; i++) {
      try {
        layer.forward(at::Tensor(-1));
      } catch (const std::runtime_error& error) {
        sum += static_cast<int>(strlen(error.what()));
      }
      try {
        sgd.step([] { return at::Tensor(1); });
      } catch (const std::runtime_error& error) {
        sum += static_cast<int>(strlen(error.what()));
      }
      work(1);
      sum += *layer.forward(at::Tensor(1)).value + *sgd.step().value;
    }
  } else {
    for (int i = 0; i < 12; i++) {
      sonde::region outer("outer \"part\"");
      for (int k = 0; k < 2; k++) {
        sonde::region inner("inner");
        work(2);
      }
      sonde::step();
    }
  }
  printf("%s: %d\n", what, sum);
  return sum % 7;
}
