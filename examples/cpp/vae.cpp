// The variational autoencoder in C++ (libtorch): no Python in the process.
//
// What it shows: the sampler needs no interpreter. Operators are named from
// native frames (at::_ops::...), and main, encoder and decoder are C++ frames.
#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>

namespace {

constexpr int64_t kSide = 28;
constexpr int64_t kWidth = 400;
constexpr int64_t kCode = 20;

struct EncoderImpl : torch::nn::Module {
  EncoderImpl() {
    register_module("conv", conv);
    register_module("hidden", hidden);
    register_module("mean", mean);
    register_module("log_variance", log_variance);
  }

  std::tuple<torch::Tensor, torch::Tensor> forward(const torch::Tensor& x) {
    torch::Tensor h = torch::relu(conv(x)).flatten(1);
    h = torch::relu(hidden(h));
    return {mean(h), log_variance(h)};
  }

  torch::nn::Conv2d conv{torch::nn::Conv2dOptions(1, 16, 3).stride(2).padding(1)};
  torch::nn::Linear hidden{16 * 14 * 14, kWidth};
  torch::nn::Linear mean{kWidth, kCode};
  torch::nn::Linear log_variance{kWidth, kCode};
};
TORCH_MODULE(Encoder);

struct DecoderImpl : torch::nn::Module {
  DecoderImpl() {
    register_module("hidden", hidden);
    register_module("pixels", pixels);
  }

  torch::Tensor forward(const torch::Tensor& z) {
    return pixels(torch::relu(hidden(z))).view({-1, 1, kSide, kSide});
  }

  torch::nn::Linear hidden{kCode, kWidth};
  torch::nn::Linear pixels{kWidth, kSide * kSide};
};
TORCH_MODULE(Decoder);

struct Vae : torch::nn::Module {
  Vae() {
    register_module("encoder", encoder);
    register_module("decoder", decoder);
  }

  torch::Tensor loss(const torch::Tensor& x) {
    auto [mean, log_variance] = encoder->forward(x);
    torch::Tensor z = mean + torch::randn_like(mean) * torch::exp(0.5 * log_variance);
    torch::Tensor likelihood = torch::binary_cross_entropy_with_logits(
        decoder->forward(z), x, /*weight=*/{}, /*pos_weight=*/{}, at::Reduction::Sum);
    torch::Tensor divergence = -0.5 * torch::sum(1 + log_variance - mean.pow(2) - log_variance.exp());
    return (likelihood + divergence) / x.size(0);
  }

  Encoder encoder;
  Decoder decoder;
};

int64_t Option(int argc, char** argv, const char* name, int64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], name) == 0) return std::atoll(argv[i + 1]);
  }
  return otherwise;
}

// Bars at random rows: enough structure to learn, drawn without a file.
torch::Tensor Pictures(int64_t count) {
  torch::Tensor rows = torch::randint(4, kSide - 4, {count, 1, 1, 1});
  torch::Tensor distance = (torch::arange(kSide).view({1, 1, kSide, 1}) - rows).abs();
  return (distance < 3).to(torch::kFloat).expand({count, 1, kSide, kSide}).contiguous();
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t steps = Option(argc, argv, "--steps", 100);
  const int64_t batch = Option(argc, argv, "--batch", 128);
  torch::manual_seed(0);
  torch::Tensor pictures = Pictures(1024);
  Vae model;
  torch::optim::Adam optimizer(model.parameters(), torch::optim::AdamOptions(1e-3));
  torch::Tensor loss = torch::zeros({});
  for (int64_t step = 0; step < steps; ++step) {
    torch::Tensor x = pictures.index_select(0, torch::randint(0, 1024, {batch}, torch::kLong));
    loss = model.loss(x);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  std::printf("vae: %lld steps, loss %.1f\n", static_cast<long long>(steps), loss.item<double>());
  return 0;
}
