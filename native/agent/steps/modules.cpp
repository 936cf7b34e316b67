// In front of those modules of torch's C++ library that have weights, and of the entries of saved models (TorchScript,
// AOTInductor): they show where a forward pass is.
#include "steps/interpose.h"
#include "steps/phases.h"

namespace {

thread_local const void* t_module __attribute__((tls_model("initial-exec"))) = nullptr;

// torch::jit::Method is made for each call; behind the members of its base it holds the module it belongs to.
const void* owner_of_method(const void* method) {
  constexpr int kOwner = 5;
  return static_cast<const void* const*>(method)[kOwner];
}

}  // namespace

#define SONDE_MODULE(name, symbol, parameters, arguments)                                  \
  SONDE_IN_FRONT_OF(sonde_forward_##name, symbol, sonde::Returned, parameters, arguments, t_module, \
                    sonde::ModuleCall call(!t_module, self))
#define SONDE_MODULE_1(name, mangled)                                                              \
  SONDE_MODULE(name, "_ZN5torch2nn" mangled "7forwardERKN2at6TensorE", (void* self, void* a), (self, a))
#define SONDE_MODULE_2(name, mangled, more)                                                           \
  SONDE_MODULE(name, "_ZN5torch2nn" mangled "7forwardERKN2at6TensorE" more, (void* self, void* a, void* b), (self, a, b))
#define SONDE_MODULE_3(name, mangled, more)                                                           \
  SONDE_MODULE(name, "_ZN5torch2nn" mangled "7forwardERKN2at6TensorE" more,                             \
               (void* self, void* a, void* b, void* c), (self, a, b, c))

SONDE_MODULE_1(linear, "10LinearImpl")
SONDE_MODULE_1(conv1d, "10Conv1dImpl")
SONDE_MODULE_1(conv2d, "10Conv2dImpl")
SONDE_MODULE_1(conv3d, "10Conv3dImpl")
SONDE_MODULE_1(embedding, "13EmbeddingImpl")
SONDE_MODULE_1(layer_norm, "13LayerNormImpl")
SONDE_MODULE_1(group_norm, "13GroupNormImpl")
SONDE_MODULE_2(conv_transpose1d, "19ConvTranspose1dImpl", "RKSt8optionalIN3c108ArrayRefIlEEE")
SONDE_MODULE_2(conv_transpose2d, "19ConvTranspose2dImpl", "RKSt8optionalIN3c108ArrayRefIlEEE")
SONDE_MODULE_2(conv_transpose3d, "19ConvTranspose3dImpl", "RKSt8optionalIN3c108ArrayRefIlEEE")
SONDE_MODULE_2(rnn, "7RNNImpl", "S3_")
SONDE_MODULE_2(gru, "7GRUImpl", "S3_")
SONDE_MODULE_2(lstm, "8LSTMImpl", "St8optionalISt5tupleIJS3_S3_EEE")
SONDE_MODULE_2(rnn_cell, "11RNNCellImpl", "S5_")
SONDE_MODULE_2(gru_cell, "11GRUCellImpl", "S5_")
SONDE_MODULE_2(lstm_cell, "12LSTMCellImpl", "St8optionalISt5tupleIJS3_S3_EEE")
SONDE_MODULE_3(embedding_bag, "16EmbeddingBagImpl", "S5_S5_")
SONDE_MODULE_3(encoder, "22TransformerEncoderImpl", "S5_S5_")
SONDE_MODULE_3(encoder_layer, "27TransformerEncoderLayerImpl", "S5_S5_")
SONDE_IN_FRONT_OF(sonde_forward_transformer,
                  "_ZN5torch2nn15TransformerImpl7forwardERKN2at6TensorES5_S5_S5_S5_S5_S5_S5_", sonde::Returned,
                  (void* self, void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* h),
                  (self, a, b, c, d, e, f, g, h), t_module, sonde::ModuleCall call(!t_module, self))
SONDE_IN_FRONT_OF(sonde_forward_attention, "_ZN5torch2nn22MultiheadAttentionImpl7forwardERKN2at6TensorES5_S5_S5_bS5_b",
                  sonde::Returned, (void* self, void* a, void* b, void* c, void* d, bool e, void* f, bool g),
                  (self, a, b, c, d, e, f, g), t_module, sonde::ModuleCall call(!t_module, self))

SONDE_IN_FRONT_OF(sonde_forward_script,
                  "_ZNK5torch3jit6MethodclESt6vectorIN3c106IValueESaIS4_EERKSt13unordered_mapINSt7__cxx1112basic_"
                  "stringIcSt11char_traitsIcESaIcEEES4_St4hashISD_ESt8equal_toISD_ESaISt4pairIKSD_S4_EEE",
                  sonde::Returned, (void* self, void* a, void* b), (self, a, b), t_module,
                  sonde::ModuleCall call(!t_module, owner_of_method(self)))
SONDE_IN_FRONT_OF(sonde_forward_aot,
                  "_ZN5torch8inductor24AOTIModelContainerRunner3runERKSt6vectorIN2at6TensorESaIS4_EEPv", sonde::Returned,
                  (void* self, void* a, void* b), (self, a, b), t_module, sonde::ModuleCall call(!t_module, self))
