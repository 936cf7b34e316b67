"""A small network built in memory, run by ONNX Runtime's own thread pool."""

import hashlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def model():
    random = np.random.default_rng(1)
    weights = [random.normal(0, 0.05, (512, 512)).astype(np.float32) for _ in range(4)]
    nodes, name = [], "x"
    for i in range(len(weights)):
        nodes += [helper.make_node("MatMul", [name, f"w{i}"], [f"m{i}"])]
        nodes += [helper.make_node("Tanh", [f"m{i}"], [f"t{i}"])]
        name = f"t{i}"
    shape = ["rows", 512]
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    return made.SerializeToString()


def main():
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(model(), options, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(2).normal(size=(256, 512)).astype(np.float32)
    digest = hashlib.sha256()
    for _ in range(60):
        (y,) = session.run(None, {"x": x})
        digest.update(np.round(y, 3).tobytes())
        x = (y * 3).astype(np.float32)
    print("outputs", digest.hexdigest())


main()
